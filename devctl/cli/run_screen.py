"""A run on the screen: what it prints, how it ends, and Ctrl-C."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from devctl.cli.options import command
from devctl.cli.rank_output import RankOutput
from devctl.text import on_screen, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.client.client import Client
    from devctl.client.runs.events import Outcome
    from devctl.client.runs.follow import Following
    from devctl.client.runs.place import Place
    from devctl.client.runs.record import Run


def on_ranks(place: Place) -> str:
    """Where a run is, for a sentence."""
    if place.away:
        return f" on {len(place.pods)} of {place.size} ranks"
    return f" on {place.size} ranks" if place.size > 1 else ""


def say_who_is_away(place: Place) -> None:
    """Say which ranks of a server are not there, and why."""
    for rank, why in sorted(place.away.items()):
        _say(f"rank {rank} is not there: {why.message}")


def goes_on(run: Run) -> str:
    """What a person can do with a run that is left alone."""
    name = f"{run.place.server} {run.name}"
    follows, ends = command(f"attach {name}"), command(f"stop-run {name}")
    return f"keeps running{on_ranks(run.place)}: {follows} follows it, {ends} ends it"


def see_it_through(client: Client, run: Run, offsets: Mapping[int, int] | None = None) -> int:
    """Show a run until it has ended; its exit code. Ctrl-C ends it, and nothing else does.

    Raises:
        BrokenPipeError: Nobody reads what it prints any more.
        DevctlError: It has failed, or cannot be followed any longer.
    """
    try:
        with client.runs.follow(run, offsets=offsets, end_others=True) as events:
            outcome = show(run, events)
    except KeyboardInterrupt:
        end(client, run)
        raise
    except BrokenPipeError:
        # Whoever closes a pipe may only have seen enough; standard error may be the same pipe.
        with suppress(OSError):
            _say(f"nobody reads its output any more; {run.name} {goes_on(run)}")
        raise
    return _report(run, outcome)


def show(run: Run, events: Following) -> Outcome:
    """Print what a run prints, and say what happens to it; how it has ended."""
    from devctl.client.runs.events import (  # noqa: PLC0415 - heavy
        Noticed,
        Outcome,
        Printed,
    )

    outcome = Outcome(run.place, run.name)
    output = RankOutput([*run.records, *run.place.away])
    try:
        for event in events:
            outcome.tell(event)
            if isinstance(event, Printed):
                output.add(event.rank, event.data)
                continue
            output.end(event.rank)
            if isinstance(event, Noticed):
                _say(f"{run.place.called(event.rank)}: {event.text}")
            elif text := _told(run, event, outcome):
                _say(text)
    finally:
        output.end_all()
    return outcome


def end(client: Client, run: Run) -> None:
    """End a run because a person has pressed Ctrl-C; once more leaves it alone."""
    _say(f"ending {run.name}{on_ranks(run.place)}")
    try:
        client.runs.stop(run)
    except KeyboardInterrupt:
        words = command(f"stop-run {run.place.server} {run.name}")
        _say(f"{run.name} may still be running: {words} ends it")
        raise
    _say(f"{run.name} was ended")


def _told(run: Run, event: object, outcome: Outcome) -> str:
    """What is said at once of a rank that has failed while others go on."""
    from devctl.client.runs.events import Ended, Lost  # noqa: PLC0415 - heavy

    if len(outcome.ends) == len(run.records):
        return ""
    if isinstance(event, Lost):
        return f"{run.place.called(event.rank)}: {event.why}; the others are ended"
    if isinstance(event, Ended) and event.code:
        return f"{run.place.called(event.rank)} ended with exit code {event.code}"
    return ""


def _report(run: Run, outcome: Outcome) -> int:
    failure = outcome.error()
    if failure is None:
        return 0
    first = outcome.first_failure
    # Of a single rank they are the last lines on the screen already.
    if len(run.records) > 1 and first and outcome.last_lines:
        _say(f"the last lines of rank {first.rank}, which failed first:")
        shown = on_screen if sys.stderr.isatty() else bytes
        lines = b"".join(b"  " + shown(line) + b"\n" for line in outcome.last_lines)
        click.echo(lines, nl=False, err=True)
    raise failure


def _say(text: str) -> None:
    click.echo(one_line(text), err=True)
