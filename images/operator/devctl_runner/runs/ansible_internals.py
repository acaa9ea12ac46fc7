"""Everything in the warm runner that relies on Ansible's private API.

Import it after `compatibility.check`, once the environment is set: Ansible reads its settings on
import. Nothing else in this package imports Ansible.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from ansible import constants, context
from ansible._internal._task import TaskContext
from ansible.cli import CLI
from ansible.cli.playbook import PlaybookCLI
from ansible.errors import AnsibleError
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible.executor.process.worker import WorkerProcess
from ansible.plugins import strategy
from ansible.plugins.loader import add_all_plugin_dirs, callback_loader
from ansible.utils import vars as ansible_vars
from ansible.utils.context_objects import CLIArgs
from ansible.utils.display import Display
from ansible.vars.manager import VariableManager

from devctl_runner.runs.compatibility import CALLBACK, OF_THE_CALLBACK, check


class Ansible:
    """Ansible, set up as by its command line. Once per process: it refuses a second time.

    Attributes:
        callback: The module of the callback that creates events.
        forked: The actions of the tasks for which this process has forked.
    """

    def __init__(self, inventory: Path, poll_seconds: float) -> None:
        """Set it up.

        Args:
            inventory: The file with the hosts.
            poll_seconds: How often a run checks whether its task has ended.

        Raises:
            IncompatibleError: ansible-runner's callback has changed.
        """
        constants.DEFAULT_INTERNAL_POLL_INTERVAL = poll_seconds
        # A playbook must be named, but is not read.
        cli = PlaybookCLI(args=["ansible-playbook", "-i", str(inventory), "none"])
        CLI.run(cli)  # reads the command line and makes collections importable
        self._loader, self._inventory, self._variables = cli._play_prereqs()  # noqa: SLF001
        self._version = CLI.version_info(gitinfo=False)
        self._files: dict[str, Any] = {}
        callback_loader.get("awx_display", class_only=True)
        check("ansible-runner", OF_THE_CALLBACK)
        self.callback: Any = sys.modules[CALLBACK]
        self.forked: list[str] = []

    def keep_files(self) -> None:
        """Let each run start with the files that have been read until now."""
        self._files = dict(self._loader._FILE_CACHE)  # noqa: SLF001

    def forget_file(self, path: Path) -> None:
        """Make the loader read a file again."""
        self._loader._FILE_CACHE.pop(str(path), None)  # noqa: SLF001

    def begin_run(self, *, extra: Path | None, roles_path: str, verbosity: int) -> None:
        """Load the variables of a run, without the facts of other runs.

        Args:
            extra: The file with the run's extra variables, if any.
            roles_path: The folder of roles; empty for a playbook.
            verbosity: Ansible's verbosity.
        """
        if roles_path:
            constants.DEFAULT_ROLES_PATH = [roles_path]
        self.forked.clear()
        display = Display()
        display.verbosity = verbosity
        # Each of these shows a message once, even if only the throwaway run has shown it.
        for shown in (display._warns, display._deprecations, display._errors):  # noqa: SLF001
            shown.clear()
        # Unique IDs for plays and tasks: a counter follows a random part that is drawn on import.
        ansible_vars.node_mac = uuid4().hex[:12]
        # The cache is keyed by path, and the last run of the same object had the same paths.
        self._loader._FILE_CACHE = dict(self._files)  # noqa: SLF001
        # Ansible's own loader: only this one knows unsafe marks and what may be a template.
        changed = {"extra_vars": (f"@{extra}",) if extra else (), "verbosity": verbosity}
        context.CLIARGS = CLIArgs({**context.CLIARGS, **changed})
        ansible_vars.load_extra_vars.extra_vars = None
        self._variables = VariableManager(
            loader=self._loader, inventory=self._inventory, version_info=self._version
        )
        self._variables._options_vars |= {"ansible_verbosity": verbosity}  # noqa: SLF001

    def run_playbook(self, playbook: Path) -> int:
        """Run a playbook; returns the exit status of ansible-playbook."""
        try:
            executor = PlaybookExecutor(
                playbooks=[str(playbook)],
                inventory=self._inventory,
                variable_manager=self._variables,
                loader=self._loader,
                passwords={},
            )
            return int(executor.run())
        except AnsibleError as error:
            Display().error(error)
            return int(error._exit_code)  # noqa: SLF001 - as in Ansible's own command line

    def add_plugins_beside(self, playbook: Path) -> None:
        """Make plugins in folders beside a playbook available."""
        add_all_plugin_dirs(os.fsencode(playbook.resolve().parent))

    def work_in_process(self, known: Container[str]) -> None:
        """From now on, execute tasks of known actions in this process instead of a fork.

        Ansible forks for each task, because a task may do anything to its process. A run is a
        separate process already, so the second fork is only a cost for a task that calls the API.
        """
        forked = self.forked

        class Worker(WorkerProcess):  # type: ignore[misc]
            """Ansible's worker, which can also work in the process that starts it."""

            _task: Any

            def start(self) -> None:
                if self._task.action not in known:
                    forked.append(self._task.action)
                    super().start()
                    return
                # The worker modifies its task, and the strategy still needs the original.
                self._task = self._task.copy()
                with _task_context(self), _kept(self._host), _looked_into():
                    self._run()

        strategy.WorkerProcess = Worker


def _task_context(worker: Any) -> Any:
    """The context that tells an action its task."""
    if not hasattr(TaskContext, "create"):  # before ansible-core 2.21
        return TaskContext(worker._task)  # noqa: SLF001
    return TaskContext.create(
        task=worker._task,  # noqa: SLF001
        task_vars=worker._task_vars,  # noqa: SLF001
        host_name=worker._host.name,  # noqa: SLF001
    )


@contextlib.contextmanager
def _kept(host: Any) -> Iterator[None]:
    """Restore the host: a worker clears its copy, which in this process is the only one."""
    variables, groups = host.vars, host.groups
    try:
        yield
    finally:
        host.vars, host.groups = variables, groups


class _Output:
    """A stream with the method by which a worker checks for output that bypasses Ansible."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def getvalue(self) -> str:
        return ""


@contextlib.contextmanager
def _looked_into() -> Iterator[None]:
    """Standard output and error as a worker expects them; they still write to the same place."""
    output, errors = _Output(sys.stdout), _Output(sys.stderr)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        yield
