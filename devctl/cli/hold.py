"""`devctl hold`, and when a server is stopped because it is idle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.api.devserver import Condition
from devctl.api.durations import parse_duration
from devctl.cli import times
from devctl.cli.options import command, connected, duration, server_names
from devctl.cli.results import Results, changes
from devctl.cli.times import age, clock, span, until
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from devctl.client.client import Client
    from devctl.client.servers import Server


@click.command()
@server_names
@click.option("--for", "length", type=duration, metavar="D", help="How long, e.g. 12h.")
@click.option("--off", is_flag=True, help="Let it stop again when it is idle.")
@changes()
@connected
def hold(
    client: Client,
    servers: Sequence[str],
    length: int | str | None,
    results: Results,
    *,
    off: bool,
) -> None:
    """Keep servers running for some time, even if they are idle.

    \b
    Examples:
      devctl hold my-dev --for 12h
      devctl hold my-dev --off
    """
    if off is (length is not None):
        raise UsageError(
            "how long is not clear", "specify either --for, such as `--for 12h`, or --off"
        )
    for server in [client.servers.get(name) for name in servers]:
        held = client.servers.hold(server, length)
        results.add(held, "released" if off else "held")
        if held.held_until and not results.quiet:
            click.echo(f"it is not stopped before {clock(held.held_until)}", err=True)


def idle_facts(server: Server) -> Iterator[str]:
    """What a server's page says about its idleness."""
    limit = server.lifecycle.get("idleTimeout")
    known = server.condition(Condition.IDLE)
    last = f"last active {age(server.last_activity_at)} ago" if server.last_activity_at else ""
    what = f": {server.last_activity}" if last and server.last_activity else ""
    limited = f"limit {length_of(limit)}" if limit else ""
    yield from filter(None, [", ".join(filter(None, [limited, last + what]))])
    if known.get("status") == "Unknown":
        yield str(known.get("message", ""))
    if end := _held_until(server):
        yield f"held: it is not stopped before {clock(end)}"
    elif server.stops_at and not server.stopped:
        yield f"stops {until(server.stops_at)} unless it is used; {_keep(server)} keeps it running"


def idle_warning(server: Server) -> str:
    """The line about a server that will be stopped soon; empty if it will not."""
    if server.stopped or _held_until(server) or server.warned_at is None or server.stops_at is None:
        return ""
    return (
        f"`{server.name}` is idle and stops {until(server.stops_at)}, its files are kept;"
        f" {_keep(server)} keeps it running"
    )


def _keep(server: Server) -> str:
    """The command that keeps a server running."""
    return command(f"hold {server.name} --for 12h")


def _held_until(server: Server) -> datetime | None:
    """Until when it is not stopped; None if it may be."""
    end = server.held_until
    return end if end and end > times.now() else None


def length_of(value: int | str) -> str:
    """A duration of a lifecycle, as people read it."""
    try:
        return span(parse_duration(value))
    except (ValueError, OverflowError):
        return str(value)
