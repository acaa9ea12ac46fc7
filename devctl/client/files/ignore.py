"""Which files of a folder belong to a project: what git would list, else all but by-products."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.client.files.patterns import ignored, parse
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.files.patterns import Pattern

INCOMING = ".devctl-incoming."
"""What is on its way lies under such a name beside its place."""
OWN_RULES = ".devctlignore"
_SECONDS = 120

_NEVER = frozenset({".git"})
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

# A repository is somebody else's: its configuration may name programs to run, and none of them is.
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


def listed(root: Path) -> list[str]:
    """The names of a folder's files, links and empty folders that belong to it, sorted.

    Args:
        root: The folder, without links in its path.

    Raises:
        DevctlError: It cannot be read, or git does not answer.
    """
    names = _listed_by_git(root)
    if names is None:
        return sorted(_walk(root, "", [("", _DEFAULTS)], (".gitignore", OWN_RULES)))
    rules = Rules(root, defaults=False, files=(OWN_RULES,))
    return sorted(name for name in names if not rules.ignores(name))


def top_level(folder: Path) -> Path | None:
    """The top folder of the git work tree that a folder is in, without links in its path.

    None where it is in none, or git is absent.
    """
    said = _git(folder, "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(said.removesuffix(b"\n"))) if said else None


class Rules:
    """What the rules in a folder here say of names, whether there are such files or not."""

    def __init__(
        self,
        root: Path,
        *,
        defaults: bool = True,
        files: tuple[str, ...] = (".gitignore", OWN_RULES),
    ) -> None:
        """Read nothing yet.

        Args:
            root: The folder.
            defaults: Whether by-products are ignored that no rule names.
            files: What its rules are called.
        """
        self._root, self._files = root, files
        self._defaults = _DEFAULTS if defaults else []
        self._read: dict[str, list[Pattern]] = {}
        self._folders: dict[str, bool] = {"": False}

    def ignores(self, name: str, *, folder: bool = False) -> bool:
        """Whether a file, or a folder that it is in, does not belong to the project."""
        if name in self._folders:
            return self._folders[name]
        above, _, own = name.rpartition("/")
        found = self.ignores(above, folder=True) or _never(own) or self._says(name, folder=folder)
        if folder:
            self._folders[name] = found
        return found

    def _says(self, name: str, *, folder: bool) -> bool:
        places = ["", *(name[:at] for at, letter in enumerate(name) if letter == "/")]
        rules = [("", self._defaults), *((place, self._rules(place)) for place in places)]
        return _decide(rules, name, folder=folder)

    def _rules(self, place: str) -> list[Pattern]:
        if place not in self._read:
            self._read[place] = _patterns(self._root, place, self._files)
        return self._read[place]


def _never(name: str) -> bool:
    """Whether a name is never of the project: git's own, on any file system, or ours."""
    return name.lower() in _NEVER or name.startswith(INCOMING)


def _decide(rules: list[tuple[str, list[Pattern]]], name: str, *, folder: bool) -> bool:
    """What the nearest rules say that say anything."""
    for place, patterns in reversed(rules):
        below = name[len(place) + 1 :] if place else name
        said = ignored(patterns, below, folder=folder)
        if said is not None:
            return said
    return False


def _patterns(root: Path, place: str, files: tuple[str, ...]) -> list[Pattern]:
    found: list[Pattern] = []
    for name in files:
        file = root / place / name
        try:
            # A link could lead to a pipe or to a device; git follows none, either.
            if not stat.S_ISREG(file.lstat().st_mode):
                continue
            found += parse(os.fsdecode(file.read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise DevctlError(
                f"cannot read `{file}`: {error.strerror}", "change its mode, or remove it"
            ) from error
    return found


def _walk(
    root: Path, place: str, above: list[tuple[str, list[Pattern]]], files: tuple[str, ...]
) -> Iterator[str]:
    """What belongs to a folder below the root; the folder itself where that is nothing."""
    patterns = _patterns(root, place, files)
    rules = [*above, (place, patterns)] if patterns else above
    try:
        with os.scandir(root / place) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise DevctlError(
            f"cannot read the folder `{root / place}`: {error.strerror}",
            f"change its mode, or name it in `{OWN_RULES}`",
        ) from error
    if not found and place:
        yield place
    for entry in found:
        name = f"{place}/{entry.name}" if place else entry.name
        folder = entry.is_dir(follow_symlinks=False)
        if _never(entry.name) or _decide(rules, name, folder=folder):
            continue
        if folder:
            yield from _walk(root, name, rules, files)
        else:
            yield name


def _listed_by_git(root: Path) -> list[str] | None:
    """What git lists of a folder, its nested repositories too; None where git does not know it."""
    inside = _git(root, "rev-parse", "--is-inside-work-tree")
    # A folder that is ignored as a whole is not listed at all: somebody wants it all the same.
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
        except OSError as error:
            if isinstance(error, FileNotFoundError | NotADirectoryError):
                continue
            raise DevctlError(
                f"cannot look at `{root / name}`: {error.strerror}", "change its folder's mode"
            ) from error
        if stat.S_ISDIR(mode):
            names |= dict.fromkeys(f"{name}/{below}" for below in listed(root / name))
        else:
            names[name] = None
    return list(names)


def _git(root: Path, *arguments: str) -> bytes | None:
    """What git prints, a NUL where that is nothing; None where it fails or is absent."""
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
            f"git did not list `{root}` within {_SECONDS} s", "run `git status` there, and see"
        ) from error
    return (done.stdout or b"\0") if done.returncode == 0 else None
