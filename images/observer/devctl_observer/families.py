"""Every kind that the observer knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.control.standard import Standard, StandardFamily
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.jobs.family import Jobs
from devctl_observer.kinds.servers.family import Servers

STANDARD: Sequence[Standard[Any]] = ()
"""Kinds for which only the status is specific."""


def families(process: Process) -> Sequence[Family[Any]]:
    """One family per kind, for one process."""
    flavors = Flavors(process)
    own: list[Family[Any]] = [flavors, Servers(flavors, process), Jobs(process)]
    return [*own, *(StandardFamily(kind, process) for kind in STANDARD)]
