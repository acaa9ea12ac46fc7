"""Manifests: what names them, how they are written, and how they become the owner's."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from apply.errors import ApplyError
from devctl.api.applied import Reason
from devctl.api.labels import GROUP, MANAGED_BY, MANAGER, OWNER_UID

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from apply.ownership import Owner

Manifest = dict[str, Any]

# Made once if absent and never changed, as a generated key is.
CREATE_ONLY = f"{GROUP}/create-only"

# Of no owner: one for all of a namespace, and kept when the last of them goes.
SHARED = f"{GROUP}/shared"
# By which what is shared is known. Only we can write an annotation of ours (config/admission).
SHARED_IDENTITY = {MANAGED_BY: MANAGER}

_NOT_ASCII = re.compile(r"[^\x20-\x7e]")


class Kind(NamedTuple):
    """A kind and the API version that it is spoken in."""

    api_version: str
    kind: str


class Key(NamedTuple):
    """What names an object."""

    kind: Kind
    name: str
    namespace: str = ""
    """Empty for one that is in none."""

    def __str__(self) -> str:
        """As people name it."""
        return f"{self.kind.kind} {place(self.namespace, self.name)}"


def place(namespace: str, name: str) -> str:
    """A name and where that is, as people write it."""
    return f"{namespace}/{name}" if namespace else name


def kind_of(thing: Mapping[str, Any]) -> Kind:
    """The kind of an object, or of anything with apiVersion and kind."""
    return Kind(str(thing["apiVersion"]), str(thing["kind"]))


def key_of(thing: Mapping[str, Any]) -> Key:
    """What names an object."""
    metadata = thing["metadata"]
    return Key(kind_of(thing), str(metadata["name"]), str(metadata.get("namespace", "")))


def is_marked(thing: Mapping[str, Any], annotation: str) -> bool:
    """Whether an annotation of ours is set to true."""
    annotations = thing["metadata"].get("annotations") or {}
    return bool(annotations.get(annotation) == "true")


def is_retained(thing: Mapping[str, Any]) -> bool:
    """Whether an object holds data that outlives its owner: it is never owned, and never pruned."""
    return bool(thing["kind"] == "PersistentVolumeClaim")


def to_yaml(value: Any, **options: Any) -> str:
    r"""A value as JSON in ASCII that reads the same as YAML.

    JSON has two escapes for a character beyond 16 bits, an emoji for one. libyaml and the API
    server, which reads every apply as YAML, refuse these.

    >>> print(to_yaml({"a": "\U0001f600"}))
    {"a": "\U0001F600"}
    """
    text = json.dumps(value, ensure_ascii=False, **options)
    # All of these are inside of quotes.
    return _NOT_ASCII.sub(lambda found: f"\\U{ord(found[0]):08X}", text)


def stamp(
    manifest: Manifest,
    owner: Owner,
    identity: Mapping[str, str],
    finalized: Collection[Kind] = frozenset(),
) -> Manifest:
    """The manifest with the identity labels and, unless it is data or shared, its owner.

    It is put into the owner's namespace. Where the owner is in none, the manifest says itself where
    it belongs: Kubernetes lets such an owner have objects anywhere. So it may where its kind is
    finalized: those are known by the owner's UID, and removed by us.

    Raises:
        ApplyError: The manifest names another namespace, or gives an identity label another value.
    """
    metadata = manifest["metadata"]
    where = key_of(manifest)
    namespace = where.namespace or owner.namespace
    apart = bool(owner.namespace) and namespace != owner.namespace
    is_finalized = where.kind in finalized
    if apart and not is_finalized:
        message = f"{where} is not meant for the owner's namespace, {owner.namespace}"
        raise ApplyError(Reason.INVALID, message)
    shared = is_marked(manifest, SHARED)
    if shared:
        identity = SHARED_IDENTITY
    labels = dict(metadata.get("labels") or {})
    for label, value in identity.items():
        if labels.get(label, value) != value:
            message = (
                f"{where} sets the label {label}, by which its owner is known, to another value"
            )
            raise ApplyError(Reason.INVALID, message)
    known = {OWNER_UID: owner.uid} if is_finalized else {}
    stamped = metadata | {"labels": {**labels, **identity, **known}}
    if namespace:
        stamped["namespace"] = namespace
    if not apart and not shared and not is_retained(manifest):
        stamped["ownerReferences"] = [owner.reference()]
    return manifest | {"metadata": stamped}


def unique(manifests: Iterable[Manifest]) -> dict[Key, Manifest]:
    """The manifests by what names them, in order.

    Raises:
        ApplyError: Two manifests name the same object.
    """
    found: dict[Key, Manifest] = {}
    for manifest in manifests:
        key = key_of(manifest)
        if key in found:
            raise ApplyError(Reason.TEMPLATE_ERROR, f"{key} is rendered twice")
        found[key] = manifest
    return found
