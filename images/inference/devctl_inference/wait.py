"""Waiting for files that are still being copied to the volume."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from devctl_inference.failure import Failure

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from devctl_inference.files import File

POLL_SECONDS = 0.5

_QUIET_SECONDS = 2.0
"""How long a recent file must stay unchanged: a download may stall for longer than one poll."""

_GRACE_SECONDS = 60.0
"""How long a file may continue to grow after the wait is over."""


class Clock(Protocol):
    """The part of the module `time` that is needed here."""

    def monotonic(self) -> float:
        """Seconds of a clock that never goes backwards."""

    def time(self) -> float:
        """Seconds since 1970, as in modification times."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""


def wait_for(
    files: Sequence[File], seconds: float, say: Callable[[str], object], clock: Clock = time
) -> None:
    """Return when all files exist and are no longer being written.

    Args:
        files: The files to wait for; the first missing one is the reason of a failure.
        seconds: How long they may be missing.
        say: Receives one line about what is missing.
        clock: The clock.

    Raises:
        Failure: A file did not arrive, or cannot be read.
    """
    deadline = clock.monotonic() + seconds
    before = [file.look() for file in files]
    absent = _paths(file for file, found in zip(files, before, strict=True) if not _is_there(found))
    if absent and seconds:
        say(f"waiting up to {seconds:g} s for {absent}")
    while True:
        clock.sleep(POLL_SECONDS)
        now = [file.look() for file in files]
        rests = [_rests(*pair, clock.time()) for pair in zip(before, now, strict=True)]
        if all(rests):
            return
        late = clock.monotonic() - deadline
        for file, found, resting in zip(files, now, rests, strict=True):
            if late >= 0 and not _is_there(found):
                raise Failure(file.kind.missing, _absent(file, found, seconds))
            if late >= _GRACE_SECONDS and not resting:
                raise Failure(file.kind.missing, f"{file.path} is still being written")
        before = now


def _is_there(found: os.stat_result | None) -> bool:
    # A copy starts with an empty file.
    return found is not None and found.st_size > 0


def _rests(before: os.stat_result | None, now: os.stat_result | None, time_of_day: float) -> bool:
    if before is None or now is None or not _is_there(now):
        return False
    if (before.st_ino, before.st_size, before.st_mtime_ns) != (
        *(now.st_ino, now.st_size),
        now.st_mtime_ns,
    ):
        return False
    # A copy can keep its source's time; one in the future proves nothing.
    return not 0 <= time_of_day - now.st_mtime < _QUIET_SECONDS


def _absent(file: File, found: os.stat_result | None, seconds: float) -> str:
    what = "does not exist" if found is None else "is empty"
    after = f" after {seconds:g} s" if seconds else ""
    return f"{file.path} {what}{after}"


def _paths(files: Iterable[File]) -> str:
    return " and ".join(file.path for file in files)
