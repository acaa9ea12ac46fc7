"""Which files of a folder belong to a project: those that git lists, else all but by-products."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files import git
from devctl.client.files.names import parents
from devctl.errors import DevctlError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterator

INCOMING = ".devctl-incoming."
"""Prefix of folders in which files are staged on the disk that they are for."""
OWN_RULES = ".devctlignore"
_RULES = (".gitignore", OWN_RULES)
_SECONDS = 120


class Pattern(NamedTuple):
    """One line of an ignore file."""

    regex: re.Pattern[str]
    negated: bool
    """Whether it re-includes what it matches."""
    folders_only: bool


def parse(text: str) -> list[Pattern]:
    """The patterns of an ignore file, in order.

    >>> [bool(p.regex.fullmatch("a/b.pyc")) for p in parse("*.pyc")]
    [True]
    """
    # Only a line feed ends a line: names may hold the other characters that splitlines() splits at.
    found = (_pattern(line.removesuffix("\r")) for line in text.split("\n"))
    return [pattern for pattern in found if pattern is not None]


def ignored(patterns: list[Pattern], path: str, *, folder: bool) -> bool | None:
    """Whether patterns ignore a path below their folder; None if none matches.

    >>> ignored(parse("*.log"), "a/run.log", folder=False)
    True
    """
    for pattern in reversed(patterns):
        if (folder or not pattern.folders_only) and pattern.regex.fullmatch(path):
            return not pattern.negated
    return None


@lru_cache(maxsize=4096)
def _pattern(line: str) -> Pattern | None:
    plain = line.rstrip(" ")
    # A backslash keeps one trailing space, unless it is escaped itself.
    escaped = plain != line and (len(plain) - len(plain.rstrip("\\"))) % 2
    line = f"{plain} " if escaped else plain
    if line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line.removeprefix("!")
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    front = "" if "/" in line else "(?:.*/)?"
    line = line.removeprefix("/")
    if not line:
        return None
    return Pattern(re.compile(f"(?s:{front}{_WORD.sub(_regex, line)})"), negated, folders_only)


_NOTHING = "(?!)"
"""Matches nothing, as do patterns with an unclosed or invalid bracket expression."""
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
# A class, a character, or a range of characters; a backslash escapes the next character.
_ITEM = re.compile(r"\[:(.*?):\]|(\\.|[^\\])(?:-(\\.|[^\]\\]))?", re.DOTALL)
_WORD = re.compile(
    r"(?P<above>(?<![^/])\*\*/)|(?P<all>\A\*\*\Z)|(?P<below>(?<=/)\*\*\Z)|(?P<any>\*+)|(?P<one>\?)"
    # An atomic group in a possessive repeat matches nothing in Python 3.11.2, which is Debian 12's.
    rf"|(?P<set>\[[!^]?+(?>{_ITEM.pattern})(?>(?:(?!\])(?>{_ITEM.pattern}))*)\])"
    r"|(?P<letter>\\.|[^\\\[])|(?P<broken>.)",
    re.DOTALL,
)
_REGEXES = {
    "above": "(?:.*/)?",
    "all": ".*",
    "below": ".+",
    "any": "[^/]*",
    "one": "[^/]",
    "broken": _NOTHING,
}


def _regex(word: re.Match[str]) -> str:
    """A word of a pattern as a regular expression."""
    text, kind = word[0], word.lastgroup or ""
    if kind != "set":
        return _REGEXES.get(kind) or re.escape(text[-1])
    negated = text[1] in "!^"
    inside = ""
    for name, low, high in _ITEM.findall(text, 1 + negated, len(text) - 1):
        first, last = low[-1:], (high or low)[-1:]
        if not first and name not in _CLASSES:
            return _NOTHING
        if first <= last:
            inside += f"{re.escape(first)}-{re.escape(last)}" if first else _CLASSES[name]
    if negated:
        return f"[^/{inside}]"
    return f"(?!/)[{inside}]" if inside else _NOTHING


_DEFAULTS = parse(
    """
