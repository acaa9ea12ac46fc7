from __future__ import annotations

import os
import selectors
import socket
import time
from typing import TYPE_CHECKING

import pytest
from devctl_runner.daemon.job import Job
from devctl_runner.daemon.pool import Pool
from devctl_runner.runs.request import Inputs, Run
from devctl_runner.runs.serve import DONE
from support.sockets import socket_disabled  # noqa: F401 - pytest looks for it here

from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Ended = list[tuple[Job, int]]


@pytest.fixture
def ended() -> Ended:
    """The ends of jobs that the pool reported."""
    return []


@pytest.fixture
def selector() -> Iterator[selectors.BaseSelector]:
    with selectors.DefaultSelector() as found:
        yield found


@pytest.fixture
def pool(selector: selectors.BaseSelector, ended: Ended) -> Iterator[Pool]:
    found = Pool(selector, lambda job, status: ended.append((job, status)))
    yield found
    found.close()


def job(tmp_path: Path, message: bytes = b"") -> Job:
    ours, _ = socket.socketpair()
    return Job(ours, message, Run(tmp_path, "1"), Inputs("", "", {}))


def turn(selector: selectors.BaseSelector, until: int, ended: Ended) -> None:
    """Handle events until this many jobs have ended."""
    deadline = time.monotonic() + PATIENCE
    while len(ended) < until:
        assert time.monotonic() < deadline
        for key, _ in selector.select(0.1):
            if selector.get_map().get(key.fd) is key:
                key.data()


def obey(channel: socket.socket) -> None:
    """Finish every job at once; exit with the status that a job requests."""
    while True:
        channel.send(DONE)
        message = channel.recv(100)
        if not message or message.isdigit():
            os._exit(int(message or 0))


def test_a_process_that_is_done_does_the_next_job(
    pool: Pool, selector: selectors.BaseSelector, ended: Ended, tmp_path: Path
) -> None:
    first, second, third = job(tmp_path), job(tmp_path, b"again"), job(tmp_path, b"7")
    assert not pool.hand_on(first)
    first.progress.add("playbook_on_stats")
    pool.fork(first, obey)
    turn(selector, 1, ended)

    assert pool.hand_on(second)
    assert (second.progress.posted, second.progress.finished) == (0, False)
    turn(selector, 2, ended)
    assert pool.hand_on(third)
    turn(selector, 3, ended)

    assert first.pid == second.pid == third.pid
    assert ended == [(first, 0), (second, 0), (third, 7)]
    assert not pool.hand_on(job(tmp_path))
    assert not selector.get_map()


def test_who_works_is_not_given_more(
    pool: Pool, selector: selectors.BaseSelector, ended: Ended, tmp_path: Path
) -> None:
    busy = job(tmp_path)
    pool.fork(busy, lambda channel: channel.recv(1))

    assert not pool.hand_on(job(tmp_path))

    os.kill(busy.pid, 9)
    turn(selector, 1, ended)
    assert ended == [(busy, -9)]


def test_a_process_that_died_while_it_was_free_is_no_ones_failure(
    pool: Pool, selector: selectors.BaseSelector, ended: Ended, tmp_path: Path
) -> None:
    first, second = job(tmp_path), job(tmp_path, b"again")
    pool.fork(first, obey)
    turn(selector, 1, ended)
    os.kill(first.pid, 9)
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)

    assert not pool.hand_on(second)

    pool.fork(second, obey)
    turn(selector, 2, ended)
    assert ended == [(first, 0), (second, 0)]
    assert second.pid != first.pid


def test_who_is_free_for_long_is_dismissed(
    pool: Pool, selector: selectors.BaseSelector, ended: Ended, tmp_path: Path
) -> None:
    first = job(tmp_path)
    pool.fork(first, obey)
    turn(selector, 1, ended)

    pool.dismiss_idle(60)
    assert len(selector.get_map()) == 2
    pool.dismiss_idle(0)

    assert not pool.hand_on(job(tmp_path))
    deadline = time.monotonic() + PATIENCE
    while selector.get_map():
        assert time.monotonic() < deadline
        for key, _ in selector.select(0.1):
            key.data()
    assert ended == [(first, 0)]
    with pytest.raises(ChildProcessError):
        os.waitpid(first.pid, 0)


def test_nobody_is_left_when_the_daemon_makes_room_for_the_next(
    pool: Pool, selector: selectors.BaseSelector, ended: Ended, tmp_path: Path
) -> None:
    first = job(tmp_path)
    pool.fork(first, obey)
    turn(selector, 1, ended)

    pool.close()

    assert not selector.get_map()
    with pytest.raises(ChildProcessError):
        os.waitpid(first.pid, 0)
