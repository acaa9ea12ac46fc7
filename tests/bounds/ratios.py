"""Ratios of CPU time, which other processes hardly change."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def ratio(work: Callable[[], object], yardstick: Callable[[], object], rounds: int = 5) -> float:
    """CPU seconds of some work per CPU second of something known: the best of each, taken in turn.

    Child processes count once they have ended.
    """
    both = [(_cpu(work), _cpu(yardstick)) for _ in range(rounds)]
    return min(first for first, _ in both) / min(second for _, second in both)


def _cpu(work: Callable[[], object]) -> float:
    before = os.times()
    started = time.process_time()
    work()
    own = time.process_time() - started
    after = os.times()
    children = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return own + children
