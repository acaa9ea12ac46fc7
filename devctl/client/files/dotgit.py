"""Git repositories among the files of a pod: they stay there.

Git runs what a repository's hooks and settings name (`core.fsmonitor`, say), and many a shell's
prompt asks git for the state of the folder that one is in. So a repository that somebody else has
written runs programs here as soon as one looks at it. What may not come is

- whatever is in `.git`, under each name that a file system takes for it, as git's own verify_path,
  is_ntfs_dotgit and is_hfs_dotgit refuse them: any case, dots and blanks at the end, a stream
  behind a colon, `git~1`, characters that HFS+ ignores, and a backslash for a slash;
- whatever is in a folder that git would take for a bare repository, whatever that is called: `HEAD`
  beside `objects` and `refs`, or beside a `commondir` that leads to them. Git finds it by itself
  unless `safe.bareRepository` is `explicit`, which few have set. What is here already counts too:
  else it would come in two parts.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.names import readable
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_NAMES = frozenset({".git", "git~1"})
_HEAD, _COMMON = "HEAD", "commondir"
_PARTS = ("objects", "refs")
_MARKS = frozenset({_HEAD.lower(), _COMMON, *_PARTS})
_HFS_IGNORES = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_SEPARATOR = re.compile(r"[/\\]")
FIX = "pack it into a tar there, and copy that"


class Withheld(NamedTuple):
    """What was not taken, as it is part of git repositories.

    Attributes:
        files: How many files, links and empty folders.
        repositories: The folders that they are in, each once.
    """

    files: int = 0
    repositories: tuple[str, ...] = ()


def within_git(name: str) -> str:
    r"""The `.git` that a name is in, or is itself; empty where there is none.

    >>> within_git("a/.GIT/hooks/x"), within_git("GIT~1. "), within_git("a/.gitignore")
    ('a/.GIT', 'GIT~1. ', '')
    """
    if name.isascii() and "git" not in name.lower():
        return ""
    begin = 0
    for found in (*_SEPARATOR.finditer(name), None):
        end = found.start() if found else len(name)
        if _folded(name[begin:end]) in _NAMES:
            return name[:end]
        begin = end + 1
    return ""


def refuse_repository(target: Path) -> None:
    """See that what comes from a pod is not a git repository, and is put into none.

    Args:
        target: The folder or the file that is to be there.

    Raises:
        UsageError: It would be.
    """
    # A link may have the name, or what it leads to.
    for called in (target.absolute(), target.resolve()):
        own = called.name
        if not (within_git(own) or _bare(called.parent, {""}, {_folded(own)})):
            continue
        raise UsageError(
            f"`{readable(str(target))}` would be a part of a git repository here, and run programs:"
            " nothing was taken",
            f"{FIX}, or choose another folder",
        )


def bare_repositories(names: Iterable[str], top: Path) -> set[str]:
    """The folders of which git would think that each is a bare repository, once names are there.

    Args:
        names: Files, links and folders below the top.
        top: A folder here, there or not.

    Returns:
        The folders as `folded` has them; an empty one is the top.
    """
    marks: dict[str, set[str]] = {}
    spelt: dict[str, set[str]] = {}
    keys: dict[str, str] = {}

    def key_of(folder: str) -> str:
        """A folder as `folded` has it; it is taken note of."""
        if folder not in keys:
            above, _, own = folder.rpartition("/")
            key = f"{key_of(above)}/{_folded(own)}" if folder else ""
            keys[folder] = key
            marks.setdefault(key, set())
            spelt.setdefault(key, set()).add(folder)
            if folder:
                marks[key_of(above)].update({_folded(own)} & _MARKS)
        return keys[folder]

    for name in names:
        folder, _, own = name.rpartition("/")
        key = key_of(folder)
        if (mark := _folded(own)) in _MARKS:
            marks[key].add(mark)
    return {key for key, arriving in marks.items() if _bare(top, spelt[key], arriving)}


def folded(name: str) -> str:
    """A name as file systems compare it that take different spellings for the same.

    Each part has a slash in front: one that is empty is not the folder that all are in.

    >>> folded("A/b. "), folded("...")
    ('/a/b', '/')
    """
    return "".join(f"/{_folded(part)}" for part in name.split("/"))


def _bare(top: Path, spellings: Iterable[str], arriving: set[str]) -> bool:
    """Whether a folder has, with what arrives in it, what makes it a repository."""

    def there(mark: str) -> bool:
        return mark.lower() in arriving or any(
            os.path.lexists(f"{top}/{spelling}/{mark}") for spelling in spellings
        )

    return there(_HEAD) and (there(_COMMON) or all(map(there, _PARTS)))


def _folded(part: str) -> str:
    plain = part if part.isascii() else unicodedata.normalize("NFD", part.translate(_HFS_IGNORES))
    return plain.casefold().partition(":")[0].rstrip(". ")
