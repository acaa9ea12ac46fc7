"""Which processes only wait for their user. Everything else is work, even if it sleeps.

A program decides itself what it is called; one that hides its work only stops its own server.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from devctl_node_agent.processes import Process

START, PROBE = "/opt/devctl/start", "/opt/devctl/probe"
_FOLDER = "/opt/devctl/"
_SHELLS = frozenset({"ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "tcsh", "zsh"})
_SSH = frozenset({"sshd", "sshd-session", "sshd-auth", "sftp-server"})
_MULTIPLEXERS = frozenset({"mosh-server", "screen", "SCREEN", "tmux"})
_AGENTS = frozenset({"gpg-agent", "ssh-agent"})
_JUPYTER = frozenset({"jupyter-lab", "jupyter-notebook", "jupyter-server"})
_JUPYTER_MODULES = frozenset({"jupyterlab", "notebook", "jupyter_server"})
_JUPYTER_COMMANDS = frozenset({"lab", "notebook", "server"})
_EDITOR = re.compile(
    r"(?:^|/)\.(?:vscode|vscodium|cursor|windsurf)-server(?:-insiders)?/"
    r"|/JetBrains/RemoteDev/|(?:^|/)remote-dev-server[^/]*$"
)
_CODE_SERVER = re.compile(r"(?:^|/)code-server(?:-[0-9.]+)?(?:/|$)")
_LANGUAGE_SERVER = re.compile(r"lsp|language.?server", re.IGNORECASE)
_KERNEL = re.compile(r"kernel-([-0-9A-Za-z_]{1,64})\.json")
_WITH_VALUE = frozenset({"--init-file", "--rcfile", "-o", "+o", "-O", "+O"})
_READY = ("-c", "test -e /run/devctl/ready")
_MAX_ANCESTORS = 16


class Waits(Enum):
    """What a waiting process is."""

    START = auto()
    SHELL = auto()
    SSH = auto()
    MULTIPLEXER = auto()
    EDITOR = auto()
    JUPYTER = auto()
    KERNEL = auto()
    SCRIPT = auto()
    """One of devctl's that holds a connection."""
    USAGE = auto()
    """devctl's figures and probes, with all that they start."""
    ENDED = auto()
    """A zombie, or stopped with Ctrl-Z."""
    STARTING = auto()
    """The container runtime, before it runs a program."""
    AGENT = auto()
    """Holds keys."""


_HELD = {
    "sleep": frozenset({Waits.START, Waits.SCRIPT, Waits.EDITOR}),
    "cat": frozenset({Waits.SCRIPT, Waits.EDITOR}),
}
"""What scripts that wait for somebody wait with."""


def working(processes: Mapping[int, Process], idle_kernels: Collection[str] = ()) -> list[Process]:
    """The processes that do not wait, oldest first.

    Args:
        processes: Those of a container, by PID.
        idle_kernels: IDs of the kernels that Jupyter knows to be idle.
    """
    found = [each for each in processes.values() if not _waits(each, processes, idle_kernels)]
    return sorted(found, key=lambda each: (each.stat.started, each.pid))


def is_start(process: Process) -> bool:
    """Whether it is the first process of a dev server, or tini in front of it."""
    arguments = process.arguments
    return bool(arguments) and arguments[-1] == START and _base(arguments[0]) in {*_SHELLS, "tini"}


def is_ssh(process: Process) -> bool:
    """Whether it belongs to an SSH connection."""
    return process.stat.name in _SSH


def _waits(process: Process, all_: Mapping[int, Process], idle_kernels: Collection[str]) -> bool:
    if classify(process, idle_kernels) is not None or _is_probe(process, all_):
        return True
    parent = all_.get(process.stat.parent)
    if parent and _is_held(process, parent):
        return True
    for _ in range(_MAX_ANCESTORS):
        if parent is None:
            break
        if classify(parent) is Waits.USAGE or _is_probe(parent, all_):
            return True
        parent = all_.get(parent.stat.parent)
    return False


def _is_probe(process: Process, all_: Mapping[int, Process]) -> bool:
    """Whether it is the loop that asks the activity probe: the one that the first process started.

    What the probe starts does not count, within its timeout. What it leaves behind does: an orphan
    becomes a child of the first process.
    """
    shell, script = (*process.arguments[:2], "", "")[:2]
    if script != PROBE or _base(shell) not in _SHELLS:
        return False
    parent = all_.get(process.stat.parent)
    if parent is None or not is_start(parent):
        return False
    return parent.stat.session == process.stat.session


