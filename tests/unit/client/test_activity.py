"""What a stop would end."""

from __future__ import annotations

import doctest
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from devctl.client import activity as module
from devctl.client.activity import activity
from devctl.client.server import Server
from devctl.errors import DevctlError
from unit.client.objects import server

COMMANDS = ["sshd-session: dev [priv]", "/usr/sbin/sshd -i", "tmux: server", "python train.py"]


def client(runs: Any, samples: Any) -> Any:
    """A client of which these two parts are asked."""
    return SimpleNamespace(runs=SimpleNamespace(list=runs), monitor=SimpleNamespace(watch=samples))


def runs(_server: str) -> list[Any]:
    return [
        SimpleNamespace(name="train-1", state="Running"),
        SimpleNamespace(name="train-0", state="Failed"),
    ]


def samples(_server: str) -> Any:
    used = SimpleNamespace(processes=[SimpleNamespace(command=command) for command in COMMANDS])
    return iter([[SimpleNamespace(usage=used), SimpleNamespace(usage=None)]])


def refuses(_server: str) -> Any:
    raise DevctlError("no pod answers")


def hangs(_server: str) -> Any:
    threading.Event().wait()


LAB = Server(server("lab"))


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("listed", "looked", "found"),
    [
        (runs, samples, ["run train-1", "2 SSH sessions", "1 tmux session"]),
        (refuses, samples, ["2 SSH sessions", "1 tmux session"]),
        (runs, refuses, ["run train-1"]),
        (runs, hangs, ["run train-1"]),
        (hangs, samples, []),
    ],
)
def test_runs_and_sessions_are_named_as_far_as_they_are_known(
    listed: Any, looked: Any, found: list[str]
) -> None:
    assert activity(client(listed, looked), LAB, 0.5) == found


def test_a_server_that_is_not_ready_is_not_asked() -> None:
    assert activity(client(hangs, hangs), Server(server("lab", "Failed"))) == []
