"""A session through an exec stream, the key that ssh knows it by, and the end of its pod."""

from __future__ import annotations

import os
import threading
import time
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client import waiting
from devctl.client.ssh import proxy
from devctl.client.ssh.proxy import PodLife, introduced
from devctl.client.ssh.ssh import Ssh
from devctl.errors import ConnectionLostError, DevctlError, NotFoundError
from unit.client.fake_streams import HOST_KEY, STDERR, STDOUT, FakeStream, runs, there
from unit.client.objects import PODS
from unit.patience import PATIENCE
from unit.threads import outlasting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.client.ssh.destination import Destination
    from unit.client.fake_cluster import FakeApi

EVICTED = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}
INTRODUCTION = f"{HOST_KEY} lab\n".encode()
GREETING = b"SSH-2.0-OpenSSH_10.0\r\n\0\n"
SESSION = f"{HOST_KEY} lab-0\n".encode() + GREETING
KILLED: dict[str, Any] = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_RETRY", 0.005)
    monkeypatch.setattr(proxy, "_POLL", 0.005)
    monkeypatch.setattr(proxy, "_PATIENCE", 0.05)
    monkeypatch.setattr(proxy, "_SETTLE", PATIENCE)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    found = os.pipe()
    yield found
    for each in found:
        os.close(each)


def session(
    api: FakeApi,
    stream: FakeStream,
    monkeypatch: pytest.MonkeyPatch,
    output: int,
    tell: Callable[[bytes], object] = bytes,
) -> int:
    monkeypatch.setattr(proxy, "open_exec", stream.open)
    destination = Ssh(api.cluster()).destination("lab")
    source, feeder = os.pipe()
    os.write(feeder, b"SSH-2.0-client\r\n")
    os.close(feeder)
    before = threading.enumerate()
    try:
        return proxy.connect(api.cluster(), destination, source=source, output=output, tell=tell)
    finally:
        # The command's threads end with its process. Here they would go on in other tests, and
        # with descriptors that are something else by then.
        api.refusals["GET", PODS] = (403, "the session is over")
        assert outlasting(before) == []
        os.close(source)


def test_sshd_gets_the_persons_key_and_ssh_the_servers(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int]
) -> None:
    there(api)
    stream = FakeStream(says=[(STDERR, b"hint"), (STDOUT, INTRODUCTION)], echoes=True)
    told: list[bytes] = []
    chosen = Ssh(api.cluster()).destination("lab")
    assert session(api, stream, monkeypatch, pipe[1], told.append) == 0
    [(pod, argv, namespace, how)] = stream.opened
    assert (pod, namespace, how) == ("lab-0", "dev-alice", {"stdin": True})
    public = chosen.identity.with_suffix(".pub").read_text().strip()
    assert argv == [*proxy.SSHD, public]
    assert chosen.known_hosts.read_text() == f"{chosen.alias} {HOST_KEY}\n"
    assert os.read(pipe[0], 100) == b"SSH-2.0-client\r\n"
    assert told == [b"hint"]


def test_a_server_that_is_not_there_is_told(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int]
) -> None:
    with pytest.raises(NotFoundError, match="no server `lab`"):
        session(api, FakeStream(), monkeypatch, pipe[1])


@pytest.mark.parametrize("code", [0, 1, 127, 255])
def test_the_end_of_a_session_is_sshds(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int], code: int
) -> None:
    there(api)
    stream = FakeStream(says=[(STDERR, b"error: no sshd")], code=code)
    assert session(api, stream, monkeypatch, pipe[1]) == code


def test_a_pod_that_is_deleted_ends_a_silent_session(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int]
) -> None:
    """Of a node that is gone no stream says anything: the API server does."""
    monkeypatch.setattr(proxy, "_SETTLE", 0.05)
    there(api)
    api.then = [lambda: api.drop(PODS, "lab-0")]
    stream = FakeStream(holds=True)
    with pytest.raises(DevctlError, match="pod `lab-0` was deleted") as raised:
        session(api, stream, monkeypatch, pipe[1])
    assert "devctl ssh lab" in raised.value.fix


@pytest.mark.parametrize("code", [137, 143, ConnectionLostError("lost", "again")])
def test_a_session_that_is_killed_says_why(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int], code: Any
) -> None:
    there(api)
    api.refusals["GET", PODS] = (500, "not now")

    def dies(*arguments: Any, **how: Any) -> FakeStream:
        api.get(PODS, "lab-0")["status"]["containerStatuses"][0]["state"] = KILLED
        return FakeStream(code=code).open(*arguments, **how)

    api.refusals.clear()
    stream = FakeStream()
    monkeypatch.setattr(stream, "open", dies)
    with pytest.raises(DevctlError, match="it ran out of memory"):
        session(api, stream, monkeypatch, pipe[1])


def test_a_lost_connection_to_a_pod_that_is_well_is_said_to_be_one(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int]
) -> None:
    there(api)
    lost = ConnectionLostError("the connection was lost", "again")
    with pytest.raises(ConnectionLostError, match="connection was lost"):
        session(api, FakeStream(code=lost), monkeypatch, pipe[1])


