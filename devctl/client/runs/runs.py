"""Runs: commands on all replicas of a server that run whether or not anybody is connected."""

from __future__ import annotations

import re
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from devctl.client.objects import Collection
from devctl.client.runs.command import encoded, local_script, new_name
from devctl.client.runs.follow import MOST_SAID, Following, said_size
from devctl.client.runs.place import find_place
from devctl.client.runs.record import Record, Run, merged, parse
from devctl.client.waiting import OnEvery, on_every
from devctl.errors import (
    BusyError,
    ConnectionLostError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.kube.pod_streams import STDOUT
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from devctl.client.files.sync import Synced, SyncOptions
    from devctl.client.files.transfer import Progress
    from devctl.client.runs.command import Command
    from devctl.client.runs.place import Place

_PATIENCE = 20.0
"""Seconds to try to end a run on a replica that does not answer."""
_RETRY = 0.5


class Runs(Collection):
    """The runs of a server."""

    def place(self, server: str) -> Place:
        """Where runs of a server can be started; DevctlError unless all of it runs."""
        return find_place(self._cluster, server)

    def check_free(self, place: Place) -> None:
        """Raise BusyError if another run is active on replicas that train together."""
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
        """Start a command, without a shell, on all replicas of a server, or on none.

        `folder` is its working directory, absolute or relative to the home, and `imports` are
        subfolders to put before the server's PYTHONPATH. `name` consists of a-z, 0-9 and '-'; the
        default is a new one. `env` may hold secrets: no record, log or process list has them.

        Raises:
            BusyError: Another run is active on replicas that train together.
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

        def begin(replica: int) -> None:
            try:
                place.ask(replica, *words, send=b"".join(lines))
            except UsageError as error:
                if not lines:
                    raise
                restart = f"`devctl stop {place.server}` and `devctl start {place.server}`"
                older = f"a server that an older release has started needs {restart} first"
                raise UsageError(error.message, f"{error.fix}; {older}") from error

        first, *others = place.replicas
        # The first replica decides: otherwise two simultaneous runs might get some of them each.
        for number, replicas in enumerate(([first], others)):
            begun = OnEvery(replicas, begin)
            try:
                begun.results()
            except BaseException:
                # Even after Ctrl-C: requests that were sent still arrive.
                begun.wait(_PATIENCE)
                # Without an answer, a request may have succeeded all the same.
                unknown = ConnectionLostError | WaitTimeoutError
                refused = {k for k, e in begun.failed.items() if not isinstance(e, unknown)}
                asked = ([first] if number else []) + replicas
                left = [replica for replica in asked if replica not in refused]
                OnEvery(left, lambda replica: self._stop(place, name, replica)).wait(_PATIENCE)
                raise
        record = Record(name, "running", None, int(time.time()), folder, tuple(argv))
        return Run(place, name, dict.fromkeys(place.replicas, record))

    def launch(  # noqa: PLR0913 - each is a choice of the caller
        self,
        server: str,
        command: str | Command,
        arguments: Sequence[str] = (),
        *,
        name: str = "",
        env: Mapping[str, str] | None = None,
        max_restarts: int | None = None,
        options: SyncOptions | None = None,
        moved: Progress | None = None,
        sent: Callable[[Sequence[Synced]], object] = lambda _sent: None,
    ) -> Run:
        """Send a project to a server and run a command of it on every replica, like `devctl run`.

        `command` is the path of a script on this machine; or a module, another program or something
        on the server: see devctl.client.runs.command. `name` and `env` are those of `start`,
        `max_restarts` is torchrun's, `options` and `moved` are those of `client.files.push`. `sent`
        is called with what was sent, before the command starts.

        Raises:
            BusyError: Another run is active on replicas that train together; nothing was sent.
            DevctlError: The project could not be sent, or the command not be started.
        """
        if isinstance(command, str):
            command = local_script(command)
        place = self.place(server)
        argv = command.argv(arguments, distributed=place.distributed, restarts=max_restarts)
        # First, or files would change under an active training.
        self.check_free(place)
        if command.local:
            from devctl.client.files.files import Files  # noqa: PLC0415 - sends for some only

            files = Files(self._cluster)
            sent(files.push(server, command.local, command.folder, options=options, moved=moved))
        return self.start(
            place,
            argv,
            command.folder,
            name=name or new_name(command.name),
            env=env,
            imports=command.imports,
        )

    def list(self, server: str | Place) -> Sequence[Run]:
        """The runs on record, the latest first.

        All replicas of a Place have to answer; of a server given by name, those that do not are
        left out.
        """
        if not isinstance(server, str):
            return merged(server, on_every(server.replicas, lambda k: _recorded(server, k)))
        place = find_place(self._cluster, server, partly=True)
        asked = OnEvery(place.replicas, lambda replica: _recorded(place, replica))
        asked.wait()
        away = {k: e for k, e in asked.failed.items() if isinstance(e, DevctlError)}
        listed = asked.done if len(away) == len(asked.failed) and asked.done else asked.results()
        pods = {k: pod for k, pod in place.pods.items() if k not in away}
        return merged(place._replace(pods=pods, away={**place.away, **away}), listed)

    def find(self, server: str, name: str | None = None, *, running: bool = False) -> Run:
        """A run by its name, else an active one, else (unless `running`) the latest.

        NotFoundError if there is none, UsageError if `running` without a name fits several.
        """
        found = self.list(server)
        active = [run for run in found if run.state == "Running"]
        chosen = active or ([] if running else found)
        if name is not None:
            chosen = [run for run in found if run.name == name]
        elif running and len(active) > 1:
            raise UsageError(
                f"several runs are active on `{server}`: {', '.join(run.name for run in active)}",
                "name one of them",
            )
        if chosen:
            return chosen[0]
        see = f"see its runs with `devctl logs {server} --list`"
        if name is not None:
            partly = " on the replicas that answer" if found and found[0].place.away else ""
            raise NotFoundError(f"server `{server}` has no run `{readable(name)}`{partly}", see)
        if running:
            raise NotFoundError(f"no run is active on server `{server}`", see)
        raise NotFoundError(
            f"there has been no run on server `{server}`",
            f"start one with `devctl run {server} SCRIPT`",
        )

    def follow(
        self,
        run: Run,
        replicas: Iterable[int] | None = None,
        offsets: Mapping[int, int] | None = None,
        *,
        end_others: bool = False,
    ) -> Following:
        """The events of a run, on all or some of its replicas, until it has ended.

        Output starts at a replica's offset, which counts from the end if it is negative. With
        `end_others`, the run is ended on all replicas after one has failed.
        """
        begin = {k: (offsets or {}).get(k, 0) for k in replicas or sorted(run.records)}

        def end(left: Sequence[int]) -> None:
            # A replica that cannot be reached is given up by its reader.
            with suppress(DevctlError):
                self.stop(run, left)

        return Following(run.place, run.name, begin, end if end_others else None)

    def output(self, run: Run, replica: int, offset: int = 0) -> Iterator[bytes]:
        """What a replica has printed so far, from a byte on; raises DevctlError on failure."""
        size = None
        while size is None or offset < size:
            begun, said = offset, b""
            with run.place.open(replica, "output", run.name, str(offset)) as stream:
                for channel, data in stream.read():
                    if channel == STDOUT:
                        offset += len(data)
                        yield bytes(data)
                    else:
                        said = (said + data)[:MOST_SAID]
                code = stream.exit_code
            if code:
                raise run.place.failure(replica, code, said)
            # Only what there was at first: an active run would never be done.
            size = said_size(said) if size is None else size
            # Data in transit when the program ends may get lost.
            if begun == offset < size:
                raise ConnectionLostError(
                    f"the end of the output of {run.place.called(replica)} is missing",
                    "repeat the command",
                )

    def tail(self, run: Run, replica: int, lines: int) -> int:
        """The byte of a replica's output at which its last lines start."""
        # One more: the end of the last line is the start of another one, which may be empty.
        begins, at, whole = deque([0], maxlen=lines + 1), 0, True
        for piece in self.output(run, replica):
            begins.extend(at + found.end() for found in re.finditer(b"\n", piece))
            at, whole = at + len(piece), piece.endswith(b"\n")
        begun = list(begins)[0 if whole else -lines :]
        return begun[0] if lines else at

    def stop(self, run: Run, replicas: Iterable[int] | None = None) -> None:
        """End a run on its replicas; raises DevctlError where one does not answer or end."""
        chosen = sorted(run.records) if replicas is None else list(replicas)
        on_every(chosen, lambda replica: self._stop(run.place, run.name, replica))

    def _stop(self, place: Place, name: str, replica: int) -> None:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                # Without the pod, or the run in it, nothing is active.
                with suppress(NotFoundError):
                    place.ask(replica, "stop", name)
            except (ConnectionLostError, WaitTimeoutError) as error:
                if time.monotonic() >= until:
                    raise DevctlError(
                        f"{place.called(replica)} does not answer: run `{name}` may still be"
                        " active",
                        f"end it with `devctl stop-run {place.server} {name}`",
                    ) from error
                time.sleep(_RETRY)
            else:
                return


def _recorded(place: Place, replica: int) -> list[Record]:
    return parse(place.ask(replica, "list"))
