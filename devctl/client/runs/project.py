"""The folder that is sent with a run: a git repository, the script's folder, or a chosen one."""

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
    """A local folder that is sent to the folder of the same name in each home.

    Attributes:
        root: The folder, with symbolic links in its path.
        imports: Subfolders where Python also looks for packages.
    """

    root: Path
    imports: tuple[str, ...]


def find_project(start: Path, workdir: str | None = None) -> Project:
    """The project of a folder: `workdir`, else its git repository, else the folder itself.

    NotFoundError if there is no `workdir`, UsageError if the folder cannot be sent to a server.
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
            "use a folder of its own, or name it with --workdir",
        )
    if why := unshowable(root.name):
        raise UsageError(f"the name `{readable(root.name)}` {why}", "rename it")
    if root.name.startswith("."):
        raise UsageError(
            f"the folder `{readable(root.name)}` would overwrite one of the home's own",
            "rename it",
        )
    return Project(root, ("src",) if _has_sources(root) else ())


def script_in(project: Project, file: Path) -> str:
    """The path of a script in its project; raises UsageError if it is outside, or ignored there."""
    root, within = project.root.resolve(), file.parent.resolve() / file.name
    if not within.is_relative_to(root):
        raise UsageError(
            f"`{readable(str(file))}` is not in `{readable(str(project.root))}`",
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
    """A local path from the root, with symbolic links."""
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - keeps symbolic links


def _repository(start: Path) -> Path | None:
    """The git repository of a folder, with symbolic links; None if it is someone's whole home."""
    top = top_level(start)
    if top is None:
        return None
    root = next((above for above in (start, *start.parents) if above.resolve() == top), top)
    return None if _is_shared(root) else root


def _is_shared(folder: Path) -> bool:
    """Whether a folder holds much that is unrelated to a project."""
    shared = (Path(folder.anchor), Path.home(), Path("/tmp"))  # noqa: S108 - it is refused
    return folder in shared or folder.resolve() in {each.resolve() for each in shared}


def _has_sources(root: Path) -> bool:
    """Whether `src` holds packages without being one, as an editable install would assume."""
    sources = root / "src"
    if not sources.is_dir() or (sources / "__init__.py").exists():
        return False
    packaged = any((root / name).is_file() for name in _PACKAGED)
    return packaged or any(sources.glob("*/__init__.py"))
