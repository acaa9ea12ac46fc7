"""What the daemon says to the operator for a run that cannot report any more."""

from __future__ import annotations

import contextlib
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from devctl_runner import job, paths
from devctl_runner.poster import Poster

if TYPE_CHECKING:
    from devctl_runner.entry import Job
    from devctl_runner.events import Progress

TIMED_OUT = 254  # as the stock runner has it
_HOST = "localhost"


def failure(message: str, progress: Progress) -> list[str]:
    """The events of a run that cannot report any more: a failed task and the closing summary."""
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
    """Why a run was killed, for the person who reads the object's status."""
    if result == "timeout":
        return (
            f"The run took longer than {paths.timeout():g} s and was ended. A role must never "
            "wait; DEVCTL_RUNNER_TIMEOUT of the operator sets the limit."
        )
    reason = " It may have run out of memory." if status == -9 else ""  # noqa: PLR2004
    return f"The run ended without a result: signal {-status} killed it.{reason}"


def report(entry: Job, message: str) -> None:
    """Say in a run's place that it failed, in a process of its own: the operator may be slow."""
    with contextlib.suppress(OSError):
        job.prepare(entry.run)
        with (entry.run.artifacts / "stdout").open("a", encoding="utf-8") as file:
            file.write(f"{message}\n")
        (entry.run.artifacts / "rc").write_text(str(TIMED_OUT), encoding="ascii")
        (entry.run.artifacts / "status").write_text(entry.result or "failed", encoding="ascii")
    post = Poster(entry.inputs.event_socket, entry.inputs.event_path)
    for body in failure(message, entry.progress):
        post(body)
    os._exit(0)
