"""A submitted workload on the screen: why it waits, its output, its end, and Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.api.workloads import QUEUED
from devctl.cli.confirm import somebody_is_here
from devctl.cli.jobs.attempt_output import AttemptOutput
from devctl.cli.options import command
from devctl.cli.screen import LiveLine
from devctl.cli.waiting import state, ticking
from devctl.client.workloads.workload import Workload
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from devctl.client.client import Client

_PLACE = 5
"""Seconds after which the place in a queue is looked up again."""


def see_it_through(client: Client, name: str) -> Workload:
    """Show a workload until it ends, and return it.

    Raises:
        KeyboardInterrupt: The user has detached, or cancelled it.
        DevctlError: Somebody else has cancelled it.
    """
    try:
        return _attend(client, name)
    except KeyboardInterrupt:
        _leave(client, name)
        raise


def failure(workload: Workload) -> DevctlError | None:
    """The error of a workload that has failed, with the exit code of its program; else None."""
    if workload.phase != "Failed":
        return None
    error = DevctlError(
        f"job `{workload.name}` has failed: {workload.reason}: {workload.message}",
        f"see its attempts with `devctl jobs describe {workload.name}`",
    )
    error.exit_code = int(workload.status.get("exitCode") or 0) or error.exit_code
    return error


def _attend(client: Client, name: str) -> Workload:
    last = client.workloads.get(name)
    output = AttemptOutput(last.nodes)
    with LiveLine() as line, ticking(lambda tick: _again(client, last, line, tick)):
        for seen in client.workloads.attend(name):
            if isinstance(seen, Workload):
                last = seen
                if seen.stopped and not seen.finished:
                    raise DevctlError(
                        f"job `{name}` was cancelled", f"`devctl jobs retry {name}` starts it again"
                    )
                if _waits(seen):
                    line.show(state(seen))
                else:
                    line.clear()
                continue
            line.clear()
            output.add(seen)
    output.end()
    return last


def _waits(workload: Workload) -> bool:
    return not workload.finished and workload.phase != "Running"


def _again(client: Client, workload: Workload, line: LiveLine, tick: int) -> None:
    """Update the seconds on the line, and the place in the queue."""
    if not _waits(workload):
        return
    if workload.reason == QUEUED and tick % _PLACE == 0:
        waiting = client.workloads.waiting_for(workload)
        if waiting and waiting.place:
            line.show(f"{workload.name}: place {waiting.place} in its queue: {waiting.why}")
    line.again()


def _leave(client: Client, name: str) -> None:
    """After Ctrl-C: cancel it if that is wanted, else say how to go on."""
    cancels = False
    if somebody_is_here():
        click.echo(err=True)
        cancels = click.confirm(f"Cancel `{name}`? Otherwise, it continues", err=True)
    if cancels:
        client.workloads.cancel(name)
        click.echo(f"`{name}` was cancelled", err=True)
        return
    follows, ends = command(f"jobs logs -f {name}"), command(f"jobs cancel {name}")
    click.echo(f"`{name}` continues: {follows} follows it, {ends} stops it", err=True)
