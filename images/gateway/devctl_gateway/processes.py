"""Several processes for one replica: Python computes for one request at a time in each of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread


def run_several(count: int, run: Callable[[], None]) -> int:
    """Run something in several processes, until one of them ends; the others are ended then.

    So one that dies is no other than a replica that dies: whoever started it starts it again.

    Args:
        count: How many.
        run: What each does until SIGTERM.

    Returns:
        The exit code: 0 after SIGTERM, 1 if one has ended by itself.
    """
    # Forked, they share what is imported.
    fork = get_context("fork")
    children = [fork.Process(target=_run_below, args=(run,)) for _ in range(count)]
    for child in children:
        child.start()
    told = False

    def end(*_: object) -> None:
        nonlocal told
        told = True
        for child in children:
            child.terminate()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    wait([child.sentinel for child in children])
    code = int(not told)
    end()
    for child in children:
        child.join()
    return code


def _run_below(run: Callable[[], None]) -> None:
    Thread(target=_follow, daemon=True).start()
    run()


def _follow() -> None:
    """End at once when the parent is gone, as if this were it."""
    parent = parent_process()
    assert parent is not None  # noqa: S101 - for the type checker
    parent.join()
    os._exit(1)
