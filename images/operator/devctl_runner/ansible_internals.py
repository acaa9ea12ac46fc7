"""Every place where the warm runner leans on what Ansible promises to nobody.

`NEEDED` lists the names and how they are called; `check` says which of them an ansible-core lacks,
before anything is run with it. Nothing else in this package imports Ansible.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence
    from pathlib import Path

NEEDED: Mapping[str, Sequence[str]] = {
    "ansible._internal._task": ["TaskContext"],
    "ansible.cli": ["CLI.run(self)", "CLI.version_info(gitinfo)"],
    "ansible.cli.playbook": ["PlaybookCLI(args)", "PlaybookCLI._play_prereqs(self)"],
    "ansible.constants": ["DEFAULT_INTERNAL_POLL_INTERVAL", "DEFAULT_ROLES_PATH"],
    "ansible.context": ["CLIARGS"],
    "ansible.errors": ["AnsibleError._exit_code"],
    "ansible.executor.playbook_executor": [
        "PlaybookExecutor(playbooks, inventory, variable_manager, loader, passwords)",
        "PlaybookExecutor.run(self)",
    ],
    "ansible.executor.process.worker": [
        "WorkerProcess.start(self)",
        "WorkerProcess._run(self)",
        "WorkerProcess._host",
        "WorkerProcess._task",
        "WorkerProcess._task_vars",
    ],
    "ansible.inventory.host": ["Host.groups", "Host.name", "Host.vars"],
    "ansible.parsing.dataloader": ["DataLoader._FILE_CACHE"],
    "ansible.playbook.task": ["Task.action", "Task.copy(self)"],
    "ansible.plugins.loader": ["add_all_plugin_dirs(path)", "callback_loader.get"],
    "ansible.plugins.strategy": ["WorkerProcess"],
    "ansible.utils.context_objects": ["CLIArgs(mapping)"],
    "ansible.utils.display": [
        "Display.error(self, msg)",
        "Display._deprecations",
        "Display._errors",
        "Display._warns",
        "Display.verbosity",
    ],
    "ansible.utils.vars": ["load_extra_vars(loader)", "load_extra_vars.extra_vars", "node_mac"],
    "ansible.vars.manager": [
        "VariableManager(loader, inventory, version_info)",
        "VariableManager._options_vars",
    ],
}
"""By module: attributes of it and of what is in it, with the arguments that calls give."""

_CALLBACK = "ansible.plugins.callback.awx_display"
OF_THE_CALLBACK: Mapping[str, Sequence[str]] = {
    _CALLBACK: [
        "AnsibleJSONEncoderLocal",
        "event_context.dump_begin",
        "event_context.dump_end",
        "event_context.get_begin_dict()",
    ]
}
"""The same for ansible-runner's callback, under the name by which Ansible loads it."""


class IncompatibleError(Exception):
    """Ansible has changed where we lean on it; the message names each change."""


@dataclass(frozen=True)
class Ansible:
    """What is made once in a process, since Ansible refuses to make it twice."""

    loader: Any
    inventory: Any
    variables: Any
    version: Mapping[str, Any]
    """As its variables tell it."""


def check(package: str = "ansible-core", needed: Mapping[str, Sequence[str]] = NEEDED) -> None:
    """Look for all that is needed; nothing is run.

    Raises:
        IncompatibleError: Something is missing, or no longer takes what we give it.
    """
    changes = [
        change
        for module, names in needed.items()
        for name in names
        if (change := _ask(module, name))
    ]
    if changes:
        try:
            release = version(package)
        except PackageNotFoundError:
            release = "of an unknown version"
        raise IncompatibleError(f"{package} {release} {'; '.join(dict.fromkeys(changes))}")


def _ask(module: str, name: str) -> str:
    """What is wrong with one name of a module; empty if nothing is."""
    path, call, words = name.partition("(")
    try:
        found: Any = importlib.import_module(module)
    except ImportError:
        return f"has no `{module}`"
    for part in path.split("."):
        if not hasattr(found, part):
            return "" if _mentions(found, part) else f"has no `{module}.{path}`"
        found = getattr(found, part)
    arguments = filter(None, words.rstrip(")").split(", "))
    try:
        if call:
            inspect.signature(found).bind(**dict.fromkeys(arguments))
    except TypeError as error:
        return f"wants other arguments for `{module}.{path}`: {error}"
    return ""


def _mentions(owner: Any, name: str) -> bool:
    """Whether a function, or what makes an object of a class, sets an attribute of that name."""
    makers = [vars(one).get("__init__") for one in getattr(owner, "__mro__", ())] or [owner]
    codes = (getattr(maker, "__code__", None) for maker in makers)
    return any(name in code.co_names for code in codes if code)


def begin(inventory: Path, poll_seconds: float) -> Ansible:
    """Set Ansible up as its command line does. Call it once in a process.

    Args:
        inventory: The file with the hosts.
        poll_seconds: How often a run looks whether its task has ended.

    Raises:
        IncompatibleError: ansible-runner's callback has changed.
    """
    from ansible import constants  # noqa: PLC0415 - it reads settings from the environment
    from ansible.cli import CLI  # noqa: PLC0415
    from ansible.cli.playbook import PlaybookCLI  # noqa: PLC0415

    constants.DEFAULT_INTERNAL_POLL_INTERVAL = poll_seconds
    # It has to name a playbook, which nobody reads.
    cli = PlaybookCLI(args=["ansible-playbook", "-i", str(inventory), "none"])
    CLI.run(cli)  # reads the command line and makes collections importable
    loader, hosts, variables = cli._play_prereqs()  # noqa: SLF001
    display_callback()
    check("ansible-runner", OF_THE_CALLBACK)
    return Ansible(loader, hosts, variables, CLI.version_info(gitinfo=False))


