"""`devctl logs`, `devctl attach` and `devctl stop-run`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from devctl.cli.formats import FORMATS, chosen_format
from devctl.cli.options import command, connected, output, server_name
from devctl.cli.replica_output import ReplicaOutput
from devctl.cli.results import Results, changes, print_items
from devctl.cli.run_screen import on_replicas, say_who_is_away, see_it_through, show
from devctl.cli.screen import coloured
from devctl.cli.tables import Column
from devctl.cli.times import age
from devctl.client.runs import command as run_command
from devctl.errors import DevctlError, NotFoundError, UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.runs.record import Run

_BEFORE = 16 * 1024
"""Bytes of each replica's earlier output that `attach` shows."""

_COLUMNS = (
    Column("RUN", lambda run: run.name),
    Column("STATE", lambda run: run.state, style=coloured),
    Column("CODE", lambda run: run.code),
    Column("REPLICAS", lambda run: len(run.records), wide=True),
    Column("COMMAND", lambda run: shlex.join(_words(run))),
    Column("AGE", lambda run: age(run.started_at)),
)
_run_name = click.argument("name_of_run", metavar="[RUN]", required=False)


@click.command()
@server_name
@_run_name
@click.option("-f", "--follow", is_flag=True, help="Follow until the run ends.")
@click.option("--replica", type=click.IntRange(min=0), metavar="K", help="Only this one.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.option("--list", "listed", is_flag=True, help="List the runs instead.")
@output(*FORMATS)
@connected
def logs(
    client: Client,
    name: str,
    name_of_run: str | None,
    replica: int | None,
    tail: int | None,
    output: str,
    *,
    follow: bool,
    listed: bool,
) -> None:
    """Print the output of a run, one replica after another; with -f as it arrives.

    RUN defaults to the active run, else the latest. Ctrl-C only stops following.

    \b
    Examples:
      devctl logs training-job
      devctl logs -f training-job --replica 1
      devctl logs --list training-job
    """
    if listed:
        empty = f"no runs on `{name}`; start one with {command(f'run {name} SCRIPT')}"
        found = client.runs.list(name)
        print_items(found, output, _COLUMNS, "run", empty=empty)
        if found:
            say_who_is_away(found[0].place)
        return
    if chosen_format(output) != FORMATS[0]:
        raise UsageError("-o is for --list only", "add --list, or leave -o out")
    run = client.runs.find(name, name_of_run)
    replicas = _replicas(run, replica)
    if replica is None:
        say_who_is_away(run.place)
    offsets = {each: 0 if tail is None else client.runs.tail(run, each, tail) for each in replicas}
    if follow:
        with client.runs.follow(run, replicas, offsets) as events:
            show(run, events)
        return
    shown = ReplicaOutput([*run.records, *run.place.away])
    for each in replicas:
        for piece in client.runs.output(run, each, offsets[each]):
            shown.add(each, piece)
        shown.end(each)


def _replicas(run: Run, replica: int | None) -> list[int]:
    if replica is None:
        return sorted(run.records)
    if why := run.place.away.get(replica):
        raise DevctlError(f"replica {replica} is missing: {why.message}", why.fix)
    if replica not in run.records:
        raise NotFoundError(
            f"run `{run.name}` has no replica {replica}",
            f"it has {', '.join(map(str, sorted(run.records)))}",
        )
    return [replica]


def _words(run: Run) -> tuple[str, ...]:
    """The command without the torchrun that we put before it."""
    count = len(run_command.TORCHRUN)
    return run.argv[count:] if run.argv[:count] == run_command.TORCHRUN else run.argv


@click.command()
@server_name
@_run_name
@connected
def attach(client: Client, name: str, name_of_run: str | None) -> int:
    """Follow a run again as if it had been started here: Ctrl-C ends it.

    RUN defaults to the active run. Its latest output comes first; `devctl logs -f` shows all of it,
    and does not end it at Ctrl-C.

    \b
    Examples:
      devctl attach lab
      devctl attach lab train-1a2b
    """
    run = client.runs.find(name, name_of_run, running=name_of_run is None)
    going = run.state == "Running"
    say_who_is_away(run.place)
    says = f"{run.name} runs{on_replicas(run.place)}; Ctrl-C ends it"
    click.echo(says if going else f"{run.name} has ended", err=True)
    code = see_it_through(client, run, dict.fromkeys(run.records, -_BEFORE))
    if run.place.away:
        missing = ", ".join(map(str, sorted(run.place.away)))
        raise DevctlError(
            f"how {run.name} ended on replica {missing} is not known: it is missing",
            f"see why with `devctl describe {name}`",
        )
    return code


@click.command()
@server_name
@_run_name
@changes("run")
@connected
def stop_run(client: Client, name: str, name_of_run: str | None, results: Results) -> None:
    """End a run and everything it started, on every replica.

    RUN defaults to the active run. Programs have ten seconds to save their work.

    \b
    Examples:
      devctl stop-run lab
      devctl stop-run lab train-1a2b
    """
    run = client.runs.find(name, name_of_run, running=name_of_run is None)
    going = run.state == "Running"
    say_who_is_away(run.place)
    # A run that has ended may have left processes behind: they end, too.
    client.runs.stop(run)
    if results.quiet:
        run = client.runs.find(name, run.name)  # with its exit codes
    results.add(run, "stopped" if going else "had ended already")
    if going and not results.quiet:
        click.echo(f"none of its processes is left{on_replicas(run.place)}", err=True)
