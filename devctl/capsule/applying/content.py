"""The contents of a capsule's files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .items import LINK, pieces
from .refusal import bad_capsule, shown

if TYPE_CHECKING:
    import tarfile

    from .files import Writer
    from .items import Item

CONTENT = "content/"


def write_content(tar: tarfile.TarFile, items: dict[bytes, Item], writer: Writer) -> None:
    """Write the capsule's files; what several of them contain travels once."""
    wanted: dict[str, list[bytes]] = {}
    for path, item in items.items():
        if item.sha256 and item.mode != LINK:
            wanted.setdefault(item.sha256, []).append(path)
    for member in iter(tar.next, None):
        digest = member.name[len(CONTENT) :]
        paths = wanted.pop(digest, [])
        file = tar.extractfile(member) if member.isreg() else None
        if not paths or not file or member.name != CONTENT + digest:
            raise bad_capsule(f"{shown(os.fsencode(member.name))} in it belongs to no change")
        if any(items[path].size != member.size for path in paths):
            raise bad_capsule(f"the content of {shown(paths[0])} has another size")
        first, *others = paths
        writer.write(first, items[first].mode, pieces(file))
        for path in others:
            writer.write(path, items[path].mode, writer.read(first))
    for paths in wanted.values():
        raise bad_capsule(f"the content of {shown(paths[0])} is missing")
