"""A run on all its replicas at once, until it ends; lost connections are reestablished."""

from __future__ import annotations

import queue
import re
import threading
import time
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.api.labels import DEVSERVER
from devctl.client.runs.events import Ended, Lost, Noticed, Printed
from devctl.client.streams.pods import fate
from devctl.client.waiting import pod_changes
from devctl.errors import ConnectionLostError, DeniedError, DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.pod_streams import STDOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from devctl.client.runs.events import End, Event
    from devctl.client.runs.place import Place
    from devctl.kube.pod_streams import ExecStream

GRACE = 10.0
"""Seconds that the other replicas get to end by themselves after one has failed."""
PATIENCE = 120.0
"""Seconds for which a lost connection is retried."""
SILENCE = 30.0
"""Seconds without data after which a connection is considered lost: a running replica sends some
every ten."""
LAST_WORDS = 3.0
"""Seconds that the last output of a pod that is gone may take to arrive."""
_TICK = 0.5
_RETRY = 1.0
_POLL = 0.25
_WAITING = 256
"""Size of the queue of events; writers wait while it is full."""
MOST_SAID = 64 * 1024
"""Bytes of what a replica reports beside the output."""
_NO_ROOM = "there is no room in its home: free space there, or raise spec.persistentHomeSize"
_GONE = "its processes are gone, and how they ended is unknown"
_ENDED = re.compile(rb"^ended (\d{1,3}) (\d{1,12}\.\d\d?) (\d{1,12}\.\d\d?)$", re.MULTILINE)
_FROM = re.compile(rb"^from (\d{1,18})$", re.MULTILINE)
_SIZE = re.compile(rb"^size (\d{1,18})$", re.MULTILINE)


