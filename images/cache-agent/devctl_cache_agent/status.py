"""The status of a NodeCacheStatus. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api import node_cache
from devctl.api.node_cache import MAX_ERRORS, MAX_ITEMS
from devctl_cache_agent.plan import Sort
from devctl_cache_agent.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from devctl_cache_agent.plan import Item

PULLING, READY, FAILED = node_cache.PULLING, node_cache.READY, "failed"
FIELDS = {sort: node_cache.FIELDS[sort] for sort in Sort}


@dataclass(frozen=True)
class Entry:
    """How far an item is.

    Attributes:
        status: PULLING, READY or FAILED.
        present: Whether the node has it, perhaps an older version.
        percent: Of what is being fetched, if that is known.
        length: Bytes on the disk, or fetched so far.
        seconds: How long the last complete fetch took, of what is ready.
    """

    status: str = PULLING
    present: bool = False
    message: str = "waits for its turn"
    percent: int | None = None
    length: int | None = None
    seconds: int | None = None


def shown(before: Entry, now: Entry, item: Item) -> Entry:
    """What is told of an item while it is fetched.

    A mirror that is ready stays so while it is brought up to date, every few minutes: nodes would
    otherwise seem to lose it each time.
    """
    return before if item.sort is Sort.MIRROR and before.status == READY else now


def content(
    items: Iterable[Item], entries: Mapping[Item, Entry], errors: Iterable[str]
) -> dict[str, Any]:
    """All of the status but the time, in a stable order."""
    found: dict[str, Any] = {field: [] for field in FIELDS.values()}
    for item in sorted(items, key=lambda item: (item.sort, item.name)):
        # Each list has its own bound: a long one must not cut off another.
        if len(found[FIELDS[item.sort]]) < MAX_ITEMS:
            found[FIELDS[item.sort]].append(_line(item.name, entries.get(item, Entry())))
    found["errors"] = [clean(each) for each in dict.fromkeys(errors)][:MAX_ERRORS]
    return found


def stamped(status: Mapping[str, Any], wall_clock: datetime) -> dict[str, Any]:
    """A status with the time of its report, for people."""
    return {**status, "lastUpdate": f"{wall_clock:%Y-%m-%dT%H:%M:%SZ}"}


def _line(name: str, entry: Entry) -> dict[str, Any]:
    return {
        "name": name,
        "status": entry.status,
        "present": entry.present,
        "message": clean(entry.message),
        **({} if entry.percent is None else {"percent": max(0, min(100, entry.percent))}),
        **({} if entry.length is None else {"bytes": max(0, entry.length)}),
        **({} if entry.seconds is None else {"fetchSeconds": max(0, entry.seconds)}),
    }
