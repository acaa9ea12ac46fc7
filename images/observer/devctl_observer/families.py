"""Every kind that the observer knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.control.standard import Standard, StandardFamily
from devctl_observer.kinds.activity.family import Activities
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.gpu_worker_job.family import GPUWorkerJobs
from devctl_observer.kinds.gpu_worker_node.family import Workers
from devctl_observer.kinds.gpu_workload.family import GPUWorkloads
from devctl_observer.kinds.jobs.family import Jobs
from devctl_observer.kinds.node_cache.family import NodeCaches
from devctl_observer.kinds.policies.family import Policies
from devctl_observer.kinds.servers.family import Servers
from devctl_observer.kinds.teams.family import Teams
from devctl_observer.kinds.usage.family import Usages
from devctl_observer.kinds.users.family import Users
from devctl_observer.kinds.vllm_run.family import VLLMRuns

STANDARD: Sequence[Standard[Any]] = ()
"""Kinds for which only the status is specific."""

ALONE: Mapping[str, Callable[[Process], Family[Any]]] = {
    "node_cache": NodeCaches,
    "gpu_worker_node": Workers,
}
"""Kinds that a process of their own handles, with an account that may do less."""


def families(process: Process, alone: str = "") -> Sequence[Family[Any]]:
    """One family per kind, for one process.

    Args:
        process: The process.
        alone: The only kind that it handles; empty for all that have no process of their own.
    """
    if alone:
        return [ALONE[alone](process)]
    flavors, users = Flavors(process), Users(process)
    teams = Teams(flavors, users, process)
    activities = Activities(process)
    servers = Servers(flavors, users, activities, process)
    policies, jobs = Policies(flavors, process), Jobs(process)
    workloads, runs = GPUWorkloads(flavors, process), VLLMRuns(process)
    usages = Usages(flavors, (servers, jobs, workloads, runs), (users, teams), process)
    own: list[Family[Any]] = [
        *(flavors, users, teams, policies),
        *(activities, servers, jobs, workloads, runs, GPUWorkerJobs(process), usages),
    ]
    return [*own, *(StandardFamily(kind, process) for kind in STANDARD)]
