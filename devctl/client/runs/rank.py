"""One rank of a run, read to its end whatever becomes of the connection."""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from devctl.client.runs.events import Ended, Lost, Noticed, Printed
from devctl.client.streams.pods import fate
from devctl.errors import ConnectionLostError, DeniedError, DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.exec_stream import STDOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.client.runs.events import End, Event
    from devctl.client.runs.place import Place
    from devctl.kube.exec_stream import ExecStream

PATIENCE = 120.0
"""Seconds for which a lost connection is tried again."""
SILENCE = 30.0
"""Seconds without a word after which a connection is taken for lost: a rank that goes on says so
every ten."""
LAST_WORDS = 3.0
"""Seconds that a rank has whose pod is gone to say what is still on its way."""
_RETRY = 1.0
_POLL = 0.25
_MOST_SAID = 64 * 1024
_NO_ROOM = "there is no room in its home: free space there, or raise spec.persistentHomeSize"
_GONE = "its processes are gone, and nobody knows how they ended"
_ENDED = re.compile(rb"^ended (\d{1,3}) (\d{1,12}\.\d\d?) (\d{1,12}\.\d\d?)$", re.MULTILINE)
_LOST = re.compile(rb"^lost$", re.MULTILINE)
_FULL = re.compile(rb"^full$", re.MULTILINE)
_FROM = re.compile(rb"^from (\d{1,18})$", re.MULTILINE)
_MORE = re.compile(rb"^more$", re.MULTILINE)
_SIZE = re.compile(rb"^size (\d{1,18})$", re.MULTILINE)


