"""Words of a DevServer's status."""

from __future__ import annotations

from enum import StrEnum

MASTER_PORT = 29500
"""Where rank 0 listens for the others."""


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


class FlavorCondition(StrEnum):
    """Condition types of a DevServerFlavor."""

    SCHEDULABLE = "Schedulable"
    DEFAULT_CONFLICT = "DefaultConflict"
