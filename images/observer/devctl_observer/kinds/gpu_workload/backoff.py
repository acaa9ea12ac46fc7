"""How long to wait until a retry."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256

LONGEST = 300.0
"""Seconds between retries at most, without jitter."""
_JITTER = 0.1


def pause(base: int, retries: int, uid: str) -> timedelta:
    """The time until the next retry: min(base * 2^retries, 300 s), and 0 to 10 % more.

    The jitter is drawn by a hash, so that a restart computes the same time.

    Args:
        base: spec.retryPolicy.backoffSeconds.
        retries: Retries so far.
        uid: The workload's UID.

    >>> [int(pause(30, retries, "u").total_seconds()) // 30 for retries in range(5)]
    [1, 2, 4, 8, 10]
    """
    digest = sha256(f"{uid}\n{retries}".encode()).digest()
    share = int.from_bytes(digest[:4], "big") / 2**32
    return timedelta(seconds=min(base * 2.0 ** min(retries, 32), LONGEST) * (1 + _JITTER * share))
