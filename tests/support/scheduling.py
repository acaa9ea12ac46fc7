"""Which tests go to one process where several run them: those that share a server or a place."""

from __future__ import annotations

from pathlib import PurePath

from xdist.scheduler import LoadScopeScheduling

# Each of their tests has a namespace of its own and nothing else: no operator or runner of its
# module's, which would have to be started for each.
SPREAD = {
    "test_admission",
    "test_devserver",
    "test_job_admission",
    "test_kinds",
    "test_molecule",
}


def together(test: str) -> str:
    """The name of a test's group, by its id: the test itself, or its module."""
    module = PurePath(test.partition("::")[0]).stem
    return test if module in SPREAD else module


class Scheduling(LoadScopeScheduling):
    """Gives a process a whole group at a time, and the largest groups first."""

    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid)
