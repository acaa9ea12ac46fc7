"""`devctl stop-run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.formats import is_document
from devctl.cli.options import connected, result_output, server_name
from devctl.cli.results import Results
from devctl.cli.run_screen import on_ranks, say_who_is_away

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@server_name
@click.argument("name_of_run", metavar="[RUN]", required=False)
@result_output
@connected
def stop_run(client: Client, name: str, name_of_run: str | None, output: str | None) -> None:
    """End a run and all that it has started, on every rank.

    Without RUN it is the one that goes on. Programs have ten seconds to write what they have.

    \b
    Examples:
      devctl stop-run lab
      devctl stop-run lab train-1a2b
    """
    run = client.runs.find(name, name_of_run, running=name_of_run is None)
    going = run.state == "Running"
    say_who_is_away(run.place)
    # Also where it has ended: what it left behind ends, too.
    client.runs.stop(run)
    if is_document(output):
        # As it is now: its ranks have other exit codes.
        run = client.runs.find(name, run.name)
    results = Results(output, "run")
    results.add(run, "stopped" if going else "had ended already")
    results.print()
    if going and not results.quiet:
        click.echo(f"nothing of it runs any more{on_ranks(run.place)}", err=True)
