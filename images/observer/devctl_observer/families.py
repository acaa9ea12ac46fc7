"""Every kind that the observer knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.control.standard import Standard, StandardFamily
from devctl_observer.kinds.activity.family import Activities
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.gpu_workload.family import GPUWorkloads
from devctl_observer.kinds.jobs.family import Jobs
from devctl_observer.kinds.policies.family import Policies
from devctl_observer.kinds.servers.family import Servers
from devctl_observer.kinds.teams.family import Teams
from devctl_observer.kinds.usage.family import Usages
from devctl_observer.kinds.users.family import Users

STANDARD: Sequence[Standard[Any]] = ()
"""Kinds for which only the status is specific."""


def families(process: Process) -> Sequence[Family[Any]]:
    """One family per kind, for one process."""
    flavors, users = Flavors(process), Users(process)
    teams = Teams(flavors, users, process)
    activities = Activities(process)
    servers = Servers(flavors, users, activities, process)
    policies, jobs = Policies(flavors, process), Jobs(process)
    workloads = GPUWorkloads(flavors, process)
    usages = Usages(flavors, (servers, jobs, workloads), (users, teams), process)
    own: list[Family[Any]] = [
        *(flavors, users, teams, policies),
        *(activities, servers, jobs, workloads, usages),
    ]
    return [*own, *(StandardFamily(kind, process) for kind in STANDARD)]