def test_a_server_that_is_stopped_says_so_meanwhile_and_afterwards(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int]
) -> None:
    there(api)
    told: list[bytes] = []
    stream = FakeStream(holds=True, code=143)
    goes = threading.Event()

    def stops() -> None:
        api.get(PODS, "lab-0")["metadata"]["deletionTimestamp"] = "now"

    def tell(data: bytes) -> None:
        told.append(data)
        stream.closed.set()
        goes.set()

    api.then = [stops]
    with pytest.raises(DevctlError, match="pod `lab-0` is being stopped") as raised:
        session(api, stream, monkeypatch, pipe[1], tell)
    assert "files are kept" in raised.value.fix
    assert goes.is_set()
    assert [b"being stopped" in each for each in told] == [True]


def test_what_the_pod_said_last_still_arrives(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int]
) -> None:
    there(api)
    api.add(PODS, runs())

    def dies(*arguments: Any, **how: Any) -> FakeStream:
        api.drop(PODS, "lab-0")
        return FakeStream(says=[(STDOUT, INTRODUCTION + b"last words")], code=137).open(
            *arguments, **how
        )

    stream = FakeStream()
    monkeypatch.setattr(stream, "open", dies)
    with pytest.raises(DevctlError, match="was deleted"):
        session(api, stream, monkeypatch, pipe[1])
    assert os.read(pipe[0], 100) == b"last words"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"metadata": {"uid": "other"}}, "was deleted and recreated"),
        ({"status": EVICTED}, "low on memory"),
        ({"status": {"phase": "Succeeded"}}, "no reason given"),
        (runs(container="c2"), "it was restarted"),
        (runs(**KILLED), "out of memory"),
        (runs(terminated={"exitCode": 7}), "exit code 7"),
        (runs(terminated={"exitCode": 1, "message": "no\nhome"}), "no home"),
    ],
)
def test_what_became_of_a_pod(api: FakeApi, change: dict[str, Any], said: str | None) -> None:
    there(api)
    before = api.get(PODS, "lab-0")
    now = before | {key: before[key] | value for key, value in change.items() if key != "spec"}
    found = PodLife(api.cluster(), before).fate(now)
    assert (found.message if found else None) == said or (found and said and said in found.message)


def test_a_watch_that_ends_is_begun_anew_and_one_that_is_lost_too(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(api)
    life = PodLife(api.cluster(), api.get(PODS, "lab-0"))
    pauses: list[float] = []

    def stumble() -> None:
        api.refusals["GET", PODS] = (500, "not now")

    def recover(pause: float) -> None:
        pauses.append(pause)
        if len(pauses) == 3:
            api.refusals.clear()
            api.drop(PODS, "lab-0")

    clock = SimpleNamespace(sleep=recover, monotonic=time.monotonic)
    monkeypatch.setattr(waiting, "time", clock)
    api.then = [stumble]
    fate = life.watch(lambda: None)
    assert fate
    assert "was deleted" in fate.message
    assert len(pauses) == 3
    # The right to list pods is not needed.
    assert "GET pods" not in api.requests
    assert "GET pods/lab-0" in api.requests


def test_who_may_not_watch_still_has_a_session(api: FakeApi) -> None:
    there(api)
    life = PodLife(api.cluster(), api.get(PODS, "lab-0"))
    api.refusals["GET", PODS] = (403, "pods is forbidden")
    assert life.watch(lambda: None) is None
    assert life.verdict(killed=True) is None


@pytest.fixture
def lab(api: FakeApi) -> Destination:
    return Ssh(api.cluster()).destination("lab")


def heard(lab: Destination, *chunks: bytes) -> bytes:
    """What ssh gets of a stream that arrives in pieces."""
    stream = FakeStream(says=[(STDOUT, chunk) for chunk in chunks])
    read = introduced(stream.read(), lab)
    return b"".join(data for channel, data in read if channel == STDOUT)


@given(cuts=st.lists(st.integers(0, len(SESSION)), max_size=5).map(sorted))
def test_a_line_in_any_pieces_is_taken_off(cuts: list[int]) -> None:
    seen: list[str] = []
    ends = [0, *cuts, len(SESSION)]
    chunks = [SESSION[a:b] for a, b in pairwise(ends)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("devctl.client.ssh.proxy.know", lambda _, key: seen.append(key))
        assert heard(cast("Destination", None), *chunks) == GREETING
    assert seen == [HOST_KEY]


def test_ssh_knows_a_replica_by_its_last_key_and_no_other(lab: Destination) -> None:
    heard(lab, SESSION)
    assert lab.known_hosts.read_text() == f"{lab.alias} {HOST_KEY}\n"
    before = lab.known_hosts.stat()
    heard(lab, SESSION)
    assert lab.known_hosts.stat() == before
    other = "ssh-ed25519 " + "B" * 68
    heard(lab, f"{other}\r\n".encode())
    assert lab.known_hosts.read_text() == f"{lab.alias} {other}\n"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"x",
        b"SSH-2.0-x",
        b"ssh-rsa AAAA",
        b"* " + SESSION[:80],
        b"x" * 2000,
    ],
)
def test_whatever_is_not_a_key_ends_the_session(lab: Destination, line: bytes) -> None:
    with pytest.raises(DevctlError, match="has not told its SSH host key"):
        heard(lab, line + b"\n", GREETING)
    assert not lab.known_hosts.exists()


def test_what_sshd_says_before_it_fails_is_told(lab: Destination) -> None:
    stream = FakeStream(says=[(STDERR, b"error: no sshd")])
    assert list(introduced(stream.read(), lab)) == [(STDERR, b"error: no sshd")]
