"""`devctl run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli.options import connected, sends, server_name
from devctl.cli.progress import tell_of_secrets, transferred
from devctl.cli.results import Results, changes
from devctl.cli.run_line import RunCommand, chosen, variables
from devctl.cli.run_screen import end, keeps_running, on_replicas, see_it_through
from devctl.client.files.names import named
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.files.sync import Synced


@click.command(cls=RunCommand)
@click.option("-m", "--module", metavar="MODULE", help="A Python module instead of SCRIPT.")
@click.option("--workdir", metavar="DIR", help="The folder to send; default: the git repository.")
@click.option("--env", "given", multiple=True, metavar="K=V", help="Environment variable for it.")
@click.option("--env-file", multiple=True, metavar="FILE", help="Lines NAME=VALUE or NAME='VALUE'.")
@click.option(
    "--secret", multiple=True, metavar="NAME", help="Variable of your environment, else asked for."
)
@click.option("--max-restarts", type=click.IntRange(0), metavar="N", help="As torchrun's.")
@click.option("-d", "--detach", is_flag=True, help="Print the run's name, and return.")
@click.option("--no-sync", is_flag=True, help="Send nothing; paths are on the server.")
@click.option("--overwrite", is_flag=True, help="Replace files that were changed there.")
@sends
@changes("run")
@server_name
@click.argument(
    "words", metavar="SCRIPT|-m MODULE|-- COMMAND [ARGS...]", nargs=-1, type=click.UNPROCESSED
)
@connected
def run(
    client: Client,
    name: str,
    words: tuple[str, ...],
    results: Results,
    *,
    module: str | None,
    workdir: str | None,
    given: tuple[str, ...],
    env_file: tuple[str, ...],
    secret: tuple[str, ...],
    max_restarts: int | None,
    detach: bool,
    no_sync: bool,
    **how: Any,
) -> int:
    """Send a project to a server and run a script of it on every replica.

    The files that git lists in the script's repository, else in its folder, go to a folder in each
    home, the working directory. A distributed server uses torchrun, except for a COMMAND after
    `--`. The exit code is that of the first replica that fails; Ctrl-C ends them all.

    \b
    Examples:
      devctl run training-job train.py --batch-size 32
      devctl run --detach lab -m package.train --epochs 3
      devctl run --secret WANDB_API_KEY lab -- make train
    """
    from devctl.client.files.sync import SyncOptions  # noqa: PLC0415 - heavy

    if results.quiet and not detach:
        raise UsageError("-o needs --detach", "add --detach, or leave out -o")
    command, arguments = chosen(words, module, workdir, remote=no_sync)
    env = variables(given, env_file, secret)
    sent: list[Synced] = []
    try:
        with transferred() as moved:
            started = client.runs.launch(
                name,
                command,
                arguments,
                env=env,
                max_restarts=max_restarts,
                options=SyncOptions(**how),
                moved=moved,
                sent=sent.extend,
            )
    finally:
        _say_sent(sent)
    try:
        if results.quiet:
            results.add(started, "started")
            return 0
        if detach:
            click.echo(started.name)  # the bare name, for scripts
            click.echo(f"it {keeps_running(started)}", err=True)
            return 0
        click.echo(f"{started.name} runs{on_replicas(started.place)}; Ctrl-C ends it", err=True)
    except KeyboardInterrupt:
        end(client, started)
        raise
    return see_it_through(client, started)


def _say_sent(done: Sequence[Synced]) -> None:
    for each in done:
        changed = [change.path for change in each.changes]
        click.echo(each.summary() + (f" ({named(changed)})" if changed else ""), err=True)
    if done:
        tell_of_secrets(done[0].secrets, hint=False)