class Following(AbstractContextManager["Following"]):
    """The events of a run, until it has ended on all its replicas."""

    def __init__(
        self,
        place: Place,
        run: str,
        offsets: Mapping[int, int],
        end_others: Callable[[list[int]], object] | None = None,
    ) -> None:
        """Start to follow some replicas, each from a byte of its output on.

        `end_others` ends the run on some of them after another one has failed.
        """
        self._end_others = end_others
        self._queue: queue.Queue[Event | DevctlError] = queue.Queue(_WAITING)
        self._over = threading.Event()
        self._open = set(offsets)
        self._fates: dict[int, str] = {}
        self._failed_at: float | None = None
        self._readers = {
            replica: _Reader(place, run, replica, offset, self._put, self._fates)
            for replica, offset in offsets.items()
        }
        for reader in self._readers.values():
            threading.Thread(target=reader.run, daemon=True).start()
        threading.Thread(target=self._watch_pods, args=(place,), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        """Stop following; the run itself continues."""
        self._over.set()
        for reader in self._readers.values():
            reader.close()

    def __iter__(self) -> Iterator[Event]:
        """Everything that happens; raises DevctlError if the run cannot be followed any longer."""
        looked = time.monotonic()
        while self._open:
            if time.monotonic() - looked > _TICK:
                looked = time.monotonic()
                self._look_after()
            try:
                event = self._queue.get(timeout=_TICK)
            except queue.Empty:
                continue
            if isinstance(event, DevctlError):
                raise event
            if event.replica not in self._open and not isinstance(event, Noticed):
                continue
            if isinstance(event, Ended | Lost):
                self._open.discard(event.replica)
                if isinstance(event, Lost) or event.code:
                    self._failed_at = self._failed_at or time.monotonic()
            yield event

    def _look_after(self) -> None:
        """Give up silent connections, and end a run that has failed elsewhere."""
        for reader in self._readers.values():
            reader.wake()
        failed, end = self._failed_at, self._end_others
        if failed and end and self._open and time.monotonic() - failed > GRACE:
            self._end_others = None
            threading.Thread(target=end, args=(sorted(self._open),), daemon=True).start()

    def _watch_pods(self, place: Place) -> None:
        """Notice pods that are being stopped, or are gone."""
        replicas = {str(pod["metadata"]["name"]): replica for replica, pod in place.pods.items()}
        labels = {DEVSERVER: place.server}
        for name, now in pod_changes(place.cluster, replicas, labels, self._over.is_set):
            replica = replicas[name]
            reader = self._readers.get(replica)
            if why := fate(place.pods[replica], now):
                if reader and reader.gone_at is None:
                    self._fates[replica] = why
                    reader.gone_at = time.monotonic()
            elif now and "deletionTimestamp" in now["metadata"] and replica not in self._fates:
                self._fates[replica] = f"pod `{name}` is being stopped"
                self._put(Noticed(replica, self._fates[replica]))

    def _put(self, event: Event | DevctlError) -> None:
        while not self._over.is_set():
            with suppress(queue.Full):
                self._queue.put(event, timeout=_TICK)
                return


@dataclass
class _Reader:
    """Reads what one replica prints, from a byte on; a negative one counts from the end."""

    place: Place
    run_name: str
    replica: int
    offset: int
    tell: Callable[[Event | DevctlError], None]
    fates: Mapping[int, str]
    """What is known to have become of pods, by replica."""
    gone_at: float | None = None
    """When the pod was gone: only a moment is left for the rest of its output."""
    _stream: ExecStream | None = None
    _heard: float = field(default_factory=time.monotonic)
    _closed: threading.Event = field(default_factory=threading.Event)
    _warned: bool = False

    def run(self) -> None:
        """Read to the end, in a thread of its own."""
        try:
            self._run_on()
        except DevctlError as error:
            self.tell(error)
        except Exception as error:  # noqa: BLE001 - the reader of events would wait forever
            words = " ".join(f"{type(error).__name__}: {error}".split())
            self.tell(DevctlError(words, f"{self._still_active()}; report this"))

    def close(self) -> None:
        """Stop reading, from any thread."""
        self._closed.set()
        self._hang_up()

    def wake(self) -> None:
        """Give up a connection that has been silent for too long, from any thread."""
        now = time.monotonic()
        silent = now - self._heard > SILENCE
        if silent or (self.gone_at and now - self.gone_at > LAST_WORDS):
            self._heard = now
            self._hang_up()

    def _hang_up(self) -> None:
        stream = self._stream
        if stream is not None:
            with suppress(DevctlError, OSError):
                stream.close()

    def _run_on(self) -> None:
        failing_since: float | None = None
        while not self._closed.is_set():
            before = self.offset
            try:
                end = self._read()
            except DevctlError as error:
                if why := self._why():
                    self.tell(Lost(self.replica, why, time.monotonic()))
                    return
                if isinstance(error, NotFoundError):
                    raise
                if isinstance(error, DeniedError):
                    # Credentials may expire before the run ends.
                    fix = f"{error.fix}; {self._still_active()}"
                    raise DeniedError(error.message, fix) from error
                if failing_since is None or self.offset != before:
                    failing_since = time.monotonic()
                self._bear(error, time.monotonic() - failing_since)
                continue
            failing_since = None
            if end is not None:
                self.tell(self._explained(end))
                return

    def _bear(self, error: DevctlError, seconds: float) -> None:
        """Wait a moment, unless the connection has been lost for too long."""
        if seconds >= PATIENCE:
            who = self.place.called(self.replica)
            raise DevctlError(f"{who} cannot be reached: {error.message}", self._still_active())
        if seconds >= _RETRY and not self._warned:
            self._warned = True
            self.tell(Noticed(self.replica, f"{error.message}; trying again"))
        self._closed.wait(_RETRY)

    def _read(self) -> End | None:
        """Read one connection to its end; None if there is more to ask for.

        Standard output and error do not arrive in order.
        """
        said, held, before = b"", b"", self.offset
        self._heard = time.monotonic()
        with self.place.open(self.replica, "follow", self.run_name, str(self.offset)) as stream:
            self._stream = stream
            if self._closed.is_set():
                return None
            end: End | None = None
            for channel, data in stream.read():
                if channel == STDOUT:
                    held += data
                elif len(said) < MOST_SAID:
                    said += data
                    end = end or self._end(said)
                if self.offset < 0 and (match := _FROM.search(said)):
                    self.offset = int(match[1])
                if held and self.offset >= 0:
                    self.tell(Printed(self.replica, held))
                    self.offset += len(held)
                    held = b""
                self._heard = time.monotonic()
            code = stream.exit_code
        if end is not None:
            return self._whole(end, said, before)
        if b"more" in said.split(b"\n"):
            return None
        if b"error: " in said:
            raise self.place.failure(self.replica, code, said[said.index(b"error: ") :])
        # It was ended together with its pod, or with the connection.
        who = self.place.called(self.replica)
        raise ConnectionLostError(f"{who} has hung up", self._still_active())

    def _whole(self, end: End, said: bytes, before: int) -> End | None:
        """The end, once all output has arrived: some may get lost when a program ends."""
        if self.offset >= said_size(said):
            if b"full" in said.split(b"\n"):
                # What it printed about that did not fit either.
                self.tell(Noticed(self.replica, _NO_ROOM))
            return end
        if self.offset == before:
            raise ConnectionLostError("the end of the output is missing", self._still_active())
        return None

    def _end(self, said: bytes) -> End | None:
        now = time.monotonic()
        if match := _ENDED.search(said):
            ago = max(0.0, float(match[3]) - float(match[2]))
            return Ended(self.replica, int(match[1]), now - ago)
        return Lost(self.replica, "", now) if b"lost" in said.split(b"\n") else None

    def _explained(self, end: End) -> End:
        """The end, with what became of the pod if that is the reason."""
        if isinstance(end, Lost):
            until = time.monotonic() + LAST_WORDS
            # The kubelet reports a container's end a moment later.
            while not (why := self._why()) and time.monotonic() < until:
                self._closed.wait(_POLL)
            return Lost(self.replica, why or _GONE, end.at)
        if end.code and (why := self.fates.get(self.replica, "")):
            return Lost(self.replica, why, end.at)
        return end

    def _why(self) -> str:
        """What has become of the pod; empty if it is well, or that is unknown."""
        if found := self.fates.get(self.replica):
            return found
        before = self.place.pods[self.replica]
        try:
            now = self.place.cluster.find(resources.Pod, before["metadata"]["name"])
        except DevctlError:
            return ""
        return fate(before, now)

    def _still_active(self) -> str:
        again = f"`devctl attach {self.place.server} {self.run_name}` follows it again"
        return f"the run may still be active: {again}"


def said_size(said: bytes) -> int:
    """The size that a replica reports for its output; 0 if it does not."""
    match = _SIZE.search(said)
    return int(match[1]) if match else 0
