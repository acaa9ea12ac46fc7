"""`devctl attach`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, server_name
from devctl.cli.run_screen import on_ranks, say_who_is_away, see_it_through
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from devctl.client.client import Client

_BEFORE = 16 * 1024
"""Bytes of what each rank has printed before that are shown."""


@click.command()
@server_name
@click.argument("name_of_run", metavar="[RUN]", required=False)
@connected
def attach(client: Client, name: str, name_of_run: str | None) -> int:
    """Follow a run again as if it had been started here: Ctrl-C ends it.

    Without RUN it is the one that goes on. The last it has printed comes first; `devctl logs -f`
    shows all of it, and leaves it alone when you press Ctrl-C.

    \b
    Examples:
      devctl attach lab
      devctl attach lab train-1a2b
    """
    run = client.runs.find(name, name_of_run, running=name_of_run is None)
    going = run.state == "Running"
    say_who_is_away(run.place)
    says = f"{run.name} runs{on_ranks(run.place)}; Ctrl-C ends it"
    click.echo(says if going else f"{run.name} has ended", err=True)
    code = see_it_through(client, run, dict.fromkeys(run.records, -_BEFORE))
    if run.place.away:
        ranks = ", ".join(map(str, sorted(run.place.away)))
        raise DevctlError(
            f"how {run.name} ended on rank {ranks} is not known: it is not there",
            f"see why with `devctl describe {name}`",
        )
    return code
