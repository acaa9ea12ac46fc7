"""The times that decide something."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl_observer.judging.timestamps import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime


@dataclass(frozen=True)
class Clock:
    """One for the whole process."""

    now: Callable[[], datetime] = utc_now
    """The time of day: deadlines are such."""
    steady: Callable[[], float] = time.monotonic
    """Seconds that pass, from whenever: nobody sets them."""
