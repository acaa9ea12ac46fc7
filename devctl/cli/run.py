"""`devctl run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, result_output, server_name
from devctl.cli.progress import transferred
from devctl.cli.results import Results
from devctl.cli.run_env import variables
from devctl.cli.run_line import RunCommand, chosen
from devctl.cli.run_screen import end, goes_on, on_ranks, see_it_through
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.files.sync import Synced


@click.command(cls=RunCommand)
@click.option("-m", "--module", metavar="MODULE", help="A Python module in place of SCRIPT.")
@click.option("--workdir", metavar="DIR", help="The folder to send; else the git repository.")
@click.option("--env", "given", multiple=True, metavar="K=V", help="A variable for it.")
@click.option("--env-file", multiple=True, metavar="FILE", help="Lines NAME=VALUE or NAME='VALUE'.")
@click.option("--secret", multiple=True, metavar="NAME", help="A variable of yours, or asked for.")
@click.option("--max-restarts", type=click.IntRange(0), metavar="N", help="As torchrun's.")
@click.option("-d", "--detach", is_flag=True, help="Print the run's name, and leave it alone.")
@click.option("--no-sync", is_flag=True, help="Send nothing; paths are on the server.")
@click.option("--overwrite", is_flag=True, help="Replace files that were changed there.")
@click.option("--include-secrets", is_flag=True, help="Send .env files, keys and tokens too.")
@click.option("--large", is_flag=True, help="Send files over 1 GiB too.")
@result_output
@server_name
@click.argument(
    "words",
    metavar="SCRIPT|-m MODULE|-- COMMAND [ARGS...]",
    nargs=-1,
    type=click.UNPROCESSED,
)
@connected
def run(
    client: Client,
    name: str,
    words: tuple[str, ...],
    output: str | None,
    *,
    module: str | None,
    workdir: str | None,
    given: tuple[str, ...],
    env_file: tuple[str, ...],
    secret: tuple[str, ...],
    max_restarts: int | None,
    detach: bool,
    no_sync: bool,
    overwrite: bool,
    include_secrets: bool,
    large: bool,
) -> int:
    """Send a project to a server and run a script of it on every rank.

    What git lists of the script's repository, else of its folder, goes to each home and is the
    working directory there. A distributed server uses torchrun, except for a COMMAND behind `--`.
    The exit code is that of the first rank that fails; Ctrl-C ends all.

    \b
    Examples:
      devctl run training-job train.py --batch-size 32
      devctl run --detach lab -m package.train --epochs 3
      devctl run --secret WANDB_API_KEY lab -- make train
    """
    from devctl.client.runs.command import new_name  # noqa: PLC0415 - heavy

    if output and not detach:
        raise UsageError("-o needs --detach", "add --detach, or leave out -o")
    command, arguments = chosen(words, module, workdir, remote=no_sync)
    env = variables(given, env_file, secret)
    place = client.runs.place(name)
    argv = command.argv(arguments, distributed=place.distributed, restarts=max_restarts)
    # Before anything is sent, or files would change under a training that goes on.
    client.runs.check_free(place)
    if command.local:
        from devctl.client.files.sync import SyncOptions  # noqa: PLC0415 - heavy

        options = SyncOptions(secrets=include_secrets, large=large, overwrite=overwrite)
        with transferred() as moved:
            done = client.files.push(
                name, command.local, command.folder, options=options, moved=moved
            )
        _say_sent(done)
    started = client.runs.start(
        place,
        argv,
        command.folder,
        name=new_name(command.name),
        env=env,
        imports=command.imports,
    )
    try:
        if detach:
            if output is None:
                # What scripts have always read.
                click.echo(started.name)
                click.echo(f"it {goes_on(started)}", err=True)
                return 0
            results = Results(output, "run")
            results.add(started, "started")
            results.print()
            return 0
        click.echo(f"{started.name} runs{on_ranks(place)}; Ctrl-C ends it", err=True)
    except KeyboardInterrupt:
        end(client, started)
        raise
    return see_it_through(client, started)


def _say_sent(done: Sequence[Synced]) -> None:
    from devctl.client.files.names import named  # noqa: PLC0415 - heavy

    for each in done:
        changed = [change.path for change in each.changes]
        click.echo(each.summary() + (f" ({named(changed)})" if changed else ""), err=True)
    if done and done[0].secrets:
        secrets = named(done[0].secrets)
        click.echo(f"left out, as they look like secrets: {secrets}", err=True)
