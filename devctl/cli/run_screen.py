"""A run on the screen: its output, its end, and Ctrl-C."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from devctl.cli.options import command
from devctl.cli.replica_output import ReplicaOutput
from devctl.client.runs.events import Ended, Lost, Noticed, Outcome, Printed
from devctl.text import on_screen, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.client.client import Client
    from devctl.client.runs.follow import Following
    from devctl.client.runs.place import Place
    from devctl.client.runs.record import Run


def on_replicas(place: Place) -> str:
    """Where a run is, for a sentence."""
    if place.away:
        return f" on {len(place.pods)} of {place.size} replicas"
    return f" on {place.size} replicas" if place.size > 1 else ""


def say_who_is_away(place: Place) -> None:
    """Say which replicas of a server are missing, and why."""
    for replica, why in sorted(place.away.items()):
        _say(f"replica {replica} is missing: {why.message}")


def keeps_running(run: Run) -> str:
    """What can be done with a detached run, for a sentence."""
    name = f"{run.place.server} {run.name}"
    follows, ends = command(f"attach {name}"), command(f"stop-run {name}")
    return f"keeps running{on_replicas(run.place)}: {follows} follows it, {ends} ends it"


def see_it_through(client: Client, run: Run, offsets: Mapping[int, int] | None = None) -> int:
    """Show a run until it ends; its exit code. Only Ctrl-C ends it early.

    Raises:
        BrokenPipeError: Nobody reads its output any more.
        DevctlError: It has failed, or cannot be followed any longer.
    """
    try:
        with client.runs.follow(run, offsets=offsets, end_others=True) as events:
            outcome = show(run, events)
    except KeyboardInterrupt:
        end(client, run)
        raise
    except BrokenPipeError:
        # A closed pipe is no reason to end the run; standard error may be the same pipe.
        with suppress(OSError):
            _say(f"nobody reads its output any more; {run.name} {keeps_running(run)}")
        raise
    failure = outcome.error()
    if failure is None:
        return 0
    first = outcome.first_failure
    # Those of a single replica are the last on the screen already.
    if len(run.records) > 1 and first and outcome.last_lines:
        _say(f"the last lines of replica {first.replica}, which failed first:")
        shown = on_screen if sys.stderr.isatty() else bytes
        lines = b"".join(b"  " + shown(line) + b"\n" for line in outcome.last_lines)
        click.echo(lines, nl=False, err=True)
    raise failure


def show(run: Run, events: Following) -> Outcome:
    """Print a run's output and events until it ends."""
    outcome = Outcome(run.place, run.name)
    output = ReplicaOutput([*run.records, *run.place.away])
    try:
        for event in events:
            outcome.tell(event)
            if isinstance(event, Printed):
                output.add(event.replica, event.data)
                continue
            output.end(event.replica)
            if isinstance(event, Noticed):
                _say(f"{run.place.called(event.replica)}: {event.text}")
            elif text := _told(run, event, outcome):
                _say(text)
    finally:
        output.end_all()
    return outcome


def end(client: Client, run: Run) -> None:
    """End a run after Ctrl-C; a second one leaves it running."""
    _say(f"ending {run.name}{on_replicas(run.place)}")
    try:
        client.runs.stop(run)
    except KeyboardInterrupt:
        words = command(f"stop-run {run.place.server} {run.name}")
        _say(f"{run.name} may still be running: {words} ends it")
        raise
    _say(f"{run.name} was ended")


def _told(run: Run, event: object, outcome: Outcome) -> str:
    """What to say at once of a replica that has failed while others are running."""
    if len(outcome.ends) == len(run.records):
        return ""
    if isinstance(event, Lost):
        return f"{run.place.called(event.replica)}: {event.why}; the others are ended"
    if isinstance(event, Ended) and event.code:
        return f"{run.place.called(event.replica)} ended with exit code {event.code}"
    return ""


def _say(text: str) -> None:
    click.echo(one_line(text), err=True)
