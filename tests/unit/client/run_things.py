"""Servers whose replicas are folders of this machine, with the program that looks after runs."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from devctl.client.runs import command, follow, place, runs
from devctl.client.runs.events import Outcome, Printed
from devctl.errors import ConnectionLostError
from devctl.kube.pod_streams import STDERR, STDOUT
from unit.client.objects import PODS, SERVERS, Thing, pod, server
from unit.devserver_files.conftest import make_container
from unit.patience import FOREVER, PATIENCE
from unit.threads import outlasting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pytest

    from devctl.client.runs.events import Event
    from devctl.client.runs.follow import Following
    from devctl.client.runs.record import Run
    from devctl.client.runs.runs import Runs
    from unit.client.fake_cluster import FakeApi
    from unit.devserver_files.conftest import Container

# Prints a word with its replica, and does what a replica is told to.
EACH = 'echo "begun $NODE_RANK"; case $NODE_RANK in 0) {0} ;; *) {1} ;; esac'
SLEEP = f"exec sleep {FOREVER}"


class Stream:
    """A program on this machine, as one in a pod is seen."""

    def __init__(
        self,
        argv: Sequence[str],
        env: dict[str, str],
        arrives: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._arrives = arrives
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env)
        self.lost = threading.Event()
        self._pieces: queue.Queue[tuple[int, bytes]] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._pump, args=(channel, pipe_), daemon=True)
            for channel, pipe_ in ((STDOUT, self.process.stdout), (STDERR, self.process.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def exit_code(self) -> int:
        code = self.process.wait(PATIENCE)
        return code if code >= 0 else 128 - code

    def read(self) -> Iterator[tuple[int, bytes]]:
        while True:
            if self.lost.is_set():
                raise ConnectionLostError("the connection was lost", "try again")
            try:
                piece = self._pieces.get(timeout=0.02)
            except queue.Empty:
                if self._pieces.empty() and not any(r.is_alive() for r in self._readers):
                    if self.lost.is_set():
                        continue
                    return
                continue
            yield piece

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close_stdin(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def close(self) -> None:
        """Hang up: the program's input ends, and whoever reads is told."""
        self.lost.set()
        if self.process.stdin:
            with suppress(OSError):
                self.process.stdin.close()

    def _pump(self, channel: int, pipe: Any) -> None:
        with pipe:
            if channel == STDOUT and self._arrives:
                self._pieces.put((channel, self._arrives(pipe.read())))
            while piece := pipe.read1(65536):
                self._pieces.put((channel, piece))


class Ranks:
    """A server that runs, with the folders that stand for its pods."""

    def __init__(self, api: FakeApi, root: Path, count: int = 2) -> None:
        self.api = api
        self.containers: dict[str, Container] = {}
        self.streams: list[Stream] = []
        self.calls: list[list[str]] = []
        self.broken: set[str] = set()
        """Pods that cannot be reached."""
        self.arrives: Callable[[bytes], bytes] | None = None
        """What arrives of an output that was printed; else all of it."""
        self.variables: dict[str, str] = {}
        """Variables of the server's."""
        self.changes: dict[str, str] = {}
        """Texts of the program that are replaced."""
        self.count = count
        self._before = threading.enumerate()
        api.add(SERVERS, server("lab", replicas=count))
        for ordinal in range(count):
            name = f"lab-{ordinal}"
            api.add(PODS, running(name))
            container = make_container(root / name, "dash")
            (container.root / "proc").rmdir()
            (container.root / "proc").symlink_to("/proc")
            self.containers[name] = container

    def open_exec(
        self, _cluster: object, pod: str, argv: Sequence[str], _namespace: str, *, stdin: bool
    ) -> Stream:
        """What takes the place of devctl.kube.pod_streams.open_exec."""
        assert stdin
        assert tuple(argv[:2]) == place.PROGRAM
        self.calls.append([pod, *argv[2:]])
        if pod in self.broken:
            raise ConnectionLostError(f"pod `{pod}` does not answer", "try again")
        container = self.containers[pod]
        # The person's own `os.environ` is not the server's.
        env = {"PATH": os.environ["PATH"], "WORLD_SIZE": str(self.count)}
        env |= {"NODE_RANK": pod.rpartition("-")[2]} | self.variables
        script = container.script("run", {"limit=100 ": "limit=6 "} | self.changes)
        words = [str(container.root / "sh"), str(script), *argv[2:]]
        stream = Stream(words, env, self.arrives if argv[2] in {"follow", "output"} else None)
        self.streams.append(stream)
        return stream

    def cut(self) -> None:
        """Every connection that there is breaks off."""
        for stream in self.streams:
            stream.close()

    def home(self, ordinal: int = 0) -> Path:
        return self.containers[f"lab-{ordinal}"].root / "home/dev"

    def end(self) -> None:
        """Leave nothing running: what ends a run on others may still be at it."""
        self.broken = set()
        for name, container in self.containers.items():
            for record in (container.root / "home/dev/.devctl/runs").glob("*/record"):
                with self.open_exec(
                    None, name, [*place.PROGRAM, "stop", record.parent.name], "", stdin=True
                ) as stream:
                    list(stream.read())
        self.cut()
        assert outlasting(self._before) == []


def running(name: str, uid: str | None = None, container: str = "c1") -> Thing:
    """A pod whose container runs."""
    found = pod(name)
    found["metadata"]["uid"] = uid or f"uid-{name}"
    found["status"]["containerStatuses"] = [
        {"name": "server", "containerID": container, "state": {"running": {}}}
    ]
    return found


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long."""
    for module, name, seconds in (
        (follow, "_RETRY", 0.02),
        (follow, "_POLL", 0.02),
        (follow, "LAST_WORDS", 0.1),
        (follow, "_TICK", 0.02),
        (follow, "GRACE", 0.3),
        (runs, "_RETRY", 0.02),
    ):
        monkeypatch.setattr(module, name, seconds)


def ranks(api: FakeApi, root: Path, monkeypatch: pytest.MonkeyPatch, count: int = 2) -> Ranks:
    """Such a server, which takes the place of all pods."""
    quick(monkeypatch)
    made = Ranks(api, root, count)
    monkeypatch.setattr(place, "open_exec", made.open_exec)
    torchrun = root / "torchrun-here"
    torchrun.write_text('[ "$1" = --no-python ] && shift || set -- python3 -u "$@"\nexec "$@"\n')
    monkeypatch.setattr(command, "TORCHRUN", ("/bin/sh", str(torchrun)))
    return made


def start(runs: Runs, first: str = "exit 0", other: str | None = None) -> Run:
    """A run whose first replica does this and whose others do that; else all the same."""
    line = EACH.format(first, first if other is None else other)
    return runs.start(runs.place("lab"), ["sh", "-c", line])


def seen(
    run: Run, events: Following, meanwhile: Callable[[Event], object] = lambda _event: None
) -> tuple[dict[int, bytes], Outcome, list[Event]]:
    """What each replica has printed, how the run has ended, and everything that was told."""
    outcome, told = Outcome(run.place, run.name), []
    printed: dict[int, bytes] = {}
    with events:
        for event in events:
            told.append(event)
            outcome.tell(event)
            if isinstance(event, Printed):
                printed[event.replica] = printed.get(event.replica, b"") + event.data
            meanwhile(event)
    return printed, outcome, told


def exit_code(outcome: Outcome) -> int:
    """The exit code of the replica that failed first; 0 if there is none."""
    error = outcome.error()
    return error.exit_code if error else 0
