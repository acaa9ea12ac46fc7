"""A run from the daemon's side, and what the daemon and a client say to each other."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl_runner import paths
from devctl_runner.events import Progress
from devctl_runner.protocol import Inputs, Run, UnsupportedError, parse, read_inputs

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

UNABLE = 250
"""Exit status of a run that failed before its first event, through no fault of the role's."""

INCOMPATIBLE = "incompatible"
"""Why every run goes to the stock runner where Ansible could not be warmed up."""

_OUTPUT_CHARACTERS = 20_000


@dataclass(eq=False)
class Job:
    """A run that waits or goes on."""

    client: socket.socket
    message: bytes
    run: Run
    inputs: Inputs
    since: float = field(default_factory=time.monotonic)
    pid: int = 0
    deadline: float = float("inf")
    progress: Progress = field(default_factory=Progress)
    result: str = ""
    status: int = 0


def read(client: socket.socket, own: Mapping[str, str], *, warm: bool) -> Job | None:
    """The run that a client asks for; none if it is refused, which the client then knows.

    Args:
        client: Its message is there to be read.
        own: The environment that the daemon began with.
        warm: Whether any run can be done.
    """
    try:
        message = client.recv(paths.MESSAGE_BYTES)
        if not warm:
            answer(client, f"fallback {INCOMPATIBLE}")
            return None
        run, inputs = understand(message, own)
        client.send(paths.ACCEPTED)
    except UnsupportedError as error:
        answer(client, f"fallback {error}")
    except (OSError, ValueError, IndexError):
        answer(client, "fallback unreadable")
    else:
        return Job(client, message, run, inputs)
    return None


def understand(message: bytes, own: Mapping[str, str]) -> tuple[Run, Inputs]:
    """What a client asks for.

    Raises:
        UnsupportedError: The stock runner has to do it.
        ValueError: The message is not one of client.request's.
        IndexError: Likewise.
        OSError: The run's folder cannot be read.
    """
    argv, cwd, environment = split(message)
    run = parse(argv, cwd)
    return run, read_inputs(run, environment, own)


def split(message: bytes) -> tuple[list[str], str, dict[str, str]]:
    """Arguments, folder and environment of a client.

    Raises:
        ValueError: The message is not one of client.request's.
        IndexError: Likewise.
    """
    count, *words = [os.fsdecode(word) for word in message.split(b"\0")]
    number = int(count)
    pairs = (word.partition("=") for word in words[number + 1 :])
    return words[:number], words[number], {name: value for name, _, value in pairs}


def answer(client: socket.socket, message: str) -> None:
    """The last word to a client."""
    with contextlib.suppress(OSError):
        client.send(message.encode(errors="replace"))
    client.close()


def output(run: Run) -> str:
    """The end of what a run printed."""
    try:
        text = (run.artifacts / "stdout").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text[-_OUTPUT_CHARACTERS:]
