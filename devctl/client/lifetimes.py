"""More time for a server: the lifecycle with which it is kept for longer, counted from now."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from devctl.api.durations import parse_duration
from devctl.client.manifests import lifecycle_of
from devctl.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from devctl.client.servers import Server

_LONGEST = timedelta(days=365)


class Extension(TypedDict, total=False):
    """What to extend."""

    ttl: int | str | None
    """How long from now a server is kept."""
    idle: int | str | None
    """How long it may be idle before it is stopped."""
    max_runtime: int | str | None
    """How long it may run; from now, if it runs already."""
    delete_after_stopped: int | str | None
    """How long it is kept while it is stopped; from now, if it is stopped already."""


def extended(server: Server, by: Extension, now: datetime) -> dict[str, Any]:
    """The lifecycle that gives a server more time.

    Raises:
        UsageError: It has more time without this, a duration is invalid, or nothing is extended.
    """
    given = {name: value for name, value in by.items() if value is not None}
    if not given:
        options = "--ttl, --idle, --max-runtime or --delete-after-stopped"
        raise UsageError("nothing to extend", f"specify {options}")
    begins = {
        "ttl": (server.created_at, server.expires_at),
        "max_runtime": (server.started_at, server.run_ends_at),
        "delete_after_stopped": (server.stopped_at, server.expires_at),
    }
    lengths: dict[str, Any] = {}
    for name, value in given.items():
        begin, end = begins.get(name, (None, None))
        length = length_of(str(value) if not isinstance(value, int) else value)
        lengths[name] = value if begin is None else _since(server, begin, now + length, end)
    return lifecycle_of(**lengths)


def length_of(value: int | str) -> timedelta:
    """A duration that was given; raises UsageError if it is none."""
    try:
        return parse_duration(value)
    except ValueError as error:
        raise UsageError(str(error), "for example `90m`, `8h` or `1d12h`") from error


def _since(server: Server, begin: datetime, end: datetime, known: datetime | None) -> int:
    """The seconds of a limit that counts from `begin` and ends at `known` so far.

    Raises:
        UsageError: They are fewer than before, or too many.
    """
    if known and end < known:
        raise UsageError(
            f"`{server.name}` is already kept until {known:%Y-%m-%d %H:%M} UTC",
            "name a longer time",
        )
    if end - begin > _LONGEST:
        raise UsageError(
            f"a server is kept for a year at most, and `{server.name}` would be kept for longer",
            f"its last day is {begin + _LONGEST:%Y-%m-%d}: name a shorter time",
        )
    return math.ceil((end - begin).total_seconds())
