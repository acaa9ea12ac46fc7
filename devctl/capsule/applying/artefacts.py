"""What a package has in its installation only, such as compiled modules: links to there."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .names import problem
from .refusal import NO_FIT, RefusedError, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from .files import Writer

_COMPILED = "__pycache__"


def complete(
    package: str, items: Collection[bytes], sources: Collection[bytes], writer: Writer
) -> int:
    """Link to what the image's package has and no source ever had; how many links that are.

    Args:
        package: Its name, which is a folder of the target.
        items: The paths of the target, none of which is replaced.
        sources: Paths that are sources: what the target lacks of them was deleted.
        writer: Writes the target.

    Raises:
        RefusedError: The image or the target has no such package.
    """
    found = missing(_installed(package), items, sources)
    for path, place in found:
        writer.link(path, place)
    return len(found)


def needed(package: str, items: Iterable[bytes]) -> None:
    """See that a target has a package.

    Raises:
        RefusedError: It has none.
    """
    folder = os.fsencode(package) + b"/"
    if not any(path.startswith(folder) for path in items):
        raise RefusedError(NO_FIT, f"the commit has no package {shown(folder[:-1])}")


def missing(
    installed: Iterable[tuple[bytes, bytes]], items: Collection[bytes], sources: Collection[bytes]
) -> list[tuple[bytes, bytes]]:
    """Those of the installed files that are no sources, and have their place free in the target.

    >>> missing([(b"p/a.so", b"/p/a.so"), (b"p/b.py", b"/p/b.py")], {b"p/x"}, {b"p/b.py"})
    [(b'p/a.so', b'/p/a.so')]
    """
    folders = {above for path in items for above in _above(path)}
    found: dict[bytes, bytes] = {}
    for path, place in installed:
        free = path not in folders and not any(each in items for each in (path, *_above(path)))
        if free and path not in sources and not problem(path):
            found.setdefault(path, place)
    return sorted(found.items())


def _above(path: bytes) -> Iterator[bytes]:
    """The folders that a path is in."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _installed(package: str) -> Iterator[tuple[bytes, bytes]]:
    """The path in a target, and the place in the image, of each file of a package."""
    try:
        # A name without dots, of which nothing is imported.
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        name = shown(os.fsencode(package))
        raise RefusedError(NO_FIT, f"the image has no Python package {name} installed")
    for location in spec.submodule_search_locations:
        top = os.fsencode(os.path.abspath(location))  # noqa: PTH100 - as bytes
        for folder, folders, names in os.walk(top):
            folders[:] = [name for name in folders if os.fsdecode(name) != _COMPILED]
            for file in names:
                place = os.path.join(folder, file)  # noqa: PTH118
                yield os.fsencode(package) + place[len(top) :], place
