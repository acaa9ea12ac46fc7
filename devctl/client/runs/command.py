"""What is run: a Python script or module, or any other command, its folder and its environment."""

from __future__ import annotations

import os
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
    from collections.abc import Mapping, Sequence

TORCHRUN = ("/bin/sh", "/opt/devctl/torchrun-here")
HOME = PurePosixPath("/home/dev")
_LONGEST_NAME = 30

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A variable's name."""
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@,+-")
_LONGEST = 100_000
"""Bytes of a variable; Linux allows 128 KiB."""
_MOST = 1_000_000
"""Bytes of all variables; they share their space with the command's arguments."""


class Kind(StrEnum):
    """What a command is."""

    SCRIPT = "script"
    MODULE = "module"
    COMMAND = "command"


class Command(NamedTuple):
    """A command and the folder that it runs in.

    Attributes:
        name: A script's path in the folder, a module's name, or a program.
        folder: Its working directory on the server, absolute or relative to the home.
        local: The local folder to send there first; None for nothing.
        imports: Subfolders where Python also looks for packages; empty for the folder itself.
    """

    name: str
    folder: str
    local: Path | None = None
    kind: Kind = Kind.SCRIPT
    imports: tuple[str, ...] = ()

    def argv(
        self,
        arguments: Sequence[str],
        *,
        distributed: bool,
        restarts: int | None = None,
        launcher: Sequence[str] | None = None,
    ) -> list[str]:
        """The words that run it in its folder.

        On each replica of a distributed training, torchrun runs a script or module, and restarts
        it up to `restarts` times; without torchrun, `restarts` raises a UsageError. `launcher` are
        the words that start torchrun, TORCHRUN by default.
        """
        if restarts is not None and (self.kind is Kind.COMMAND or not distributed):
            why = "a command behind `--`" if distributed else "a server of one replica"
            raise UsageError(
                f"--max-restarts is torchrun's, which {why} is run without", "leave it out"
            )
        if self.kind is Kind.COMMAND:
            return [self.name, *arguments]
        python = self.kind is Kind.MODULE or self.name.endswith(".py")
        # A leading dash would make the name an option.
        script = self.name if self.name.startswith("/") else f"./{self.name}"
        words = ["-m", self.name] if self.kind is Kind.MODULE else [script]
        if distributed:
            again = [] if restarts is None else ["--max-restarts", str(restarts)]
            plain = [] if python else ["--no-python"]
            return [
                *(TORCHRUN if launcher is None else launcher),
                *again,
                *plain,
                *words,
                *arguments,
            ]
        # Its output goes to a file, which Python would buffer.
        return [*(["python", "-u"] if python else []), *words, *arguments]


def local_script(path: str, workdir: str | None = None) -> Command:
    """A script of this machine; its project is sent to the folder of the same name in the home.

    NotFoundError if it does not exist, UsageError if its project cannot be sent.
    """
    file, shown = absolute(path), readable(path)
    if file.is_dir():
        raise UsageError(f"`{shown}` is a folder", "name the script in it")
    if not file.is_file():
        raise NotFoundError(
            f"there is no file `{shown}` here",
            "check the path; `devctl run --no-sync` runs one that is on a server",
        )
    project = find_project(file.parent, workdir)
    name = script_in(project, file)
    imports: tuple[str, ...] = ()
    if name.endswith(".py"):
        # Python itself adds the script's own folder.
        imports = (*project.imports, *([""] if "/" in name else []))
    return Command(name, project.root.name, project.root, Kind.SCRIPT, imports)


def local_command(kind: Kind, word: str, workdir: str | None = None) -> Command:
    """A module or another command; sends the current folder's project, or raises UsageError."""
    _check(kind, word)
    project = find_project(Path.cwd(), workdir)
    imports = project.imports if kind is Kind.MODULE else ()
    return Command(word, project.root.name, project.root, kind, imports)


def remote_script(path: str, workdir: str | None = None) -> Command:
    """A script on the server; relative paths start at the home. UsageError for a folder.

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
    """A module or another command on the server, in `workdir`; may raise UsageError."""
    _check(kind, word)
    return Command(word, str(_remote(workdir or "")), None, kind)


def new_name(command: str) -> str:
    """A unique name for a run of a command.

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
    if why := unshowable(path):
        raise UsageError(f"the path `{readable(path)}` {why}", "rename it")
    return HOME / PurePosixPath("" if path == "~" else path.removeprefix("~/"))


def encoded(variables: Mapping[str, str], imports: Sequence[str] = ()) -> list[bytes]:
    r"""A line for each variable, as roles/devserver/files/run reads them.

    `imports` are folders to put before the server's PYTHONPATH, relative to the run's folder.
    UsageError if a name or a value is invalid.

    >>> encoded({"A": "b c\n"}, ["src"])
    [b'+PYTHONPATH=src\n', b'A=b\\0040c\\0012\n']
    """
    for name, value in variables.items():
        check_name(name)
        if "\0" in value or len(os.fsencode(value)) > _LONGEST:
            why = "holds a NUL" if "\0" in value else f"has more than {_LONGEST:,} bytes"
            raise UsageError(f"the value of `{name}` {why}", "put it into a file, and send that")
    if sum(len(value) for value in variables.values()) > _MOST:
        raise UsageError("the variables are too large", "put the largest into files")
    # The pod puts each folder before the earlier ones.
    paths = [("+PYTHONPATH", folder) for folder in reversed(imports)]
    lines = []
    for name, value in [*paths, *variables.items()]:
        escaped = (bytes([b]) if b in _PLAIN else b"\\0%03o" % b for b in os.fsencode(value))
        lines.append(name.encode() + b"=" + b"".join(escaped) + b"\n")
    return lines


def check_name(name: str) -> None:
    """Raise UsageError unless a variable can have this name."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"`{readable(name)}` is not the name of a variable", "use letters, digits and `_`"
        )
