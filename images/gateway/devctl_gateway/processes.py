"""Several processes for one replica: Python computes for one request at a time in each of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread

_ENDS = (signal.SIGTERM, signal.SIGINT)


def run_several(count: int, run: Callable[[], None]) -> int:
    """Run something in several processes, until one of them ends; the others are ended then.

    So one that dies is no other than a replica that dies: whoever started it starts it again.

    Args:
        count: How many.
        run: What each does until SIGTERM.

    Returns:
        The exit code: 0 after SIGTERM, 1 if one has ended by itself.
    """
    # A signal that comes too early waits until it can be passed on.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    fork = get_context("fork")  # they share what is imported
    children = [fork.Process(target=_run_below, args=(run,)) for _ in range(count)]
    for child in children:
        child.start()
    told = False

    def end(*_: object) -> None:
        nonlocal told
        told = True
        for child in children:
            child.terminate()

    for number in _ENDS:
        signal.signal(number, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
    wait([child.sentinel for child in children])
    code = int(not told)
    end()
    for child in children:
        child.join()
    return code


def _run_below(run: Callable[[], None]) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
    Thread(target=_follow, daemon=True).start()
    run()


def _follow() -> None:
    """End at once when the parent is gone, as if this were it."""
    parent = parent_process()
    assert parent is not None  # noqa: S101 - for the type checker
    parent.join()
    os._exit(1)
