"""Manifests of our kinds from files, and server-side apply."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl.client.named import Named
from devctl.client.settings import completed
from devctl.client.yaml_text import documents
from devctl.errors import FieldConflictError, UsageError
from devctl.kube import resources
from devctl.kube.cluster import FIELD_MANAGER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from devctl.kube.cluster import Cluster, Object

STDIN = "-"
_SUFFIXES = {".yaml", ".yml", ".json"}
_KINDS = {(kind.api_version, kind.name): kind for kind in resources.OURS}
_LEFT_OUT = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
"""What `-o yaml` prints of an object's metadata and the API server alone decides."""


@dataclass(frozen=True)
class Manifest:
    """An object as a file has it.

    Attributes:
        kind: Its kind.
        document: All of it.
        source: Where it was read, for errors.
    """

    kind: resources.Kind
    document: Object
    source: str

    @property
    def title(self) -> str:
        """What it is called, such as `devserver/lab`."""
        return f"{self.kind.name.lower()}/{self.document['metadata']['name']}"


@dataclass(frozen=True)
class Applied(Named):
    """An object that was applied.

    Attributes:
        did: `created`, `configured` or `unchanged`.
    """

    did: str = ""


def read(names: Sequence[str], stdin: TextIO) -> list[Manifest]:
    """The manifests in files, in the folders' own YAML and JSON files, or on standard input.

    Args:
        names: Files and folders; `-` is standard input.
        stdin: That.

    Raises:
        UsageError: Something cannot be read, or is not an object of ours.
    """
    found: list[Manifest] = []
    for name in names:
        if name == STDIN:
            found += _parsed(stdin.read(), "standard input")
            continue
        path = Path(name)
        files = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES) if path.is_dir() else []
        for file in files or [path]:
            try:
                found += _parsed(file.read_text(encoding="utf-8"), f"`{file}`")
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or "it is not UTF-8 text"
                raise UsageError(f"cannot read `{file}`: {why}", "name another file") from error
    if not found:
        raise UsageError("no objects to apply", "name a file with -f that has some")
    return found


def apply(
    cluster: Cluster, manifest: Manifest, *, force: bool = False, dry_run: bool = False
) -> Applied:
    """Have an object's fields be as a manifest says.

    Raises:
        FieldConflictError: Others manage some of the fields, and `force` is not set.
        DevctlError: The API server refuses it.
    """
    kind, wanted = manifest.kind, manifest.document
    meta = wanted["metadata"]
    before = cluster.find(kind, meta["name"], meta.get("namespace"))
    if kind == resources.DevServer:
        there = (before or {}).get("spec") or {}
        wanted = wanted | {"spec": completed(cluster, wanted.get("spec") or {}, there)}
    try:
        after = cluster.apply(kind, wanted, dry_run=dry_run, force=force)
    except FieldConflictError as error:
        # What devctl has written by another kind of request is its own.
        if set(error.fields.values()) != {FIELD_MANAGER}:
            raise
        after = cluster.apply(kind, wanted, dry_run=dry_run, force=True)
    did = "created" if before is None else "configured"
    if before is not None and _wish(before) == _wish(after):
        did = "unchanged"
    return Applied(after, did)


def _parsed(text: str, source: str) -> Iterator[Manifest]:
    for number, document in enumerate(documents(text, source), 1):
        if document is not None:
            yield from _manifests(document, f"{source}, document {number}")


def _manifests(document: Any, source: str) -> Iterator[Manifest]:
    if not isinstance(document, dict):
        raise UsageError(f"{source} is not an object", "it needs apiVersion, kind and metadata")
    if document.get("kind") == "List":
        for item in document.get("items") or []:
            yield from _manifests(item, source)
        return
    what = (str(document.get("apiVersion")), str(document.get("kind")))
    kind = _KINDS.get(what)
    if kind is None:
        ours = ", ".join(f"{each.name} ({each.api_version})" for each in resources.OURS)
        raise UsageError(
            f"{source} is a {what[1]} ({what[0]}), which devctl does not apply",
            f"use `kubectl apply` for it; devctl applies {ours}",
        )
    meta = document.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str) or not meta["name"]:
        raise UsageError(f"{source} has no name", "write it as metadata.name")
    kept = {key: value for key, value in meta.items() if key not in _LEFT_OUT}
    rest = {key: value for key, value in document.items() if key != "status"}
    yield Manifest(kind, rest | {"metadata": kept}, source)


def _wish(found: Object) -> tuple[Any, ...]:
    """What people write of an object."""
    meta = found["metadata"]
    return found.get("spec"), meta.get("labels") or {}, meta.get("annotations") or {}
