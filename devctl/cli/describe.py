"""`devctl describe`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.api.devserver import Condition
from devctl.api.durations import parse_duration
from devctl.cli.facts import fact
from devctl.cli.options import command, connected, output, server_name
from devctl.cli.queueing import queue_facts
from devctl.cli.results import print_document
from devctl.cli.screen import coloured, columns
from devctl.cli.tables import table
from devctl.cli.times import age, span, until
from devctl.errors import DeniedError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from devctl.client.client import Client
    from devctl.client.events import Event
    from devctl.client.queues.waiting import Waiting
    from devctl.client.servers import Server

_EVENTS = 8


@click.command()
@server_name
@output("text", "json", "yaml", "name")
@connected
def describe(client: Client, name: str, output: str) -> None:
    """Show all about a server: its state and why, its pods, how to use it.

    \b
    Examples:
      devctl describe my-dev
      devctl describe my-dev -o yaml
    """
    server = client.servers.get(name)
    if output == "name":
        click.echo(f"devserver/{server.name}")
        return
    if output != "text":
        print_document(server.raw, output)
        return
    try:
        events: Sequence[Event] = client.events.list(server=name)[-_EVENTS:]
    except DeniedError:
        events = ()
    waiting = client.servers.waiting_for(server)
    for line in page(server, events, waiting, width=columns(sys.stdout)):
        click.echo(line)


def page(
    server: Server,
    events: Sequence[Event],
    waiting: Waiting | None = None,
    *,
    width: int = 0,
    now: datetime | None = None,
) -> list[str]:
    """The lines of the page, at most `width` long if that is not 0; events come oldest first."""
    lines = []
    for label, text in _facts(server, waiting, now):
        lines += fact(label, one_line(text), width)
        if label == "Phase":
            lines[-1] = lines[-1].replace(server.phase, coloured(server.phase), 1)
    replicas: list[tuple[object, ...]] = [("POD", "PHASE", "REASON", "NODE", "RESTARTS")]
    replicas += [(r.pod, r.phase, r.reason, r.node, r.restarts) for r in server.replicas]
    for title, rows, spare in (
        ("Replicas", replicas, [4]),
        ("Events", event_rows(events, now), [1]),
    ):
        if len(rows) > 1:
            shown = table(rows[0], rows[1:], max(0, width - 2), spare)
            lines += ["", f"{title}:", *(f"  {line}" for line in shown)]
    return lines


def _facts(
    server: Server, waiting: Waiting | None, now: datetime | None
) -> Iterator[tuple[str, str]]:
    """Labels and facts; a further line of a fact has an empty label."""
    yield "Name", server.name
    yield "Namespace", server.namespace
    yield "Owner", server.owner
    plain = server.reason in {"", server.phase}
    yield "Phase", str(server.phase) if plain else f"{server.phase} ({server.reason})"
    if server.message:
        yield "", server.message
    if waiting:
        yield from queue_facts(waiting, server.message, now)
    yield from _warnings(server)
    yield "Flavor", server.flavor or "(the default)"
    yield "Image", server.image
    yield "Mode", _mode(server)
    yield "Age", age(server.created_at, now)
    if server.started_at:
        yield "Started", f"{age(server.started_at, now)} ago"
    if server.expires_at:
        yield "Expires", f"{until(server.expires_at, now)}; its files are kept"
    if idle := server.lifecycle.get("idleTimeout"):
        yield "Idle", f"limit {_length(idle)}; not enforced yet"
    yield "Home", _homes(server)
    if shared := server.spec.get("sharedVolumeClaimName"):
        yield "Shared", f"{shared} at /shared"
    for number, words in enumerate(_uses(server)):
        yield "" if number else "Use", words


def _warnings(server: Server) -> Iterator[tuple[str, str]]:
    for kind in (Condition.APPLIED, Condition.RESTART_REQUIRED, Condition.FLAVOR_OUTDATED):
        found = server.condition(kind)
        bad = "False" if kind is Condition.APPLIED else "True"
        message = str(found.get("message", ""))
        if found.get("status") == bad and message != server.message:
            yield "Note", message


def _mode(server: Server) -> str:
    if server.mode != "distributed":
        return server.mode
    backend = (server.spec.get("distributed") or {}).get("backend", "nccl")
    return f"distributed: {server.size} pods of {server.processes}, {backend}"


def _homes(server: Server) -> str:
    """The claims of any number of homes, and their size."""
    first, *more = server.homes
    size = server.spec.get("persistentHomeSize") or ""
    if not more:
        return f"{first}, {size}" if size else first
    between = ", " if len(more) == 1 else " … "
    return f"{first}{between}{more[-1]}" + (f", {size} each" if size else "")


def _length(value: int | str) -> str:
    try:
        return span(parse_duration(value))
    except (ValueError, OverflowError):
        return str(value)


def _uses(server: Server) -> Iterator[str]:
    name = server.name
    if server.stopped:
        yield command(f"start {name}")
        return
    if server.ready and server.ssh:
        yield command(f"ssh {name}")
    yield command(f"run {name} train.py" if server.ready else f"status {name} --watch")
    yield command(f"stop {name}")


def event_rows(events: Sequence[Event], now: datetime | None) -> list[tuple[object, ...]]:
    """The rows of a table of events, its titles first."""
    rows: list[tuple[object, ...]] = [("AGE", "TYPE", "REASON", "ABOUT", "MESSAGE")]
    rows += [
        (age(event.at, now), event.type, event.reason, event.about, event.message)
        for event in events
    ]
    return rows
