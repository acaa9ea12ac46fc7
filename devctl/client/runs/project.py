"""The folder that goes along with a run: a git repository, the script's folder, or a chosen one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from devctl.client.files.ignore import listed, top_level
from devctl.client.files.names import unshowable
from devctl.errors import NotFoundError, UsageError
from devctl.text import readable

_PACKAGED = ("pyproject.toml", "setup.py", "setup.cfg")


class Project(NamedTuple):
    """A folder here that goes to the folder of the same name in each home.

    Attributes:
        root: The folder; links in its path stay as they are.
        imports: Folders below it where Python also looks for packages.
    """

    root: Path
    imports: tuple[str, ...]

    @property
    def folder(self) -> str:
        """The folder on the server, below the home."""
        return self.root.name


def find_project(start: Path, workdir: str | None = None) -> Project:
    """The project that a folder belongs to.

    Args:
        start: The folder.
        workdir: The project's folder where it is neither the repository nor `start`.

    Raises:
        NotFoundError: There is no such `workdir`.
        UsageError: The folder cannot go to the server.
    """
    if workdir is None:
        root = _repository(start) or start
    else:
        root = absolute(workdir)
        if not root.is_dir():
            raise NotFoundError(
                f"there is no folder `{readable(workdir)}` here", "check the path of --workdir"
            )
    if _is_shared(root):
        raise UsageError(
            f"`{readable(str(root))}` is not a project: all of it would go to the server",
            "use a folder of its own, name it with --workdir, or copy it and add --no-sync",
        )
    if why := unshowable(root.name):
        raise UsageError(f"the name `{readable(root.name)}` {why}", "rename it")
    if root.name.startswith("."):
        raise UsageError(
            f"the folder `{readable(root.name)}` would go over one of the home's own",
            "rename it, or copy it and add --no-sync",
        )
    return Project(root, ("src",) if _has_sources(root) else ())


def script_in(project: Project, file: Path) -> str:
    """The path of a script below its project's root.

    Raises:
        UsageError: It is not in the project, or does not go along with it.
    """
    shown = readable(str(file))
    root, within = project.root.resolve(), file.parent.resolve() / file.name
    if not within.is_relative_to(root):
        raise UsageError(
            f"`{shown}` is not in `{readable(str(project.root))}`",
            "choose a --workdir that holds the script",
        )
    name = within.relative_to(root).as_posix()
    if why := unshowable(name):
        raise UsageError(f"the name `{readable(name)}` {why}", "rename it")
    if name not in listed(root):
        raise UsageError(
            f"`{readable(name)}` would stay here: it is ignored in `{readable(str(project.root))}`",
            "change the rule that ignores it, or name the script's folder with --workdir",
        )
    return name


def absolute(path: str) -> Path:
    """A path of this machine from its root; links stay as they are."""
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - links stay as they are


def _repository(start: Path) -> Path | None:
    """The git repository of a folder, by the path under which it was named where that leads there.

    None also where it is somebody's whole home, as one for dotfiles is.
    """
    top = top_level(start)
    if top is None:
        return None
    root = next((above for above in (start, *start.parents) if above.resolve() == top), top)
    return None if _is_shared(root) else root


def _is_shared(folder: Path) -> bool:
    """Whether a folder holds much that has nothing to do with a project."""
    shared = (Path(folder.anchor), Path.home(), Path("/tmp"))  # noqa: S108 - it is refused
    return folder in shared or folder.resolve() in {each.resolve() for each in shared}


def _has_sources(root: Path) -> bool:
    """Whether `src` holds packages, and is none itself; an editable install would look there."""
    sources = root / "src"
    if not sources.is_dir() or (sources / "__init__.py").exists():
        return False
    packaged = any((root / name).is_file() for name in _PACKAGED)
    return packaged or any(sources.glob("*/__init__.py"))