def display_callback() -> Any:
    """The module of the callback that makes events; loaded if it is not."""
    if _CALLBACK not in sys.modules:
        from ansible.plugins.loader import callback_loader  # noqa: PLC0415 - see begin

        callback_loader.get("awx_display", class_only=True)
    return sys.modules[_CALLBACK]


def files_read(ansible: Ansible) -> dict[str, Any]:
    """What the loader has read, by path."""
    return dict(ansible.loader._FILE_CACHE)  # noqa: SLF001


def forget_file(ansible: Ansible, path: Path) -> None:
    """Have the loader read a file anew."""
    ansible.loader._FILE_CACHE.pop(str(path), None)  # noqa: SLF001


def new_variables(
    ansible: Ansible,
    files: Mapping[str, Any],
    *,
    extra: Path | None,
    roles_path: str,
    verbosity: int,
) -> Any:
    """The variables of one run, with nobody else's facts.

    Args:
        ansible: What the run takes over.
        files: What the loader is to have read.
        extra: The file with the run's extra variables, if there is one.
        roles_path: Where roles are; empty for a playbook.
        verbosity: How much is said.
    """
    from ansible import constants, context  # noqa: PLC0415 - see begin
    from ansible.utils import vars as ansible_vars  # noqa: PLC0415
    from ansible.utils.context_objects import CLIArgs  # noqa: PLC0415
    from ansible.utils.display import Display  # noqa: PLC0415
    from ansible.vars.manager import VariableManager  # noqa: PLC0415

    if roles_path:
        constants.DEFAULT_ROLES_PATH = [roles_path]
    display = Display()
    display.verbosity = verbosity
    # Each of these shows a text once; the throwaway run is not to use that up.
    for shown in (display._warns, display._deprecations, display._errors):  # noqa: SLF001
        shown.clear()
    # Unique names for plays and tasks: a counter after a random part that was drawn at import.
    ansible_vars.node_mac = uuid4().hex[:12]
    # It keeps what it has read by path, and the last run of this object had the same path.
    ansible.loader._FILE_CACHE = dict(files)  # noqa: SLF001
    # Ansible's own loader: it alone knows unsafe marks and what may be a template.
    changed = {"extra_vars": (f"@{extra}",) if extra else (), "verbosity": verbosity}
    context.CLIARGS = CLIArgs({**context.CLIARGS, **changed})
    ansible_vars.load_extra_vars.extra_vars = None
    variables = VariableManager(
        loader=ansible.loader, inventory=ansible.inventory, version_info=ansible.version
    )
    variables._options_vars |= {"ansible_verbosity": verbosity}  # noqa: SLF001
    return variables


def add_plugins_beside(playbook: Path) -> None:
    """Have the plugins found that are in folders beside a playbook."""
    from ansible.plugins.loader import add_all_plugin_dirs  # noqa: PLC0415 - see begin

    add_all_plugin_dirs(os.fsencode(playbook.resolve().parent))


def run_playbook(playbook: Path, ansible: Ansible, variables: Any) -> int:
    """Run a playbook; returns the exit status of ansible-playbook."""
    from ansible.errors import AnsibleError  # noqa: PLC0415 - see begin
    from ansible.executor.playbook_executor import PlaybookExecutor  # noqa: PLC0415
    from ansible.utils.display import Display  # noqa: PLC0415

    try:
        executor = PlaybookExecutor(
            playbooks=[str(playbook)],
            inventory=ansible.inventory,
            variable_manager=variables,
            loader=ansible.loader,
            passwords={},
        )
        return int(executor.run())
    except AnsibleError as error:
        Display().error(error)
        return int(error._exit_code)  # noqa: SLF001 - as in Ansible's own command line


def work_in_process(known: Container[str], forks: Callable[[str], None]) -> None:
    """From now on, do the tasks of known actions in the process that would fork for them.

    Args:
        known: The actions.
        forks: Is told the action of each other task, before it is forked for.
    """
    from ansible.executor.process.worker import WorkerProcess  # noqa: PLC0415 - see begin
    from ansible.plugins import strategy  # noqa: PLC0415

    class Worker(WorkerProcess):  # type: ignore[misc]
        """Ansible's own, but that it may do its work where it is started."""

        _task: Any

        def start(self) -> None:
            if self._task.action not in known:
                forks(self._task.action)
                super().start()
                return
            # What follows changes its task; the strategy goes by the one that it has.
            self._task = self._task.copy()
            with _task_context(self), _kept(self._host), _looked_into():
                self._run()

    strategy.WorkerProcess = Worker


def _task_context(worker: Any) -> Any:
    """What tells an action which task it belongs to."""
    from ansible._internal._task import TaskContext  # noqa: PLC0415 - see begin

    if not hasattr(TaskContext, "create"):  # before ansible-core 2.21
        return TaskContext(worker._task)  # noqa: SLF001
    return TaskContext.create(
        task=worker._task,  # noqa: SLF001
        task_vars=worker._task_vars,  # noqa: SLF001
        host_name=worker._host.name,  # noqa: SLF001
    )


@contextlib.contextmanager
def _kept(host: Any) -> Iterator[None]:
    """A worker empties its copy of the host; in this process it is the only one."""
    variables, groups = host.vars, host.groups
    try:
        yield
    finally:
        host.vars, host.groups = variables, groups


class _Output:
    """A stream, and what a worker asks of its own: whether anything was written past Ansible."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def getvalue(self) -> str:
        return ""


@contextlib.contextmanager
def _looked_into() -> Iterator[None]:
    """Standard output and error as a worker knows them; what is written goes where it did."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Output(streams[0]), _Output(streams[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
