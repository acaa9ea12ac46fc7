"""What becomes of the pods in which a run goes on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from devctl.api.labels import DEVSERVER
from devctl.client.streams.pods import fate
from devctl.errors import DeniedError, DevctlError
from devctl.kube import resources
from devctl.kube.cluster import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from devctl.client.runs.place import Place
    from devctl.kube.cluster import Object

_RETRY = 1.0
"""Seconds after which an API server that stumbles is asked again."""


def watch_pods(
    place: Place,
    leaves: Callable[[int, str], object],
    gone: Callable[[int, str], object],
    over: Callable[[], bool],
) -> None:
    """Tell of pods that are stopped, or are no more, until nobody asks for it any longer.

    Args:
        place: Where they are.
        leaves: Told of a rank whose pod is being stopped, and why.
        gone: Told of a rank whose pod or container is no more, and why.
        over: Whether nobody asks any longer.
    """
    ranks = {str(pod["metadata"]["name"]): rank for rank, pod in place.pods.items()}

    def look(name: str, now: Object | None) -> None:
        rank = ranks.get(name)
        if rank is None:
            return
        if why := fate(place.pods[rank], now):
            gone(rank, why)
        elif now and "deletionTimestamp" in now["metadata"]:
            leaves(rank, f"pod `{name}` is being stopped")

    while not over():
        try:
            for name, now in _changes(place, ranks):
                look(name, now)
                if over():
                    return
        except DeniedError:
            return
        except DevctlError:
            pass
        # A watch that ends at once must not be begun all the time.
        time.sleep(_RETRY)


def _changes(place: Place, names: Iterable[str]) -> Iterator[tuple[str, Object | None]]:
    """Pods as they are and as they change, for some minutes; None where one is gone."""
    labels = {DEVSERVER: place.server}
    # A watch says nothing of a pod that has gone before it began.
    listed = place.cluster.list(resources.Pod, labels=labels)
    there = {str(pod["metadata"]["name"]): pod for pod in listed}
    yield from ((name, there.get(name)) for name in names)
    for change in place.cluster.watch(resources.Pod, labels=labels, seconds=WINDOW):
        name = str(change.object["metadata"]["name"])
        yield name, None if change.type == "DELETED" else change.object
