"""What is run: a script of this machine, whose folder goes along, or one that is on the server."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.names import readable, unshowable
from devctl.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

TORCHRUN = ("/bin/sh", "/opt/devctl/torchrun-here")
_HOME = PurePosixPath("/home/dev")
_LONGEST_NAME = 30


class Script(NamedTuple):
    """A script and where it is.

    Attributes:
        name: Its name in its folder.
        folder: Its folder on the server, below the home; or an absolute path.
        local: Its folder here, which goes there first; None where it is there already.
    """

    name: str
    folder: str
    local: Path | None = None

    def argv(self, arguments: Sequence[str], *, distributed: bool) -> list[str]:
        """The command that runs it in its folder; torchrun on every rank of several."""
        python = self.name.endswith(".py")
        # A name that begins with a dash would be an option.
        path = f"./{self.name}"
        if distributed:
            return [*TORCHRUN, *([] if python else ["--no-python"]), path, *arguments]
        # What it prints goes to a file, where Python would keep it back.
        return [*(["python", "-u"] if python else []), path, *arguments]


def local_script(path: str) -> Script:
    """A script of this machine; its folder goes to the folder of the same name in the home.

    Raises:
        NotFoundError: There is no such file.
        UsageError: Its folder cannot go along.
    """
    file = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - links stay as they are
    shown = readable(path)
    if file.is_dir():
        raise UsageError(f"`{shown}` is a folder", "name the script in it")
    if not file.is_file():
        raise NotFoundError(
            f"there is no file `{shown}` here",
            "check the path; one that is on the server only is run with --no-sync",
        )
    folder = file.parent
    if folder in {Path(folder.anchor), Path.home(), Path("/tmp")}:  # noqa: S108 - it is refused
        raise UsageError(
            f"`{readable(str(folder))}` is not a project: all of it would go to the server",
            "put the script into a folder of its own, or copy it and add --no-sync",
        )
    for name in (folder.name, file.name):
        if why := unshowable(name):
            raise UsageError(f"the name `{readable(name)}` {why}", "rename it")
    if folder.name.startswith("."):
        raise UsageError(
            f"the folder `{readable(folder.name)}` would go over one of the home's own",
            "rename it, or copy it and add --no-sync",
        )
    return Script(file.name, folder.name, folder)


def remote_script(path: str) -> Script:
    """A script that is on the server; a path that is not absolute begins at the home.

    Raises:
        UsageError: That names no file.

    >>> remote_script("project/train.py")
    Script(name='train.py', folder='/home/dev/project', local=None)
    """
    found = _HOME / PurePosixPath(path.removeprefix("~/"))
    if not path or path.endswith("/") or found.name in {"", ".."}:
        raise UsageError(f"`{readable(path)}` names no script", "name a file on the server")
    if why := unshowable(path) or ("holds a NUL" if "\0" in path else ""):
        raise UsageError(f"the path `{readable(path)}` {why}", "rename it")
    return Script(found.name, str(found.parent))


def new_name(script: str) -> str:
    """A name for a run of a script, which no other run has.

    >>> new_name("Train_digits.py")[:-4]
    'train-digits-'
    """
    words = re.sub(r"[^a-z0-9]+", "-", script.removesuffix(".py").lower()).strip("-")
    return f"{words[:_LONGEST_NAME].strip('-') or 'run'}-{secrets.token_hex(2)}"
