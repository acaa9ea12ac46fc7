"""Tasks done in the run's own process, for actions that are known to leave nothing behind.

Ansible forks for each task, because a task may do anything to the process that it is in. A run is a
process of its own already; for one task that speaks to the API the second fork only costs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from devctl_runner import ansible_internals

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
    ansible_internals.work_in_process(known, _forked.append)
