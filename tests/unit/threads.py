"""No test leaves a thread behind: it would go on during others, with what is theirs by then."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


IDLE = ("artifacts_",)
"""How the names of threads begin that a module keeps for its next call, and that do nothing."""


def outlasting(before: Collection[threading.Thread], seconds: float = PATIENCE) -> list[str]:
    """The names of threads that have started since, and do not end in time."""
    until = time.monotonic() + seconds
    started = [
        each
        for each in threading.enumerate()
        if each not in before and not each.name.startswith(IDLE)
    ]
    for each in started:
        each.join(max(0.0, until - time.monotonic()))
    return [each.name for each in started if each.is_alive()]


@contextmanager
def all_end() -> Iterator[None]:
    """Wait in the end for all threads that have started meanwhile.

    Raises:
        AssertionError: Some do not end.
    """
    before = threading.enumerate()
    yield
    left = outlasting(before)
    assert not left, f"threads are left: {left}"


@pytest.fixture
def no_threads_left() -> Iterator[None]:
    """Wait for the threads of a test."""
    with all_end():
        yield
