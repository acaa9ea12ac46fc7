"""What somebody is doing on a server: what a stop would end."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from devctl.client.client import Client
    from devctl.client.server import Server

_PATIENCE = 5.0
_SESSIONS = {"sshd": "SSH session", "sshd-session": "SSH session", "tmux": "tmux session"}


def activity(client: Client, server: Server, patience: float = _PATIENCE) -> Sequence[str]:
    """What goes on on a server, for a sentence; nothing where none of its pods answers in time.

    Args:
        client: The SDK.
        server: The server.
        patience: Seconds to wait for its pods.

    >>> from devctl.client.activity import sessions
    >>> sessions(["sshd-session: dev@notty", "/usr/sbin/sshd -i -e", "python train.py"])
    ['2 SSH sessions']
    """
    if not server.ready:
        return []
    found: list[str] = []

    def look() -> None:
        with suppress(DevctlError):
            runs = client.runs.list(server.name)
            found.extend(f"run {run.name}" for run in runs if run.state == "Running")
        with suppress(DevctlError):
            samples = next(client.monitor.watch(server.name))
            used = [sample.usage.processes for sample in samples if sample.usage]
            found.extend(sessions(process.command for each in used for process in each))

    # Whoever stops a server that hangs is not to wait for it.
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(patience)
    return list(found)


def sessions(commands: Iterable[str]) -> list[str]:
    """The sessions among processes, counted by what they are."""
    counts: dict[str, int] = {}
    for command in commands:
        program = PurePosixPath((command.split() or [""])[0].rstrip(":")).name
        if what := _SESSIONS.get(program):
            counts[what] = counts.get(what, 0) + 1
    return [f"{count} {what}{'s' if count > 1 else ''}" for what, count in counts.items()]
