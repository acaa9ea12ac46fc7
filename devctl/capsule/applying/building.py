"""A target's files: first those of the commit, and at last all links."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from .artefacts import complete, needed
from .files import verify
from .items import LINK
from .manifest import merge
from .refusal import RefusedError

if TYPE_CHECKING:
    from .files import Writer
    from .items import Item
    from .manifest import Manifest
    from .objects import Objects


def build_tree(manifest: Manifest, objects: Objects, writer: Writer) -> dict[bytes, Item]:
    """Write the files that are as the commit has them; all that is to be there.

    Raises:
        RefusedError: The repository lacks something, or a change does not apply.
    """
    items = merge(objects.tree(manifest.base), manifest.changes)
    for path, item in items.items():
        if item.oid and item.mode != LINK:
            writer.write(path, item.mode, objects.blob(item.oid))
    return items


def write_links(
    manifest: Manifest, items: dict[bytes, Item], objects: Objects, writer: Writer, package: str
) -> str:
    """Write the links, and read everything again; what was made, in words.

    Raises:
        RefusedError: Something is not what was written, or there is no such package.
    """
    # Nothing is written any more that could follow them.
    for path, item in items.items():
        if item.mode == LINK:
            writer.link(path, item.target)
    verify(writer.top, items)
    counts = f"changed paths: {len(manifest.changes)}, files in all: {len(items)}"
    if not package:
        return f"{manifest.base}, {counts}"
    needed(package, items)
    links = complete(package, items, _sources(manifest, objects), writer)
    return f"{manifest.base}, {counts}, links to the image's files: {links}"


def _sources(manifest: Manifest, objects: Objects) -> set[bytes]:
    """All paths of the commit, of the changes, and of the commit that an image is built of."""
    found = {path for path, _base, _item in manifest.changes}
    for commit in {manifest.base, manifest.merge_base, objects.merge_base(manifest.base)} - {""}:
        # A shallow mirror may lack where the branch began: then the base alone says it.
        with suppress(RefusedError):
            found.update(objects.tree(commit))
    return found
