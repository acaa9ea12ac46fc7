"""Tasks done in the run's own process, for actions that are known to leave nothing behind.

Ansible forks for each task, because a task may do anything to the process that it is in. A run is a
process of its own already; for one task that speaks to the API the second fork only costs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

_forked: list[str] = []


def actions() -> frozenset[str]:
    """The actions whose tasks need no process of their own."""
    return frozenset(os.environ.get("DEVCTL_RUNNER_IN_PROCESS", "").split())


def forget() -> None:
    """A run begins: no task of it has had a process of its own."""
    _forked.clear()


def is_unspoilt() -> bool:
    """Whether every task since then was one that leaves nothing behind."""
    return not _forked


def work_in_process(known: Container[str]) -> None:
    """From now on, do the tasks of known actions in the process that would fork for them."""
    from ansible._internal._task import TaskContext  # noqa: PLC0415 - by warm_up
    from ansible.executor.process.worker import WorkerProcess  # noqa: PLC0415
    from ansible.executor.task_executor import TaskExecutor  # noqa: PLC0415
    from ansible.executor.task_result import _RawTaskResult  # noqa: PLC0415
    from ansible.plugins import strategy  # noqa: PLC0415

    class Worker(WorkerProcess):  # type: ignore[misc]
        """Ansible's own, but that it may do its work where it is started."""

        def start(self) -> None:
            if self._task.action not in known:
                _forked.append(self._task.action)
                super().start()
                return
            # What follows changes its task; the strategy goes by the one that it has.
            task = self._task.copy()
            with TaskContext(task):
                found = TaskExecutor(
                    self._host,
                    task,
                    self._task_vars,
                    self._play_context,
                    self._loader,
                    self._shared_loader_obj,
                    self._final_q,
                    self._variable_manager,
                ).run()
            fields = task.dump_attrs()
            result = _RawTaskResult(
                host=self._host, task=task, return_data=found, task_fields=fields
            )
            self._final_q.send_task_result(result)

    strategy.WorkerProcess = Worker
