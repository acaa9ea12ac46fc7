"""A run on the daemon's side: the replies to its client, and the report of a killed run."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

from devctl_runner import paths
from devctl_runner.runs.events import Poster, Progress
from devctl_runner.runs.request import Inputs, Run, UnsupportedError, understand
from devctl_runner.runs.serve import prepare

INCOMPATIBLE = "incompatible"
"""Why every run goes to the stock runner if Ansible could not be warmed up."""

TIMED_OUT = 254  # as in the stock runner

_OUTPUT_CHARACTERS = 20_000
_HOST = "localhost"


@dataclass(eq=False)
class Job:
    """A queued or active run."""

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
    """The run that a client requests; None after telling it that the run is refused.

    Args:
        client: A socket with a message to read.
        own: The environment that the daemon started with.
        warm: Whether runs can be executed at all.
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


def answer(client: socket.socket, message: str) -> None:
    """Send the final reply to a client."""
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


def failure(message: str, progress: Progress) -> list[str]:
    """The events for a killed run: a failed task and the closing summary."""
    none: dict[str, int] = {}
    summary = {"changed": none, "dark": none, "ok": none, "skipped": none, "failures": {_HOST: 1}}
    result = {"failed": True, "msg": message}
    data = {
        "runner_on_failed": {"host": _HOST, "task": "Run", "ignore_errors": False, "res": result},
        "playbook_on_stats": summary | {"processed": {_HOST: 1}},
    }
    created = datetime.now(UTC).isoformat()
    common = {"created": created, "pid": os.getpid(), "stdout": "", "start_line": 0, "end_line": 0}
    return [
        json.dumps(
            common
            | {"event": event, "event_data": event_data}
            | {"uuid": str(uuid4()), "counter": progress.add(event)}
        )
        for event, event_data in data.items()
    ]


def explain(result: str, status: int) -> str:
    """Why a run was killed, for the user who reads the object's status."""
    if result == "timeout":
        return (
            f"The run took longer than {paths.timeout():g} s and was killed. Roles must not wait; "
            "the operator's DEVCTL_RUNNER_TIMEOUT sets the limit."
        )
    reason = " It may have run out of memory." if status == -9 else ""  # noqa: PLR2004
    return f"The run was killed by signal {-status} before it reported a result.{reason}"


def report(entry: Job, message: str) -> None:
    """Report a killed run as failed; called in a forked process, since the operator may be slow."""
    with contextlib.suppress(OSError):
        prepare(entry.run)
        with (entry.run.artifacts / "stdout").open("a", encoding="utf-8") as file:
            file.write(f"{message}\n")
        (entry.run.artifacts / "rc").write_text(str(TIMED_OUT), encoding="ascii")
        (entry.run.artifacts / "status").write_text(entry.result or "failed", encoding="ascii")
    post = Poster(entry.inputs.event_socket, entry.inputs.event_path)
    for body in failure(message, entry.progress):
        post(body)
    os._exit(0)
