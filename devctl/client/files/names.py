r"""Names of files: how messages show them, and which of a pod's names may come here.

A name is text as `os.fsdecode` gives it: a byte that is not UTF-8 is a lone surrogate.

Git repositories stay in the pod. Git runs what a repository's hooks and settings name (such as
`core.fsmonitor`), and many shell prompts ask git about the current folder: a repository that
somebody else wrote runs programs as soon as one enters it. So the following is refused:

- everything in `.git`, under each name that a file system takes for it, as in git's verify_path,
  is_ntfs_dotgit and is_hfs_dotgit: any case, trailing dots and blanks, a stream behind a colon,
  `git~1`, characters that HFS+ ignores, a backslash for a slash;
- everything in a folder that git would take for a bare repository, whatever its name: one with
  `HEAD` beside `objects` and `refs`, or beside a `commondir` that leads to them. Git discovers one
  unless `safe.bareRepository` is `explicit`, which few have set. Files that are here already count
  too: otherwise a repository could arrive in two parts.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from devctl.errors import DevctlError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# C0, DEL, C1, line separators, and what reverses the direction of writing.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_SHOWN = 5
"""How many names fit in a message."""
_LENGTH, _PATH_LENGTH = 255, 4000
"""The longest file name that file systems take, and the longest path, in bytes."""

_GIT_NAMES = frozenset({".git", "git~1"})
_HEAD, _COMMON = "HEAD", "commondir"
_PARTS = ("objects", "refs")
_MARKS = frozenset({_HEAD.lower(), _COMMON, *_PARTS})
_HFS_IGNORES = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_SEPARATOR = re.compile(r"[/\\]")
GIT_FIX = "pack it into a tar there, and copy that"
"""How a repository can be fetched after all."""


def named(names: Sequence[str]) -> str:
    """Names for a message, the first few of them.

    >>> named(["a", "b"]), named([*"abcdefg"])
    ('`a`, `b`', '`a`, `b`, `c`, `d`, `e` and 2 more')
    """
    shown = ", ".join(f"`{readable(name)}`" for name in names[:_SHOWN])
    rest = len(names) - _SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown


def unshowable(name: str) -> str:
    """Why a name cannot be shown; empty if it can."""
    if _CONTROLS.search(name):
        return "holds control characters"
    return "is not UTF-8" if _SURROGATES.search(name) else ""


def parents(name: str) -> list[str]:
    """The folders that a name is in, outermost first.

    >>> parents("a/b/c")
    ['a', 'a/b']
    """
    return [name[:at] for at, letter in enumerate(name) if letter == "/"]


def hostile(what: str) -> DevctlError:
    """The error for something that no well-behaved pod sends."""
    return DevctlError(
        f"the pod sent {what}; nothing was taken",
        "look at what runs in it: an ordinary `tar` does not send that",
    )


def check_name(name: str) -> None:
    """Raise DevctlError unless a name that a pod told stays in its folder and can be shown.

    >>> check_name("a/b.txt")
    """
    parts = name.split("/")
    if name.startswith("/") or ".." in parts:
        raise hostile(f"the name `{readable(name)}`, which leads out of the folder")
    if why := unshowable(name):
        raise hostile(f"the name `{readable(name)}`, which {why}")
    if not name or not {"", "."}.isdisjoint(parts):
        raise hostile(f"the name `{readable(name)}`, which is not a file name")
    if len(name.encode()) > _PATH_LENGTH or any(len(part.encode()) > _LENGTH for part in parts):
        raise hostile(f"a name of {len(name)} letters, which is too long")


def link_problem(name: str, target: str) -> str:
    """Why a link does not stay in its folder; empty if it does.

    `..` is accepted only in front: after a name it depends on where another link leads.

    >>> link_problem("a/link", "../b"), link_problem("link", "/etc")
    ('', 'leads out of the folder')
    """
    if not target or target.startswith("/"):
        return "leads out of the folder"
    if why := unshowable(target):
        return f"leads to a name that {why}"
    rest = [part for part in target.split("/") if part not in {"", "."}]
    up = 0
    while rest and rest[0] == "..":
        rest.pop(0)
        up += 1
    if ".." in rest:
        return "leads to a path with `..` inside it"
    return "leads out of the folder" if up > name.count("/") else ""


class Withheld(NamedTuple):
    """What was left in a pod: the number of files in git repositories, and those repositories."""

    files: int = 0
    repositories: tuple[str, ...] = ()


class Offered(NamedTuple):
    """A pod's names that may come here, those left out and why, and what belongs to git."""

    names: list[str]
    left_out: list[str]
    git: Withheld