class RankReader:
    """Reads what one rank of a run prints."""

    def __init__(  # noqa: PLR0913, PLR0917 - what, where and whom to tell
        self,
        place: Place,
        run: str,
        rank: int,
        offset: int,
        tell: Callable[[Event | DevctlError], None],
        verdict: Callable[[int], str],
    ) -> None:
        """Read nothing yet.

        Args:
            place: Where the run is.
            run: Its name.
            rank: Which rank.
            offset: The byte of its output to begin with; a negative one counts from the end.
            tell: Told everything; waits while nobody takes it.
            verdict: What is known to have become of a rank's pod; empty where it is well.
        """
        self._place, self._run, self._rank = place, run, rank
        self._offset = offset
        self._tell, self._verdict = tell, verdict
        self._stream: ExecStream | None = None
        self._heard = time.monotonic()
        self._gone_at: float | None = None
        self._closed = threading.Event()
        self._warned = False

    def run(self) -> None:
        """Read to the end; for a thread of its own."""
        try:
            self._run_on()
        except DevctlError as error:
            self._tell(error)
        except Exception as error:  # noqa: BLE001 - whoever waits would wait for ever
            words = " ".join(f"{type(error).__name__}: {error}".split())
            self._tell(DevctlError(words, f"{self._goes_on()}; report this"))

    def close(self) -> None:
        """Read no longer; from any thread."""
        self._closed.set()
        self._hang_up()

    def gone(self) -> None:
        """The rank's pod is no more: what it still says is waited for a moment."""
        self._gone_at = time.monotonic()

    def wake(self) -> None:
        """Give a connection up of which nothing has been heard for too long; from any thread."""
        now = time.monotonic()
        silent = now - self._heard > SILENCE
        if silent or (self._gone_at and now - self._gone_at > LAST_WORDS):
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
            before = self._offset
            try:
                end = self._read()
            except DevctlError as error:
                if why := self._why():
                    self._tell(Lost(self._rank, why, time.monotonic()))
                    return
                if isinstance(error, NotFoundError):
                    raise
                if isinstance(error, DeniedError):
                    # Credentials may end before the run does.
                    raise DeniedError(error.message, f"{error.fix}; {self._goes_on()}") from error
                now = time.monotonic()
                came = self._offset != before or failing_since is None
                failing_since = now if came else failing_since
                self._bear(error, now - (failing_since or now))
                continue
            failing_since = None
            if end is not None:
                self._finish(end)
                return

    def _bear(self, error: DevctlError, seconds: float) -> None:
        """Wait a moment, unless a connection has been lost for too long.

        Raises:
            DevctlError: It has.
        """
        if seconds >= PATIENCE:
            who = self._place.called(self._rank)
            raise DevctlError(f"{who} cannot be reached: {error.message}", self._goes_on())
        if seconds >= _RETRY and not self._warned:
            self._warned = True
            self._tell(Noticed(self._rank, f"{error.message}; trying again"))
        self._closed.wait(_RETRY)

    def _read(self) -> End | None:
        """Read what one connection brings, to its end: the two outputs do not come in order.

        Returns:
            How the rank has ended; None where it is to be asked for the rest.

        Raises:
            DevctlError: The connection is lost.
        """
        said, held, before = b"", b"", self._offset
        self._heard = time.monotonic()
        with self._place.open(self._rank, "follow", self._run, str(self._offset)) as stream:
            self._stream = stream
            if self._closed.is_set():
                return None
            end: End | None = None
            for channel, data in stream.read():
                if channel == STDOUT:
                    held += data
                elif len(said) < _MOST_SAID:
                    said += data
                    end = end or self._end(said)
                if self._offset < 0 and (match := _FROM.search(said)):
                    self._offset = int(match[1])
                if held and self._offset >= 0:
                    self._tell(Printed(self._rank, held))
                    self._offset += len(held)
                    held = b""
                self._heard = time.monotonic()
            code = stream.exit_code
        if end is not None:
            return self._whole(end, said, before)
        if _MORE.search(said):
            return None
        if b"error: " in said:
            raise self._place.failure(self._rank, code, said[said.index(b"error: ") :])
        # It was ended together with all else there, or with the connection.
        raise ConnectionLostError(f"{self._place.called(self._rank)} has hung up", self._goes_on())

    def _whole(self, end: End, said: bytes, before: int) -> End | None:
        """The end, once all has come: what is on its way when a program ends may get lost.

        Raises:
            ConnectionLostError: Nothing more comes.
        """
        if self._offset >= said_size(said):
            if _FULL.search(said):
                # What it has printed of that had no room either.
                self._tell(Noticed(self._rank, _NO_ROOM))
            return end
        if self._offset == before:
            raise ConnectionLostError("the end of the output does not come", self._goes_on())
        return None

    def _end(self, said: bytes) -> End | None:
        """How the rank has ended, if it says so."""
        now = time.monotonic()
        if match := _ENDED.search(said):
            ago = max(0.0, float(match[3]) - float(match[2]))
            return Ended(self._rank, int(match[1]), now - ago)
        return Lost(self._rank, "", now) if _LOST.search(said) else None

    def _finish(self, end: End) -> None:
        if isinstance(end, Lost):
            until = time.monotonic() + LAST_WORDS
            # The kubelet tells of a container's end a moment later.
            while not (why := self._why()) and time.monotonic() < until:
                self._closed.wait(_POLL)
            end = Lost(self._rank, why or _GONE, end.at)
        elif end.code and (why := self._verdict(self._rank)):
            # It was told to end, together with its pod.
            end = Lost(self._rank, why, end.at)
        self._tell(end)

    def _why(self) -> str:
        """What has become of the pod; empty where it is well, or nobody knows."""
        if found := self._verdict(self._rank):
            return found
        before = self._place.pods[self._rank]
        meta = before["metadata"]
        try:
            return fate(
                before, self._place.cluster.get(resources.Pod, meta["name"], meta["namespace"])
            )
        except NotFoundError:
            return fate(before, None)
        except DevctlError:
            return ""

    def _goes_on(self) -> str:
        return (
            f"the run may still be active: `devctl attach {self._place.server} {self._run}` follows"
            " it again"
        )


def said_size(said: bytes) -> int:
    """How many bytes a rank says that its output has; 0 where it says nothing of it."""
    match = _SIZE.search(said)
    return int(match[1]) if match else 0
