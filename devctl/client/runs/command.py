"""What is run: a script or a module of Python, or any other command, and the folder it runs in."""

from __future__ import annotations

import re
import secrets
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.names import unshowable
from devctl.client.runs.project import absolute, find_project, script_in
from devctl.errors import NotFoundError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

TORCHRUN = ("/bin/sh", "/opt/devctl/torchrun-here")
HOME = PurePosixPath("/home/dev")
_LONGEST_NAME = 30


class Kind(StrEnum):
    """What a command is."""

    SCRIPT = "script"
    MODULE = "module"
    COMMAND = "command"


class Command(NamedTuple):
    """A command and the folder that it runs in.

    Attributes:
        name: A script's path from the folder, a module's name, or a program.
        folder: Its working directory on the server, below the home; or an absolute path.
        local: The folder here that goes there first; None where it is there already.
        kind: What it is.
        imports: Folders below it where Python also looks for packages; empty for itself.
    """

    name: str
    folder: str
    local: Path | None = None
    kind: Kind = Kind.SCRIPT
    imports: tuple[str, ...] = ()

    @property
    def python(self) -> bool:
        """Whether Python runs it."""
        return self.kind is Kind.MODULE or (self.kind is Kind.SCRIPT and self.name.endswith(".py"))

    def argv(
        self, arguments: Sequence[str], *, distributed: bool, restarts: int | None = None
    ) -> list[str]:
        """The words that run it in its folder; torchrun does on every rank of several.

        Args:
            arguments: What it gets.
            distributed: Whether ranks train together. Any other command than Python's or a script
                is run once on each, as it is.
            restarts: How often torchrun starts it again that fails; else never.

        Raises:
            UsageError: It is to be started again, but torchrun does not run it.
        """
        if restarts is not None and (self.kind is Kind.COMMAND or not distributed):
            why = "a command behind `--`" if distributed else "a server of one rank"
            raise UsageError(
                f"--max-restarts is torchrun's, which {why} is run without", "leave it out"
            )
        if self.kind is Kind.COMMAND:
            return [self.name, *arguments]
        words = ["-m", self.name] if self.kind is Kind.MODULE else [self._path]
        if distributed:
            again = [] if restarts is None else ["--max-restarts", str(restarts)]
            plain = [] if self.python else ["--no-python"]
            return [*TORCHRUN, *again, *plain, *words, *arguments]
        # What it prints goes to a file, where Python would keep it back.
        return [*(["python", "-u"] if self.python else []), *words, *arguments]

    @property
    def _path(self) -> str:
        # A name that begins with a dash would be an option.
        return self.name if self.name.startswith("/") else f"./{self.name}"


def local_script(path: str, workdir: str | None = None) -> Command:
    """A script of this machine; its project goes to the folder of the same name in the home.

    Args:
        path: The script.
        workdir: The project's folder; else the script's git repository, else the script's folder.

    Raises:
        NotFoundError: There is no such file.
        UsageError: Its project cannot go along.
    """
    file, shown = absolute(path), readable(path)
    if file.is_dir():
        raise UsageError(f"`{shown}` is a folder", "name the script in it")
    if not file.is_file():
        raise NotFoundError(
            f"there is no file `{shown}` here",
            "check the path; one that is on the server only is run with --no-sync",
        )
    project = find_project(file.parent, workdir)
    name = script_in(project, file)
    imports: tuple[str, ...] = ()
    if name.endswith(".py"):
        # Of the script's own folder Python thinks itself.
        imports = (*project.imports, *([""] if "/" in name else []))
    return Command(name, project.folder, project.root, Kind.SCRIPT, imports)


def local_command(kind: Kind, word: str, workdir: str | None = None) -> Command:
    """A module or another command; the project of the current folder goes along.

    Raises:
        UsageError: It cannot, or that names no module.
    """
    _check(kind, word)
    project = find_project(Path.cwd(), workdir)
    imports = project.imports if kind is Kind.MODULE else ()
    return Command(word, project.folder, project.root, kind, imports)


def remote_script(path: str, workdir: str | None = None) -> Command:
    """A script that is on the server; a path that is not absolute begins at the home.

    Raises:
        UsageError: That names no file.

    >>> remote_script("project/train.py")[:3]
    ('train.py', '/home/dev/project', None)
    >>> remote_script("project/scripts/train.py", "project")[:3]
    ('scripts/train.py', '/home/dev/project', None)
    """
    found = _remote(path)
    if not path or path.endswith("/") or found.name in {"", ".."}:
        raise UsageError(f"`{readable(path)}` names no script", "name a file on the server")
    if workdir is None:
        return Command(found.name, str(found.parent))
    folder = _remote(workdir)
    name = found.relative_to(folder) if found.is_relative_to(folder) else found
    return Command(str(name), str(folder))


def remote_command(kind: Kind, word: str, workdir: str | None = None) -> Command:
    """A module or another command that is on the server; it runs in the home without a `workdir`.

    Raises:
        UsageError: That names no module, or no folder.
    """
    _check(kind, word)
    return Command(word, str(_remote(workdir or "")), None, kind)


def new_name(command: str) -> str:
    """A name for a run of a command, which no other run has.

    >>> new_name("scripts/Train_digits.py")[:-4]
    'train-digits-'
    """
    own = PurePosixPath(command).name.removesuffix(".py")
    words = re.sub(r"[^a-z0-9]+", "-", own.lower()).strip("-")
    return f"{words[:_LONGEST_NAME].strip('-') or 'run'}-{secrets.token_hex(2)}"


def _check(kind: Kind, word: str) -> None:
    if kind is Kind.MODULE and not all(part.isidentifier() for part in word.split(".")):
        raise UsageError(
            f"`{readable(word)}` is not the name of a module", "write it as in `-m package.module`"
        )


def _remote(path: str) -> PurePosixPath:
    """A path on the server; one that is not absolute begins at the home."""
    if why := unshowable(path) or ("holds a NUL" if "\0" in path else ""):
        raise UsageError(f"the path `{readable(path)}` {why}", "rename it")
    return HOME / PurePosixPath("" if path == "~" else path.removeprefix("~/"))