def offered(names: Iterable[str], top: Path) -> Offered:
    """Check a pod's names for a folder here: the one gate for `cp`, `sync` and artifacts.

    DevctlError if a name leads out of the folder, or is not a name; UsageError if the folder itself
    is part of a git repository, or would become one.
    """
    refuse_repository(top)
    showable: list[str] = []
    left_out: list[str] = []
    within: dict[str, str] = {}
    for name in names:
        if repository := within_git(name):
            within[name] = repository
        elif why := unshowable(name):
            left_out.append(f"`{readable(name)}`: its name {why}")
        else:
            check_name(name)
            showable.append(name)
    bare = bare_repositories(showable, top)
    if "" in bare:
        raise UsageError(
            f"`{readable(str(top))}` would be a git repository of the pod's, and run programs"
            " here: nothing was taken",
            f"{GIT_FIX}, or choose another folder",
        )
    for name in showable if bare else ():
        above = (folder for folder in (*parents(name), name) if folded(folder) in bare)
        if folder := next(above, ""):
            within[name] = folder
    # A folder that is listed along with its content does not count itself.
    filled = {name.rpartition("/")[0] for name in within}
    git = Withheld(len(within.keys() - filled), tuple(sorted(set(within.values()))))
    return Offered([name for name in showable if name not in within], left_out, git)


def within_git(name: str) -> str:
    r"""The `.git` that a name is in or is itself; empty if there is none.

    >>> within_git("a/.GIT/hooks/x"), within_git("GIT~1. "), within_git("a/.gitignore")
    ('a/.GIT', 'GIT~1. ', '')
    """
    if name.isascii() and "git" not in name.lower():
        return ""
    ends = [*(found.start() for found in _SEPARATOR.finditer(name)), len(name)]
    for begin, end in pairwise([-1, *ends]):
        if _folded(name[begin + 1 : end]) in _GIT_NAMES:
            return name[:end]
    return ""


def refuse_repository(target: Path) -> None:
    """Raise UsageError if a file or folder from a pod would be part of a git repository here."""
    # The name may be a link's, or that of the link's target.
    for path in (target.absolute(), target.resolve()):
        if within_git(path.name) or _bare(path.parent, {""}, {_folded(path.name)}):
            raise UsageError(
                f"`{readable(str(target))}` would be a part of a git repository here, and run"
                " programs: nothing was taken",
                f"{GIT_FIX}, or choose another folder",
            )


def bare_repositories(names: Iterable[str], top: Path) -> set[str]:
    """The folders that git would take for bare repositories, as `folded` has them; "" is `top`."""
    marks: dict[str, set[str]] = defaultdict(set)
    spelt: dict[str, set[str]] = defaultdict(set)
    seen: set[str] = set()
    key_of = cache(lambda folder: folded(folder) if folder else "")
    for name in names:
        path = name
        while path and path not in seen:
            seen.add(path)
            folder, _, own = path.rpartition("/")
            marks[key_of(folder)] |= {_folded(own)} & _MARKS
            spelt[key_of(folder)].add(folder)
            path = folder
    return {key for key, arriving in marks.items() if _bare(top, spelt[key], arriving)}


def folded(name: str) -> str:
    """A name as file systems compare it that take different spellings for the same one.

    Each part has a slash in front, so that an empty part differs from the top folder.

    >>> folded("A/b. "), folded("...")
    ('/a/b', '/')
    """
    return "".join(f"/{_folded(part)}" for part in name.split("/"))


def _bare(top: Path, spellings: Iterable[str], arriving: set[str]) -> bool:
    """Whether a folder, with what arrives in it, has what makes it a repository."""

    def there(mark: str) -> bool:
        return mark.lower() in arriving or any(
            os.path.lexists(f"{top}/{spelling}/{mark}") for spelling in spellings
        )

    return there(_HEAD) and (there(_COMMON) or all(map(there, _PARTS)))


def _folded(part: str) -> str:
    plain = part if part.isascii() else unicodedata.normalize("NFD", part.translate(_HFS_IGNORES))
    return plain.casefold().partition(":")[0].rstrip(". ")
