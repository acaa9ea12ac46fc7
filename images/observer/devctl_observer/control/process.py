"""What every kind's package gets of the process that it is in."""

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
    """The times that decide something."""

    now: Callable[[], datetime] = utc_now
    """The time of day: deadlines are such."""
    steady: Callable[[], float] = time.monotonic
    """Seconds that pass, from whenever: nobody sets them."""


@dataclass(frozen=True)
class Process:
    """One for all families."""

    children: Children
    """What is watched for every one of them."""
    api: ClusterApi
    """What can be changed."""
    clock: Clock
