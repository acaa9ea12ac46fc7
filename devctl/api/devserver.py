"""A DevServer's names, ports, phases and conditions."""

from __future__ import annotations

import re
from enum import StrEnum

NAME = re.compile(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?", re.ASCII)
NAME_RULE = "start with a letter and have at most 52 lower-case letters, digits and '-'"
"""What the CRD requires of a server's name, which pods and labels contain."""

MASTER_PORT = 29500
"""The port on which rank 0 listens for the others."""

PORTS = range(MASTER_PORT, MASTER_PORT + 11)
"""Open between ranks; the others are for further process groups of the same training."""


def home_names(server: str, count: int) -> list[str]:
    """The claims of a server's homes, by replica.

    >>> home_names("lab", 2)
    ['home-lab-0', 'home-lab-1']
    """
    return [f"home-{server}-{ordinal}" for ordinal in range(count)]


class Phase(StrEnum):
    """What a server, or one of its replicas, is doing."""

    PENDING = "Pending"
    """It waits for a volume, a node or quota."""
    STARTING = "Starting"
    """It is scheduled, and its containers start."""
    RUNNING = "Running"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    FAILED = "Failed"
    """It does not run until something is changed."""


class Condition(StrEnum):
    """Condition types of a DevServer; the role writes APPLIED, the observer the others."""

    READY = "Ready"
    APPLIED = "Applied"
    FLAVOR_OUTDATED = "FlavorOutdated"
    RESTART_REQUIRED = "RestartRequired"
    """The spec has a change that takes effect at the next start only."""
    EXPIRING = "Expiring"
    RUNTIME_ENDING = "RuntimeEnding"
    """It is about to be stopped, because it has run for spec.lifecycle.maxRuntime."""
    IDLE = "Idle"
    """Nobody has worked in it for spec.lifecycle.idleTimeout."""


class FlavorCondition(StrEnum):
    """Condition types of a DevServerFlavor."""

    SCHEDULABLE = "Schedulable"
    DEFAULT_CONFLICT = "DefaultConflict"
