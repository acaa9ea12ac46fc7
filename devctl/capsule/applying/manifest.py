"""What a capsule says of itself, and how it fits a commit."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from .items import FILE, LINK, PROGRAM, Item
from .names import clash, link_problem, problem
from .refusal import NO_FIT, RefusedError, bad_capsule, shown

if TYPE_CHECKING:
    import tarfile

VERSION = 1
MANIFEST = "capsule.json"
_MOST = 1 << 28
_OBJECT, _SHA256 = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}"), re.compile(r"[0-9a-f]{64}")


class Manifest(NamedTuple):
    """A commit, and each changed path with the blob that the commit has to have there."""

    base: str
    changes: list[tuple[bytes, str | None, Item | None]]
    merge_base: str = ""
    """Where the base has left the main branch, if the capsule says that."""


def read_manifest(tar: tarfile.TarFile) -> Manifest:
    """The manifest of a capsule, checked; it is the first member."""
    member = tar.next()
    if member is None or member.name != MANIFEST or not member.isreg():
        raise bad_capsule("it does not begin with its manifest")
    if member.size > _MOST:
        raise bad_capsule("its manifest is too large")
    file = tar.extractfile(member)
    try:
        raw = json.loads(file.read() if file else b"")
        if raw["version"] != VERSION:
            raise bad_capsule(f"its format is version {raw['version']!r}, not {VERSION}")
        if not _OBJECT.fullmatch(raw["base"]):
            raise bad_capsule("its base is no commit")
        manifest = Manifest(
            raw["base"], [_change(each) for each in raw["changes"]], _merge_base(raw)
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise bad_capsule(f"its manifest is invalid: {error!r:.200}") from error
    paths = [path for path, _base, _item in manifest.changes]
    if paths != sorted(set(paths)):
        raise bad_capsule("its changes are not in order, or there twice")
    return manifest


def _merge_base(raw: dict[str, Any]) -> str:
    said = raw.get("mergeBase")
    return said if isinstance(said, str) and _OBJECT.fullmatch(said) else ""


def _change(raw: dict[str, Any]) -> tuple[bytes, str | None, Item | None]:
    """A path, the blob that the base has to have there, and what comes there."""
    path = raw["path"].encode("utf-8", "surrogateescape")
    if why := problem(path):
        raise bad_capsule(f"{shown(path)} {why}")
    base = raw["base"]
    if base is not None and not _OBJECT.fullmatch(base):
        raise bad_capsule(f"the base of {shown(path)} is no object")
    if raw["kind"] == "deleted":
        return path, base, None
    if not _SHA256.fullmatch(raw["sha256"]) or not isinstance(raw["size"], int):
        raise bad_capsule(f"{shown(path)} has no content")
    mode = int(raw["mode"], 8)
    if raw["kind"] == "file" and mode in {FILE, PROGRAM}:
        return path, base, Item(mode, sha256=raw["sha256"], size=raw["size"])
    if raw["kind"] != "link" or mode != LINK:
        raise bad_capsule(f"{shown(path)} is neither a file nor a link")
    target = raw["target"].encode("utf-8", "surrogateescape")
    if hashlib.sha256(target).hexdigest() != raw["sha256"]:
        raise bad_capsule(f"the link {shown(path)} has another digest")
    return path, base, Item(mode, sha256=raw["sha256"], size=len(target), target=target)


def merge(
    base: dict[bytes, Item], changes: list[tuple[bytes, str | None, Item | None]]
) -> dict[bytes, Item]:
    """What is to be in the target, sorted; each change has to find what it expects in the base."""
    items = dict(base)
    for path, expected, item in changes:
        there = items.pop(path, None)
        if (there.oid if there else None) != expected:
            raise RefusedError(
                NO_FIT, f"{shown(path)} does not apply: the commit has another file there"
            )
        if item:
            items[path] = item
    items = dict(sorted(items.items()))
    if path := clash(items):
        raise RefusedError(NO_FIT, f"{shown(path)} does not apply: it is a file and a folder")
    for path, item in items.items():
        if item.mode == LINK and (why := link_problem(path, item.target)):
            raise RefusedError(NO_FIT, f"the link {shown(path)} {why}")
    return items
