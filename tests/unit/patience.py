"""How long tests wait for what others do: for a condition, and never for a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 60.0
"""Seconds after which something counts as hanging. No test passes or fails because of its speed."""
FOREVER = 3600
"""Seconds for which a program of a test runs that must be ended: far longer than anybody waits."""


def eventually(holds: Callable[[], object]) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: It did not for longer than anything takes.
    """
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, "it hangs"
        time.sleep(0.01)
