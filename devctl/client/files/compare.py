"""Whether a file is the same here and there."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from devctl.client.files.content import file_digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from devctl.client.files.local import Entry
    from devctl.client.files.record import Known
    from devctl.client.files.remote import Found


def doubtful(here: Entry, there: Found, known: Known | None) -> bool:
    """Whether only what is in a file can tell if it is the same on both sides.

    Args:
        here: The file here.
        there: The file there.
        known: What the last sync has left.
    """
    regular = stat.S_ISREG(here.mode) and stat.S_ISREG(there.mode)
    if not regular or here.size != there.size or _untouched(here, there, known):
        return False
    return known is not None or here.mtime != there.mtime or runs_differently(here, there)


def same(
    root: Path, here: Entry, there: Found, known: Known | None, digests: Mapping[str, str]
) -> bool:
    """Whether a file is the same on both sides.

    Args:
        root: The folder here.
        here: The file here.
        there: The file there.
        known: What the last sync has left.
        digests: What is known of the contents of doubtful files there.
    """
    if stat.S_IFMT(here.mode) != stat.S_IFMT(there.mode):
        return False
    if stat.S_ISDIR(here.mode) or here.size != there.size:
        return stat.S_ISDIR(here.mode)
    if _untouched(here, there, known):
        return True
    if stat.S_ISLNK(here.mode) or runs_differently(here, there):
        return False
    if known is None and here.mtime == there.mtime:
        return True
    # Two changes within a second have one time there, which counts seconds.
    return same_content(root, here, digests)


def same_content(root: Path, here: Entry, digests: Mapping[str, str]) -> bool:
    """Whether what is in a file is known to be the same on both sides."""
    digest = digests.get(here.path)
    return digest is not None and digest == file_digest(root / here.path)


def runs_differently(here: Entry, there: Found) -> bool:
    """Whether it is a program on one side only."""
    return bool((here.mode ^ there.mode) & stat.S_IXUSR)


def _untouched(here: Entry, there: Found, known: Known | None) -> bool:
    return known is not None and known.is_here(here) and known.is_there(there)
