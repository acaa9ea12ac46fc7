"""What this process knows of everything that is counted, by namespace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from lightkube.models.core_v1 import Pod

from devctl_observer.control.process import Clock
from devctl_observer.judging.clocks import from_text
from devctl_observer.judging.model import meta_of
from devctl_observer.judging.pods import has_ended, node_of
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.usage.book import Book
from devctl_observer.kinds.usage.ledger import REMEMBERED, Seen
from devctl_observer.kinds.usage.observed import (
    BY_NODE,
    Sources,
    all_gpus_of,
    created_at,
    finished_at,
    idle_since,
    started_at,
    stop_of,
)
from devctl_observer.kinds.usage.timeline import Timeline
from devctl_observer.kinds.usage.tracks import Span, Track


class Running:
    """What runs, and what would run if it had not been stopped for idleness.

    Each method for a change returns the namespaces whose book is to be settled.
    """

    def __init__(self, sources: Sources, clock: Clock) -> None:
        """Start without any state."""
        self._sources, self._clock = sources, clock
        self._tracks: defaultdict[str, dict[str, Track]] = defaultdict(dict)
        self._idle: defaultdict[str, dict[str, list[Span]]] = defaultdict(dict)
        """By namespace and UID of the server."""

    def pod(self, old: Pod | None, new: Pod | None) -> set[str]:
        """Note a change of a pod."""
        now, found = self._clock.steady(), set[str]()
        before, meta = meta_of(old.metadata if old else None), meta_of((new or old).metadata)  # type: ignore[union-attr]
        if old and (new is None or before.uid != meta.uid):
            track = self._tracks[before.namespace].get(before.uid)
            if track:
                track.there = False
                track.end(now, finished_at(old))
                found.add(before.namespace)
        if new is None or not (start := started_at(new)):
            return found
        first = old is None or before.uid != meta.uid
        tracks = self._tracks[meta.namespace]
        if meta.uid not in tracks:
            if not self._sources.is_counted(new):
                return found
            line, certain = self._sources.line_of(new)
            node = node_of(new) if line.kind in BY_NODE else ""
            track = Track(line, start, all_gpus_of(new), created=created_at(new), node=node)
            if not first:
                track.started = now
            elif certain:
                # It may have another line in the book, which then ends here.
                track.changes = [(now, line)]
            tracks[meta.uid] = track
            found.add(meta.namespace)
        if has_ended(new) and tracks[meta.uid].end(now, finished_at(new), missed=first):
            found.add(meta.namespace)
        return found

    def server(self, old: Server | None, new: Server | None) -> set[str]:
        """Note whether a server is idle, or has been stopped for it."""
        one = new or old
        if one is None:
            return set()
        meta, now = one.metadata, self._clock.steady()
        turned = self._turn(meta.namespace, meta.uid, idle_since(new) if new else "", now)
        stop = stop_of(new) if new else None
        tracks, prefix = self._tracks[meta.namespace], f"{meta.uid}@"
        for uid, track in tracks.items():
            if uid.startswith(prefix) and (stop is None or uid != stop.uid):
                track.there = False
                turned = track.end(now) or turned
        if new and stop and stop.uid not in tracks:
            line, pods, gpus = self._sources.stopped(new)
            changes = [(now, line)]
            tracks[stop.uid] = Track(line, stop.at, gpus, pods, changes=changes, stopped=True)
            turned = True
        return {meta.namespace} if turned else set()

    def flavor(self, name: str) -> set[str]:
        """Note a flavor's new price, or that it selects other nodes."""
        return self._priced(lambda track: bool(track.node) or track.line.flavor == name)

    def node(self, name: str) -> set[str]:
        """Note which flavors select a node."""
        return self._priced(lambda track: track.node == name)

    def _priced(self, concerns: Callable[[Track], bool]) -> set[str]:
        now, found = self._clock.steady(), set[str]()
        for namespace, tracks in self._tracks.items():
            for track in tracks.values():
                if track.ended is not None or not concerns(track):
                    continue
                line = self._sources.priced(track.last, track.node)
                if track.turn(line, now):
                    found.add(namespace)
                if track.node and not track.line.flavor:
                    # The node was not known yet when the pod was seen.
                    track.line = line
        return found

    def seen(self, namespace: str, timeline: Timeline) -> Mapping[str, Seen]:
        """Everything in a namespace, for the ledger."""
        idle = self._idle.get(namespace, {})
        tracks = self._tracks.get(namespace, {})
        return {
            uid: track.seen(timeline, idle.get(track.line.uid, ()) if track.line.uid else ())
            for uid, track in tracks.items()
        }

    def settled(self, namespace: str, book: Book, moment: float) -> None:
        """Forget what has been counted up to a moment of the monotonic clock.

        Prices and idle times are known for some time longer: another process, whose clock is
        behind, may have opened what is counted next.
        """
        moment -= REMEMBERED
        tracks = self._tracks.get(namespace, {})
        for uid, track in list(tracks.items()):
            track.done = track.done or uid in book.closed
            if track.done and not track.there:
                del tracks[uid]
            elif len(track.changes) > 1:
                done = [change for change in track.changes if change[0] <= moment]
                track.changes = [*done[-1:], *track.changes[len(done) :]]
        idle = self._idle.get(namespace, {})
        for server, spans in list(idle.items()):
            idle[server] = [(a, b) for a, b in spans if b is None or b > moment]
            if not idle[server]:
                del idle[server]
        for places in (self._tracks, self._idle):
            if not places.get(namespace):
                places.pop(namespace, None)

    def forget(self, namespace: str) -> None:
        """Forget a namespace that is being deleted."""
        self._tracks.pop(namespace, None)
        self._idle.pop(namespace, None)

    def _turn(self, namespace: str, server: str, since: str, now: float) -> bool:
        """Note since when a server is idle; returns whether it has become idle or active."""
        spans = self._idle[namespace].setdefault(server, [])
        is_idle = bool(spans) and spans[-1][1] is None
        began = from_text(since) if since else None
        if began and not is_idle:
            age = max(0.0, (self._clock.now() - began).total_seconds())
            spans.append((now - age, None))
        elif is_idle and not began:
            spans[-1] = spans[-1][0], now
        if not spans:
            del self._idle[namespace][server]
        return bool(began) != is_idle