def _is_held(process: Process, parent: Process) -> bool:
    """Whether a script that waits for somebody waits with it."""
    kind = classify(parent)
    if kind not in _HELD.get(process.stat.name, ()):
        return False
    # Orphans become children of the first process, each in the session in which it was started.
    return kind is not Waits.START or process.stat.session == parent.stat.session


def classify(process: Process, idle_kernels: Collection[str] = ()) -> Waits | None:
    """What a process is if it waits; None if it works."""
    if process.stat.state in {"Z", "X", "x", "T"}:
        return Waits.ENDED
    if is_ssh(process):
        return Waits.SSH
    if not process.arguments:
        return None
    if is_start(process):
        return Waits.START
    name, arguments = process.stat.name, process.arguments
    return _by_name(name, arguments) or _by_arguments(arguments, idle_kernels)


def _by_name(name: str, arguments: tuple[str, ...]) -> Waits | None:
    """Programs whose process is called like them. A script may have such a name, too."""
    base = _base(arguments[0])
    if name.startswith("runc:[") and arguments[-1] == "init":
        return Waits.STARTING
    if name.startswith("tmux: ") or (name in _MULTIPLEXERS and base == name):
        return Waits.MULTIPLEXER
    if name in _AGENTS and base == name:
        return Waits.AGENT
    return _shell(name, arguments) if base in _SHELLS else None


def _by_arguments(arguments: tuple[str, ...], idle_kernels: Collection[str]) -> Waits | None:
    files = (_KERNEL.fullmatch(_base(each)) for each in arguments)
    if any(file and file[1] in idle_kernels for file in files):
        return Waits.KERNEL
    if _is_jupyter(arguments):
        return Waits.JUPYTER
    return Waits.EDITOR if _is_editor(arguments) else None


def _shell(name: str, arguments: tuple[str, ...]) -> Waits | None:
    script = arguments[1] if len(arguments) > 1 else ""
    if script in {f"{_FOLDER}sshd", f"{_FOLDER}jupyter"}:
        return Waits.SCRIPT
    if script == f"{_FOLDER}usage" or arguments[1:] == _READY:
        return Waits.USAGE
    # A script's process is called after the script, and a shell by any other name is none.
    return Waits.SHELL if name in _SHELLS and _is_interactive(arguments[1:]) else None


def _is_interactive(options: tuple[str, ...]) -> bool:
    """Whether a shell with these options has neither a script nor a command.

    >>> _is_interactive(("-l",)), _is_interactive(("-lc", "make")), _is_interactive(("work.sh",))
    (True, False, False)
    """
    rest = iter(options)
    for option in rest:
        if option in _WITH_VALUE:
            next(rest, None)
        elif option.startswith("--"):
            if option == "--" or option.startswith("--command"):
                return False
        elif not option.startswith(("-", "+")) or set("cs") & set(option):
            return False
    return True


def _is_jupyter(arguments: tuple[str, ...]) -> bool:
    """Whether it is Jupyter's server: a script of Python's, or a module."""
    if not _base(arguments[0]).startswith("python"):
        return False
    script, following = (*arguments[1:3], "", "")[:2]
    if script == "-m":
        return following in _JUPYTER_MODULES
    base = _base(script)
    return base in _JUPYTER or (base == "jupyter" and following in _JUPYTER_COMMANDS)


def _is_editor(arguments: tuple[str, ...]) -> bool:
    """Whether it is a part of an editor, rather than a program that one runs for its user."""
    program, script = arguments[0], (*arguments, "")[1]
    if _EDITOR.search(program):
        return True
    base = _base(program)
    if base == "node" and (_CODE_SERVER.search(program) or _CODE_SERVER.search(script)):
        return True
    if not _EDITOR.search(script):
        return False
    # Python in an editor's folder runs tests and debuggers, too.
    return base in {*_SHELLS, "node"} or bool(_LANGUAGE_SERVER.search(_base(script)))


def _base(path: str) -> str:
    return path.rpartition("/")[2].removeprefix("-")
