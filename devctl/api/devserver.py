"""Words of a DevServer: names and numbers of what is made for it, and its status."""

from __future__ import annotations

import re
from enum import StrEnum

NAME = re.compile(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?", re.ASCII)
NAME_RULE = "start with a letter and have at most 52 lower-case letters, digits and '-'"
"""What the CRD asks of a server's name: pods are called after it, and so are labels."""

MASTER_PORT = 29500
"""Where rank 0 listens for the others."""

PORTS = range(MASTER_PORT, MASTER_PORT + 11)
"""What is open between ranks; the others are for further groups of the same training."""


def home_names(server: str, count: int) -> list[str]:
    """The claims of a server's homes, by replica.

    >>> home_names("lab", 2)
    ['home-lab-0', 'home-lab-1']
    """
    return [f"home-{server}-{ordinal}" for ordinal in range(count)]


class Phase(StrEnum):
    """What a server, or one of its replicas, is doing."""

    PENDING = "Pending"
    """It has no place yet: a volume, a node or quota is missing."""
    STARTING = "Starting"
    """It has a place and its containers come up."""
    RUNNING = "Running"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    FAILED = "Failed"
    """It will not run before somebody changes something."""


class Condition(StrEnum):
    """Condition types of a DevServer; the role writes APPLIED, the observer the others."""

    READY = "Ready"
    APPLIED = "Applied"
    FLAVOR_OUTDATED = "FlavorOutdated"
    RESTART_REQUIRED = "RestartRequired"
    """The spec has changed in a way that a running server takes up at its next start only."""
    EXPIRING = "Expiring"
    IDLE = "Idle"
    """Whether nobody has worked there for spec.lifecycle.idleTimeout."""


class FlavorCondition(StrEnum):
    """Condition types of a DevServerFlavor."""

    SCHEDULABLE = "Schedulable"
    DEFAULT_CONFLICT = "DefaultConflict"
