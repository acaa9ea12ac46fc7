"""`devctl logs`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from devctl.cli.formats import chosen_format
from devctl.cli.options import command, connected, output, server_name
from devctl.cli.rank_output import RankOutput
from devctl.cli.run_screen import say_who_is_away, show
from devctl.cli.screen import coloured
from devctl.cli.tables import FORMATS, Column, age, print_items
from devctl.errors import DevctlError, NotFoundError, UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.runs.record import Run

_COLUMNS = (
    Column("RUN", lambda run: run.name),
    Column("STATE", lambda run: run.state, style=coloured),
    Column("CODE", lambda run: run.code),
    Column("RANKS", lambda run: len(run.records), wide=True),
    Column("COMMAND", lambda run: shlex.join(_words(run))),
    Column("AGE", lambda run: age(run.started_at)),
)


@click.command()
@server_name
@click.argument("name_of_run", metavar="[RUN]", required=False)
@click.option("-f", "--follow", is_flag=True, help="Follow until the run ends.")
@click.option("--replica", type=click.IntRange(min=0), metavar="K", help="Only of this rank.")
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
    """Print what a run has printed, rank after rank; with -f as it comes.

    Without RUN it is the active one, else the latest. Ctrl-C only stops following.

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
    ranks = _ranks(run, replica)
    if replica is None:
        say_who_is_away(run.place)
    offsets = {rank: 0 if tail is None else client.runs.tail(run, rank, tail) for rank in ranks}
    if follow:
        with client.runs.follow(run, ranks, offsets) as events:
            show(run, events)
        return
    shown = RankOutput([*run.records, *run.place.away])
    for rank in ranks:
        for piece in client.runs.output(run, rank, offsets[rank]):
            shown.add(rank, piece)
        shown.end(rank)


def _ranks(run: Run, replica: int | None) -> list[int]:
    if replica is None:
        return sorted(run.records)
    if why := run.place.away.get(replica):
        raise DevctlError(f"rank {replica} is not there: {why.message}", why.fix)
    if replica not in run.records:
        raise NotFoundError(
            f"run `{run.name}` has no rank {replica}",
            f"it has {', '.join(map(str, sorted(run.records)))}",
        )
    return [replica]


def _words(run: Run) -> tuple[str, ...]:
    """What a person has asked to run."""
    from devctl.client.runs.command import TORCHRUN  # noqa: PLC0415 - heavy

    count = len(TORCHRUN)
    return run.argv[count:] if run.argv[:count] == TORCHRUN else run.argv