.hg/
.svn/
.venv/
venv/
__pycache__/
*.py[co]
.mypy_cache/
.pytest_cache/
.ruff_cache/
.tox/
.nox/
.ipynb_checkpoints/
node_modules/
*.sw[op]
.DS_Store
"""
)


def listed(root: Path) -> list[str]:
    """The sorted names of a project's files, links and empty folders, given a path without links.

    DevctlError if it cannot be read, or git does not answer.
    """
    names = _listed_by_git(root)
    if names is None:
        return sorted(walk(root, Rules(root)))
    rules = Rules(root, defaults=False, files=(OWN_RULES,))
    return sorted(name for name in names if not rules.ignores(name))


def walk(root: Path, rules: Rules | None = None, place: str = "") -> Iterator[str]:
    """The files, links and empty folders that rules do not ignore; DevctlError if unreadable."""
    try:
        with os.scandir(root / place) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise DevctlError(
            f"nothing was sent: cannot read the folder `{readable(str(root / place))}`:"
            f" {error.strerror}",
            f"change its mode, or {f'add it to `{OWN_RULES}`' if rules else 'move it away'}",
        ) from error
    if not found and place:
        yield place
    for entry in found:
        name = f"{place}/{entry.name}" if place else entry.name
        folder = entry.is_dir(follow_symlinks=False)
        if rules and rules.ignores(name, folder=folder):
            continue
        if folder:
            yield from walk(root, rules, name)
        else:
            yield name


def top_level(folder: Path) -> Path | None:
    """The resolved top folder of a folder's git work tree; None outside one, or without git."""
    said = _git(folder, "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(said.removesuffix(b"\n"))) if said else None


class Rules:
    """The rules of a folder's ignore files, and by default those for by-products."""

    def __init__(
        self, root: Path, *, defaults: bool = True, files: tuple[str, ...] = _RULES
    ) -> None:
        """Read the files of the folder itself."""
        self._root, self._files = root, files
        # Those of the folder itself come later, and override them.
        self._read = {"": [*(_DEFAULTS if defaults else []), *_patterns(root, "", files)]}
        self._folders: dict[str, bool] = {"": False}

    def ignores(self, name: str, *, folder: bool = False) -> bool:
        """Whether a file, which need not exist, or a folder that it is in is ignored."""
        if name in self._folders:
            return self._folders[name]
        above, _, own = name.rpartition("/")
        # git's names, on any file system, and ours never belong to a project.
        never = own.lower() == ".git" or own.startswith(INCOMING)
        found = self.ignores(above, folder=True) or never or self._says(name, folder=folder)
        if folder:
            self._folders[name] = found
        return found

    def _says(self, name: str, *, folder: bool) -> bool:
        """Whether the nearest rules that match ignore a name."""
        for place in reversed(["", *parents(name)]):
            if place not in self._read:
                self._read[place] = _patterns(self._root, place, self._files)
            below = name[len(place) + 1 :] if place else name
            said = ignored(self._read[place], below, folder=folder)
            if said is not None:
                return said
        return False


def _patterns(root: Path, place: str, files: tuple[str, ...]) -> list[Pattern]:
    found: list[Pattern] = []
    for name in files:
        file = root / place / name
        try:
            # A link could lead to a pipe or a device; git does not follow one either.
            if stat.S_ISREG(file.lstat().st_mode):
                found += parse(os.fsdecode(file.read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise DevctlError(
                f"cannot read `{file}`: {error.strerror}", "change its mode, or remove it"
            ) from error
    return found


def _listed_by_git(root: Path) -> set[str] | None:
    """What git lists of a folder and its nested repositories; None if git does not know it."""
    inside = _git(root, "rev-parse", "--is-inside-work-tree")
    # git lists nothing of a folder that is ignored as a whole, but the user has asked for it.
    if inside is None or inside.strip() != b"true" or _git(root, "check-ignore", "-q", "."):
        return None
    said = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if said is None:
        return None
    names: set[str] = set()
    for raw in said.split(b"\0"):
        name = os.fsdecode(raw).rstrip("/")
        if not name:
            continue
        try:
            mode = (root / name).lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise DevctlError(
                f"cannot look at `{root / name}`: {error.strerror}", "change its folder's mode"
            ) from error
        if stat.S_ISDIR(mode):
            names |= {f"{name}/{below}" for below in listed(root / name)}
        else:
            names.add(name)
    return names


def _git(root: Path, *arguments: str) -> bytes | None:
    """What git prints, a NUL if that is nothing; None if it fails or is absent."""
    try:
        done = git.ask(root, *arguments, seconds=_SECONDS)
    except FileNotFoundError:
        return None
    except subprocess.TimeoutExpired as error:
        raise DevctlError(
            f"git did not list `{root}` within {_SECONDS} s", "find out why with `git status` there"
        ) from error
    return (done.stdout or b"\0") if done.returncode == 0 else None
