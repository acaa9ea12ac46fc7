"""All objects of a kind as they are now and after each change, over a watch."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from devctl.client.named import Named
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from devctl.kube.cluster import Change, Object

Item = TypeVar("Item", bound=Named)

_WINDOW = 60.0
"""Seconds after which all is listed again: a deletion between two watches shows by then."""
_FIRST, _LONGEST = 1.0, 30.0
"""Seconds between two tries while the API server cannot be reached: the first, and at most."""


@dataclass(frozen=True)
class Snapshot(Generic[Item]):
    """What there is at one moment.

    Attributes:
        items: The objects, in the order in which the API server lists them; new ones come last.
        trouble: Why they may be out of date; empty where they are not.
    """

    items: Sequence[Item]
    trouble: str = ""


def snapshots(
    listed: Callable[[], Iterable[Item]],
    watched: Callable[[float], Iterable[Change]],
    wrap: Callable[[Object], Item],
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[Snapshot[Item]]:
    """What there is, again at each change; never ends by itself.

    Args:
        listed: Lists the objects; it alone decides which are meant.
        watched: Watches them for some seconds, and more than these where that is simpler.
        wrap: Makes an item of an object.
        sleep: Waits.

    Raises:
        DevctlError: The first look has failed, or the user may not look any longer.
    """
    last: Sequence[Item] | None = None
    pause = _FIRST
    while True:
        try:
            found = {item.uid: item for item in listed()}
            if last is None or list(found.values()) != list(last):
                last = list(found.values())
                yield Snapshot(last)
            pause = _FIRST
            for change in watched(_WINDOW):
                if _take(found, wrap(change.object), gone=change.type == "DELETED"):
                    last = list(found.values())
                    yield Snapshot(last)
        except (DeniedError, NotFoundError, UsageError):
            raise
        except DevctlError as error:
            if last is None:
                raise
            yield Snapshot(last, f"{error.message}; trying again")
            sleep(pause)
            pause = min(2 * pause, _LONGEST)


def _take(found: dict[str, Item], item: Item, *, gone: bool) -> bool:
    """Have a change be part of what is known; whether it was not before."""
    if gone:
        return found.pop(item.uid, None) is not None
    if found.get(item.uid) == item:
        return False
    found[item.uid] = item
    return True
