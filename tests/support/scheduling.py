"""Which tests go to one process where several run them: those that share a server or a place."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import Any

from xdist.scheduler import LoadScopeScheduling

# Each of their tests has a namespace of its own and nothing else: no operator or runner of its
# module's, which would have to be started for each.
SPREAD = {
    "test_accounts",
    "test_admission",
    "test_devserver",
    "test_homes",
    "test_job_admission",
    "test_kinds",
    "test_molecule",
}

CLAIMS = {"test_dra", "test_dra_redis", "test_run_checkout", "test_vllm_lines", "test_vllm_run"}
"""Modules that share the GPUs of the tests' cluster: one after the other."""

KUEUE = {"test_gateway_jobs", "test_gpu_queues", "test_job_turns", "test_queue_order"}
"""Modules of the plane with tests that ask for Kueue's own program: one after the other, with one
installation. A plane without it is the rule."""

LONG = (
    "claims",
    "test_idle",
    "test_job_seed",
    "test_queues",
    "test_gateway_schema",
    "kueue",
    "test_upgrade_early",
    "test_gateway",
    "test_egpu",
    "test_cli_run",
    "test_cli_network",
    "test_gpu_crowd",
    "test_teams",
    "test_upgrade",
    "test_gpu_faults",
    "test_cli_run_project",
    "test_cache_stores",
    "test_servers",
    "test_job_life",
    "test_convergence",
    "test_observer_faults",
    "test_flavors",
    "test_account_rights",
    "test_users",
    "test_runner",
    "test_restart",
    "test_claims_crowd",
    "test_job_takeover",
    "test_made_kinds",
    "test_observer_leads",
    "test_namespaces",
    "test_takeover",
)
"""Modules that take two minutes and more, or more than their number of tests says, the longest
first. Begun last, one of them would go on alone while the other processes have nothing to do."""


def together(test: str) -> str:
    """The name of a test's group, by its id: the test itself, its module, or several of them."""
    path = PurePath(test.partition("::")[0])
    if path.parent.name == "pods" and path.stem in CLAIMS:
        return "claims"
    if path.parent.name == "plane" and path.stem in KUEUE:
        return "kueue"
    return test if path.stem in SPREAD else path.stem


NEARLY_DONE = "nearly-done"
"""The file in the run's folder that appears when few tests of a tier are left to run."""

FEW = 0.1
"""Share of a tier's tests: the last ones leave processors idle. Earlier, a cluster that comes up
takes from them what it gains, and neither is in time."""


class Scheduling(LoadScopeScheduling):
    """Gives a process a whole group at a time: those that take long first, then the largest."""

    _left: int | None = None

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Count it, and leave a sign for what comes after this tier."""
        super().mark_test_complete(node, item_index, duration)
        whole = len(self.collection)
        self._left = (whole if self._left is None else self._left) - 1
        folder = os.environ.get("DEVCTL_E2E_RUN")
        if folder and self._left == int(whole * FEW):
            (Path(folder) / NEARLY_DONE).touch()

    def schedule(self) -> None:
        """Begin; xdist has counted the tests of each group."""
        super().schedule()
        for group in reversed(LONG):
            if group in self.workqueue:
                self.workqueue.move_to_end(group, last=False)

    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid)
