"""Runs: commands on all ranks of a server that go on without whoever started them."""

from __future__ import annotations

import re
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from devctl.client.ranks import OnEvery, on_every
from devctl.client.runs.command import new_name
from devctl.client.runs.follow import Following
from devctl.client.runs.place import find_place
from devctl.client.runs.rank import said_size
from devctl.client.runs.record import Record, Run, merged, parse
from devctl.client.runs.variables import encoded
from devctl.errors import (
    BusyError,
    ConnectionLostError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.kube.exec_stream import STDOUT
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from devctl.client.runs.place import Place
    from devctl.kube.cluster import Cluster

_PATIENCE = 20.0
"""Seconds for which is tried to end a run on a rank that does not answer."""
_RETRY = 0.5
_MOST_SAID = 64 * 1024


class Runs:
    """The runs of a server.

    place = client.runs.place("lab")
    run = client.runs.start(place, ["python", "-u", "train.py"], folder="project")
    with client.runs.follow(run) as events:
        for event in events:
            ...
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def place(self, server: str) -> Place:
        """Where runs of a server can be started; all of it has to run.

        Raises:
            NotFoundError: There is no such server.
            DevctlError: It does not run now.
        """
        return find_place(self._cluster, server)

    def check_free(self, place: Place) -> None:
        """See that a run could start now; for whoever prepares one.

        Raises:
            BusyError: Another run goes on on ranks that train together.
        """
        if place.processes == 1:
            return
        for run in self.list(place):
            if run.state == "Running":
                raise BusyError(
                    f"run `{run.name}` is active on `{place.server}`, which takes one at a time;"
                    " nothing was sent",
                    f"end it with `devctl stop-run {place.server} {run.name}`, or wait for it",
                )

    def start(  # noqa: PLR0913 - each is a choice of the caller
        self,
        place: Place,
        argv: Sequence[str],
        folder: str = ".",
        *,
        name: str = "",
        env: Mapping[str, str] | None = None,
        imports: Sequence[str] = (),
    ) -> Run:
        """Start a command on all ranks of a server; on all, or on none.

        Args:
            place: Where.
            argv: The command and its arguments; no shell takes them apart.
            folder: Where it runs; one that is not absolute is in the home.
            name: What the run is called, of a-z, 0-9 and '-'; else something new.
            env: Variables that it gets besides the server's own. They may be secrets: no record,
                log or process's arguments have them.
            imports: Folders below its own that go before what the server has as PYTHONPATH.

        Raises:
            BusyError: Another run goes on on ranks that train together.
            DevctlError: It could not be started.
        """
        if not argv:
            raise UsageError("there is nothing to run", "name a command")
        if any("\0" in word for word in (*argv, folder)):
            raise UsageError("a word of the command holds a NUL", "leave it out")
        name = name or new_name(argv[0])
        lines = encoded(env or {}, imports)
        words = ["begin", str(len(lines))] if lines else ["start"]
        words += [name, folder, *argv]

        def begin(rank: int) -> None:
            try:
                place.ask(rank, *words, send=b"".join(lines))
            except UsageError as error:
                if not lines:
                    raise
                restart = f"`devctl stop {place.server}` and `devctl start {place.server}`"
                older = f"a server that an older release has started needs {restart} first"
                raise UsageError(error.message, f"{error.fix}; {older}") from error

        first, *others = place.ranks
        # Whoever has the first rank has them all: of two at once each might have one otherwise.
        for number, ranks in enumerate(([first], others)):
            begun = OnEvery(ranks, begin)
            try:
                begun.results()
            except BaseException:
                # Also where a person has pressed Ctrl-C: what is on its way arrives first.
                begun.wait(_PATIENCE)
                refused = {rank for rank, e in begun.failed.items() if not _unknown(e)}
                there = [
                    rank for rank in ([first] if number else []) + ranks if rank not in refused
                ]
                OnEvery(there, lambda rank: self._stop(place, name, rank)).wait(_PATIENCE)
                raise
        record = Record(name, "running", None, int(time.time()), folder, tuple(argv))
        return Run(place, name, dict.fromkeys(place.ranks, record))

    def list(self, server: str | Place) -> Sequence[Run]:
        """The runs that a server's ranks have on record, the latest first.

        Args:
            server: Its name, where ranks that are not there do no harm; or a place, all of whose
                ranks have to answer.
        """
        if not isinstance(server, str):
            return merged(server, on_every(server.ranks, lambda rank: _recorded(server, rank)))
        place = find_place(self._cluster, server, partly=True)
        asked = OnEvery(place.ranks, lambda rank: _recorded(place, rank))
        asked.wait()
        away = {rank: e for rank, e in asked.failed.items() if isinstance(e, DevctlError)}
        listed = asked.done if len(away) == len(asked.failed) and asked.done else asked.results()
        return merged(place.without(away), listed)

    def find(self, server: str, name: str | None = None, *, running: bool = False) -> Run:
        """One run: that of a name, else the latest.

        Args:
            server: Whose.
            name: Which.
            running: Whether only one that goes on will do.

        Raises:
            NotFoundError: There is none.
            UsageError: Several go on, and none was named.
        """
        found = self.list(server)
        if name is not None:
            for run in found:
                if run.name == name:
                    return run
            place = found[0].place if found else None
            there = " on the ranks that are there" if place and place.away else ""
            raise NotFoundError(
                f"server `{server}` has no run `{readable(name)}`{there}",
                f"see its runs with `devctl logs {server} --list`",
            )
        going = [run for run in found if run.state == "Running"]
        if running and len(going) > 1:
            raise UsageError(
                f"several runs are active on `{server}`: {', '.join(run.name for run in going)}",
                "name one of them",
            )
        if chosen := going or ([] if running else found):
            return chosen[0]
        raise NotFoundError(
            f"{'no run is active' if running else 'there has been no run'} on server `{server}`",
            f"see its runs with `devctl logs {server} --list`"
            if running
            else f"start one with `devctl run {server} SCRIPT`",
        )

    def follow(
        self,
        run: Run,
        ranks: Iterable[int] | None = None,
        offsets: Mapping[int, int] | None = None,
        *,
        end_others: bool = False,
    ) -> Following:
        """What a run prints and what becomes of it, until it has ended.

        Args:
            run: Which.
            ranks: Only these of its ranks.
            offsets: From which byte of a rank's output on; a negative one counts from the end; else
                from the first.
            end_others: Whether the others are ended when a rank has failed and they go on.
        """
        begin = {rank: (offsets or {}).get(rank, 0) for rank in ranks or sorted(run.records)}

        def end(left: Sequence[int]) -> None:
            # Whoever cannot be reached is given up by who reads it.
            with suppress(DevctlError):
                self.stop(run, left)

        return Following(run.place, run.name, begin, end if end_others else None)

    def output(self, run: Run, rank: int, offset: int = 0) -> Iterator[bytes]:
        """What a run has printed so far on one of its ranks, piece by piece.

        Args:
            run: Which.
            rank: Which of its ranks.
            offset: The byte to begin with.

        Raises:
            DevctlError: It cannot be had.
        """
        size = None
        while size is None or offset < size:
            begun, said = offset, b""
            with run.place.open(rank, "output", run.name, str(offset)) as stream:
                for channel, data in stream.read():
                    if channel == STDOUT:
                        offset += len(data)
                        yield bytes(data)
                    else:
                        said = (said + data)[:_MOST_SAID]
                code = stream.exit_code
            if code:
                raise run.place.failure(rank, code, said)
            # As much as there was at first: whoever prints on would never be done.
            size = said_size(said) if size is None else size
            # What was still on its way when the program ended does not always arrive.
            if begun == offset < size:
                raise ConnectionLostError(
                    f"the end of what {run.place.called(rank)} has printed does not come",
                    "repeat the command",
                )

    def tail(self, run: Run, rank: int, lines: int) -> int:
        """The byte of a rank's output at which its last lines begin."""
        # One more: where a line ends the next one begins, which may not be there yet.
        begins, at, whole = deque([0], maxlen=lines + 1), 0, True
        for piece in self.output(run, rank):
            begins.extend(at + found.end() for found in re.finditer(b"\n", piece))
            at, whole = at + len(piece), piece.endswith(b"\n")
        begun = list(begins)
        if whole:
            return begun[0] if lines else at
        return begun[-lines] if 0 < lines <= len(begun) else (begun[0] if lines else at)

    def stop(self, run: Run, ranks: Iterable[int] | None = None) -> None:
        """End a run and all that it has started, on all its ranks; one that has ended stays so.

        Raises:
            DevctlError: A rank could not be reached, or its processes do not end.
        """
        chosen = sorted(run.records) if ranks is None else list(ranks)
        on_every(chosen, lambda rank: self._stop(run.place, run.name, rank))

    def _stop(self, place: Place, name: str, rank: int) -> None:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                place.ask(rank, "stop", name)
            except NotFoundError:
                # No pod, or no such run in it: there is nothing that could go on.
                return
            except (ConnectionLostError, WaitTimeoutError) as error:
                if time.monotonic() >= until:
                    raise DevctlError(
                        f"{place.called(rank)} does not answer: run `{name}` may still be active",
                        f"end it with `devctl stop-run {place.server} {name}`",
                    ) from error
                time.sleep(_RETRY)
            else:
                return


def _recorded(place: Place, rank: int) -> list[Record]:
    return parse(place.ask(rank, "list"))


def _unknown(error: Exception) -> bool:
    """Whether it is not known if what was asked for has been done."""
    return isinstance(error, ConnectionLostError | WaitTimeoutError)
