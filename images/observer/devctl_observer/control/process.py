"""What a process provides to every kind's package."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from devctl_observer.control.cluster_api import ClusterApi
from devctl_observer.judging.clocks import utc_now
from devctl_observer.watching.children import Children


@dataclass(frozen=True)
class Clock:
    """The clocks that decisions depend on."""

    now: Callable[[], datetime] = utc_now
    """The wall clock, for deadlines."""
    steady: Callable[[], float] = time.monotonic
    """Monotonic seconds, which nobody can set."""


@dataclass(frozen=True)
class Process:
    """Shared by all families."""

    children: Children
    """The stores of all children."""
    api: ClusterApi
    """All requests to the API server."""
    clock: Clock
