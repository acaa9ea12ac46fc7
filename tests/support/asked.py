"""Requests to the API server as values: several users try the same one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Thing = dict[str, Any]
_JSON = "application/json"
_MERGE = "application/merge-patch+json"
_DRY = {"dryRun": "All"}


@dataclass(frozen=True)
class Request:
    """A request about an object, or about all objects of a kind.

    Attributes:
        method: Of HTTP.
        kind: The kind, by any name that kubectl takes for it.
        name: The object's; empty for all of them, or for a new one.
        sub: The subresource; empty for none.
        body: What is sent.
        media: What the body is.
        query: What follows the path.
        namespace: Where, if not where the sender is.
    """

    method: str
    kind: str
    name: str = ""
    sub: str = ""
    body: Thing = field(default_factory=dict)
    media: str = _JSON
    query: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""


def kind_of(manifest: Thing) -> str:
    """The kind of a manifest, by a name that no other kind has."""
    group = manifest["apiVersion"].rpartition("/")[0]
    name = str(manifest["kind"].lower())
    return f"{name}.{group}" if group else name


def create(manifest: Thing, *, dry: bool = False, strict: bool = True) -> Request:
    """Create an object; fields that its kind lacks are refused unless it is not `strict`."""
    query = {"fieldValidation": "Strict" if strict else "Ignore"} | (_DRY if dry else {})
    space = manifest["metadata"].get("namespace", "")
    return Request("POST", kind_of(manifest), body=manifest, query=query, namespace=space)


def replace(manifest: Thing, version: str, *, dry: bool = False) -> Request:
    """Replace an object that has a resource version."""
    metadata = manifest["metadata"] | {"resourceVersion": version}
    body = manifest | {"metadata": metadata}
    query = {"fieldValidation": "Strict"} | (_DRY if dry else {})
    return Request("PUT", kind_of(manifest), metadata["name"], body=body, query=query)


def patch(where: str, change: Thing, *, sub: str = "", dry: bool = False) -> Request:
    """Merge a change into an object, `kind/name`, or into a subresource of it."""
    kind, _, name = where.partition("/")
    return Request("PATCH", kind, name, sub, change, _MERGE, _DRY if dry else {})


def label(where: str, *changes: str, dry: bool = False) -> Request:
    """Set labels of an object, `name=value`, or remove them, `name-`."""
    return patch(where, {"metadata": {"labels": _changed(changes)}}, dry=dry)


def annotate(where: str, *changes: str, dry: bool = False) -> Request:
    """Set annotations of an object, `name=value`, or remove them, `name-`."""
    return patch(where, {"metadata": {"annotations": _changed(changes)}}, dry=dry)


def delete(where: str, *, dry: bool = False, policy: str = "Background") -> Request:
    """Delete an object, `kind/name`, or all of a kind."""
    kind, _, name = where.partition("/")
    # With a body, options in the query would be ignored.
    body: Thing = {"propagationPolicy": policy} | ({"dryRun": ["All"]} if dry else {})
    return Request("DELETE", kind, name, body=body)


def get(where: str) -> Request:
    """Read an object, `kind/name`, or all of a kind."""
    kind, _, name = where.partition("/")
    return Request("GET", kind, name)


def _changed(changes: tuple[str, ...]) -> dict[str, str | None]:
    """What a merge patch says.

    >>> _changed(("a=b=c", "d-"))
    {'a': 'b=c', 'd': None}
    """
    found: dict[str, str | None] = {}
    for each in changes:
        name, is_set, value = each.partition("=")
        found[name if is_set else name.removesuffix("-")] = value if is_set else None
    return found
