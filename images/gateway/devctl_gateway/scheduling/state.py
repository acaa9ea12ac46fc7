"""The state of a registered node."""

from __future__ import annotations

from datetime import datetime, timedelta

from devctl.api.gpu_worker_node import State
from devctl_gateway.store.rows import Row

MISSED = 3
"""Heartbeats in a row that make a node inactive."""


def state_of(row: Row, *, now: datetime, every: int, there: bool) -> State:
    """What the API says of a node.

    Args:
        row: Its registration.
        now: The time.
        every: Seconds between two heartbeats.
        there: Whether the cluster has a Node of its name that is ready.
    """
    if row["maintenance"]:
        return State.MAINTENANCE
    heard = row["heartbeat_at"]
    if heard is None or not there:
        return State.PENDING if heard is None else State.INACTIVE
    # The gateway's own clock stamped it: a time ahead of now is another replica's, and recent.
    if now - heard > timedelta(seconds=MISSED * every):
        return State.INACTIVE
    return State.ACTIVE if row["health_status"] == "healthy" else State.ERROR
