"""Which paths and links a target may have; all are bytes, as in git."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEEPEST, _LONGEST, _LONGEST_PART = 200, 3800, 255
_HFS_IGNORES = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


def problem(path: bytes) -> str:
    """Why a path may not be in a target; empty if it may.

    >>> problem(b"a/b"), problem(b"a/../b"), problem(b"a/.GIT/hooks/x")
    ('', 'leads out of the folder', 'belongs to a git repository')
    """
    parts = path.split(b"/")
    if b".." in parts or path.startswith(b"/"):
        return "leads out of the folder"
    if b"" in parts or b"." in parts or b"\0" in path:
        return "is no name of a file"
    if len(path) > _LONGEST or len(parts) > _DEEPEST or max(map(len, parts)) > _LONGEST_PART:
        return "is too long"
    # A backslash separates names for some programs.
    if any(_is_git(part) for part in re.split(rb"[/\\]", path)):
        return "belongs to a git repository"
    return ""


def _is_git(part: bytes) -> bool:
    """Whether a file system may take a name for `.git`, as git's own checks have it."""
    text = part.decode("utf-8", "surrogateescape")
    if not text.isascii():
        text = unicodedata.normalize("NFD", text.translate(_HFS_IGNORES))
    return text.casefold().partition(":")[0].rstrip(". ") in {".git", "git~1"}


def link_problem(path: bytes, target: bytes) -> str:
    """Why a link may not be in a target; empty if it stays there.

    `..` may be in front only: after a name, it depends on where another link leads.

    >>> link_problem(b"a/link", b"../b"), link_problem(b"link", b"/etc")
    ('', 'leads out of the folder')
    """
    parts = [part for part in target.split(b"/") if part not in {b"", b"."}]
    up = next((at for at, part in enumerate(parts) if part != b".."), len(parts))
    if not target or target.startswith(b"/") or up > path.count(b"/"):
        return "leads out of the folder"
    if b"\0" in target or len(target) > _LONGEST:
        return "leads to no name of a file"
    return "leads to a path with `..` inside it" if b".." in parts[up:] else ""


def clash(paths: Iterable[bytes]) -> bytes:
    """A path that is also a folder of another one; empty if there is none."""
    files, checked = set(paths), {b""}
    for path in files:
        folder = path.rpartition(b"/")[0]
        while folder not in checked:
            if folder in files:
                return folder
            checked.add(folder)
            folder = folder.rpartition(b"/")[0]
    return b""
