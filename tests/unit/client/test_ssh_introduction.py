"""The first line of a session's stream, by which ssh knows the server."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.ssh.introduction import IntroducedStream
from devctl.client.ssh.ssh import Ssh
from devctl.errors import DevctlError
from unit.client.fake_streams import HOST_KEY, STDERR, STDOUT, FakeStream

if TYPE_CHECKING:
    from devctl.client.ssh.destination import Destination
    from devctl.kube.pod_streams import ExecStream
    from unit.client.fake_cluster import FakeApi

GREETING = b"SSH-2.0-OpenSSH_10.0\r\n\0\n"
SESSION = f"{HOST_KEY} lab-0\n".encode() + GREETING


@pytest.fixture
def lab(api: FakeApi) -> Destination:
    return Ssh(api.cluster()).destination("lab")


def heard(lab: Destination, *chunks: bytes) -> bytes:
    """What ssh gets of a stream that arrives in pieces."""
    stream = FakeStream(says=[(STDOUT, chunk) for chunk in chunks])
    read = IntroducedStream(cast("ExecStream", stream), lab).read()
    return b"".join(data for channel, data in read if channel == STDOUT)


@given(cuts=st.lists(st.integers(0, len(SESSION)), max_size=5).map(sorted))
def test_a_line_in_any_pieces_is_taken_off(cuts: list[int]) -> None:
    seen: list[str] = []
    ends = [0, *cuts, len(SESSION)]
    chunks = [SESSION[a:b] for a, b in pairwise(ends)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("devctl.client.ssh.introduction.know", lambda _, key: seen.append(key))
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
    stream = FakeStream(says=[(STDERR, b"error: no sshd")], code=127)
    introduced = IntroducedStream(cast("ExecStream", stream), lab)
    assert list(introduced.read()) == [(STDERR, b"error: no sshd")]
    assert introduced.exit_code == 127
