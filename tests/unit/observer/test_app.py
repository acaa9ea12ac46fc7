"""The process: its settings, its HTTP responses, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer import app, probes
from devctl_observer.app import Settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POD_NAME", "POD_NAMESPACE", "DEVCTL_PROBES_PORT"):
        monkeypatch.delenv(name, raising=False)
    plain = Settings.from_environment()
    assert (plain.namespace, plain.port) == ("devctl-system", 6790)
    assert "_" not in plain.identity
    monkeypatch.setenv("POD_NAME", "pod-7")
    monkeypatch.setenv("POD_NAMESPACE", "ns")
    monkeypatch.setenv("DEVCTL_PROBES_PORT", "1")
    found = Settings.from_environment()
    assert (found.namespace, found.port) == ("ns", 1)
    assert found.identity.startswith("pod-7_")
    # A restarted container in the same pod is another candidate.
    assert found.identity != Settings.from_environment().identity


def test_a_process_may_have_one_kind_and_a_lease_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = Settings.from_environment()
    assert (plain.alone, plain.lease) == ("", "devctl-observer")
    monkeypatch.setenv("DEVCTL_OBSERVER_KIND", "node_cache")
    monkeypatch.setenv("DEVCTL_OBSERVER_LEASE", "canhazgpu-controller")
    found = Settings.from_environment()
    assert (found.alone, found.lease) == ("node_cache", "canhazgpu-controller")
    monkeypatch.setenv("DEVCTL_OBSERVER_KIND", "servers")
    with pytest.raises(ValueError, match="set it to `node_cache`"):
        Settings.from_environment()


class FakeWriter:
    """The writer of a connection."""

    def __init__(self, *, broken: bool = False) -> None:
        self.written, self.closed, self.broken = b"", False, broken

    def write(self, data: bytes) -> None:
        if self.broken:
            raise OSError("reset")
        self.written += data

    async def drain(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class FakeListener:
    """Passes prepared connections to the handler, instead of a socket."""

    def __init__(self, requests: list[tuple[bytes, FakeWriter]]) -> None:
        self.requests = requests
        self.answer: Callable[[Any, Any], Awaitable[None]]

    async def start(self, answer: Any, **_options: Any) -> FakeListener:
        self.answer = answer
        return self

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_error: object) -> None:
        pass

    async def serve_forever(self) -> None:
        for request, writer in self.requests:
            reader = asyncio.StreamReader(limit=64)
            reader.feed_data(request)
            reader.feed_eof()
            await self.answer(reader, writer)


def test_each_connection_is_answered_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    good, long, gone = FakeWriter(), FakeWriter(), FakeWriter(broken=True)
    line = b"GET /healthz HTTP/1.1\r\n"
    listener = FakeListener([(line, good), (b"x" * 1000, long), (line, gone)])
    monkeypatch.setattr(asyncio, "start_server", listener.start)
    asyncio.run(probes.serve(0, list))
    assert good.written.startswith(b"HTTP/1.1 200 OK")
    assert long.written == b""
    assert good.closed
    assert long.closed
    assert gone.closed


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of a process, in order; its observer fails if OBSERVER_FAILS is set."""
    done: list[str] = []

    class FakeElection:
        def __init__(self, *_: object) -> None:
            pass

        async def win(self) -> None:
            done.append("win")

        async def hold(self) -> None:
            await asyncio.Event().wait()

        async def release(self) -> None:
            done.append("release")

        def leads(self) -> bool:
            return True

    class FakeObserver:
        def __init__(self, *_: object) -> None:
            pass

        async def run(self) -> None:
            done.append("observe")
            if os.environ.get("OBSERVER_FAILS"):
                raise RuntimeError("broken")
            signal.raise_signal(signal.SIGTERM)
            await asyncio.Event().wait()

    async def serve(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(app, "AsyncClient", lambda **_: None)
    monkeypatch.setattr(app, "ClusterApi", lambda *_: None)
    monkeypatch.setattr(app, "Election", FakeElection)
    monkeypatch.setattr(app, "Observer", FakeObserver)
    monkeypatch.setattr(app, "serve", serve)
    return done


def test_a_signal_ends_it_well_and_frees_the_lease(steps: list[str]) -> None:
    app.main()
    assert steps == ["win", "observe", "release"]


def test_an_error_ends_it_and_frees_the_lease(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBSERVER_FAILS", "yes")
    with pytest.raises(ExceptionGroup) as caught:
        app.main()
    assert caught.group_contains(RuntimeError, match="broken")
    assert steps == ["win", "observe", "release"]
