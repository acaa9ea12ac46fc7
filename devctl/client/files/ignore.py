"""Which files of a folder belong to a project: those that git lists, else all but by-products."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.names import parents
from devctl.errors import DevctlError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterator

INCOMING = ".devctl-incoming."
"""Prefix of folders in which files are staged on the disk that they are for."""
OWN_RULES = ".devctlignore"
_SECONDS = 120

# A repository may be somebody else's: none of the programs that its configuration names is run.
_LOCKED_DOWN = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.askPass=false",
    "credential.helper=",
    "protocol.allow=never",
    "submodule.recurse=false",
]


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
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line.removeprefix("!") if negated else line
    folders_only = line.endswith("/")
    line = line.removesuffix("/") if folders_only else line
    anchored = "/" in line
    line = line.removeprefix("/")
    if not line:
        return None
    body = _translate(line)
    if body is None:
        return None
    front = "" if anchored else "(?:.*/)?"
    return Pattern(re.compile(f"(?s:{front}{body})"), negated, folders_only)


def _translate(line: str) -> str | None:
    """A pattern as a regular expression; None if it can match nothing."""
    out, at = [], 0
    while at < len(line):
        letter = line[at]
        if letter == "*":
            piece, at = _stars(line, at)
        elif letter == "[":
            found = _bracket(line, at)
            if found is None:
                return None
            piece, at = found
        elif letter == "\\":
            if at + 1 == len(line):
                return None
            piece, at = re.escape(line[at + 1]), at + 2
        else:
            piece, at = "[^/]" if letter == "?" else re.escape(letter), at + 1
        out.append(piece)
    return "".join(out)


def _stars(line: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(line) and line[end] == "*":
        end += 1
    alone = end - at == 2 and (at == 0 or line[at - 1] == "/")  # noqa: PLR2004 - `**`
    if alone and line[end : end + 1] == "/":
        return "(?:.*/)?", end + 1
    if alone and end == len(line):
        return ".*" if at == 0 else ".+", end
    return "[^/]*", end


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


def _bracket(line: str, at: int) -> tuple[str, int] | None:
    """A bracket expression and the index behind it; None if it is unclosed or invalid."""
    at += 1
    negated = line[at : at + 1] in {"!", "^"}
    at += negated
    items: list[str] = []
    first = True
    while first or line[at : at + 1] != "]":
        first = False
        if at >= len(line):
            return None
        if line.startswith("[:", at) and (end := line.find(":]", at + 2)) > 0:
            if line[at + 2 : end] not in _CLASSES:
                return None
            items.append(_CLASSES[line[at + 2 : end]])
            at = end + 2
            continue
        low, at = _letter(line, at)
        high = low
        if line[at : at + 1] == "-" and line[at + 1 : at + 2] not in {"]", ""}:
            high, at = _letter(line, at + 1)
        if not low or not high:
            return None
        if low <= high:
            items.append(f"{re.escape(low)}-{re.escape(high)}")
    inside = "".join(items)
    if negated:
        return (f"[^/{inside}]", at + 1)
    return (f"(?!/)[{inside}]" if inside else "(?!)", at + 1)


def _letter(line: str, at: int) -> tuple[str, int]:
    if line[at] == "\\":
        return line[at + 1 : at + 2], at + 2
    return line[at], at + 1


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
        self,
        root: Path,
        *,
        defaults: bool = True,
        files: tuple[str, ...] = (".gitignore", OWN_RULES),
    ) -> None:
        """Read nothing yet."""
        self._root, self._files = root, files
        self._defaults = _DEFAULTS if defaults else []
        self._read: dict[str, list[Pattern]] = {}
        self._folders: dict[str, bool] = {"": False}

    def ignores(self, name: str, *, folder: bool = False) -> bool:
        """Whether a file, which need not exist, or a folder that it is in is ignored."""
        if name in self._folders:
            return self._folders[name]
        above, _, own = name.rpartition("/")
        found = self.ignores(above, folder=True) or _never(own) or self._says(name, folder=folder)
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
        return ignored(self._defaults, name, folder=folder) or False


def _never(name: str) -> bool:
    """Whether a name never belongs to a project: git's, on any file system, or ours."""
    return name.lower() == ".git" or name.startswith(INCOMING)


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


def _listed_by_git(root: Path) -> list[str] | None:
    """What git lists of a folder and its nested repositories; None if git does not know it."""
    inside = _git(root, "rev-parse", "--is-inside-work-tree")
    # git lists nothing of a folder that is ignored as a whole, but the user has asked for it.
    if inside is None or inside.strip() != b"true" or _git(root, "check-ignore", "-q", "."):
        return None
    said = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if said is None:
        return None
    names: dict[str, None] = {}
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
            names |= dict.fromkeys(f"{name}/{below}" for below in listed(root / name))
        else:
            names[name] = None
    return list(names)


def _git(root: Path, *arguments: str) -> bytes | None:
    """What git prints, a NUL if that is nothing; None if it fails or is absent."""
    settings = [word for setting in _LOCKED_DOWN for word in ("-c", setting)]
    kept = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | {
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
    }
    try:
        done = subprocess.run(
            ["git", "--no-pager", *settings, *arguments],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return None
    except subprocess.TimeoutExpired as error:
        raise DevctlError(
            f"git did not list `{root}` within {_SECONDS} s", "find out why with `git status` there"
        ) from error
    return (done.stdout or b"\0") if done.returncode == 0 else None
