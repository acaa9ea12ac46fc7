"""`devctl run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, server_name
from devctl.cli.progress import transferred
from devctl.cli.run_screen import end, goes_on, on_ranks, see_it_through

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from devctl.client.client import Client
    from devctl.client.files.synced import Synced


class ScriptCommand(click.Command):
    """A command that takes a script's own options for the script's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; what follows the second word that is no option is left alone."""
        return super().parse_args(ctx, marked(args, self._with_values()))

    def _with_values(self) -> set[str]:
        options = [param for param in self.params if isinstance(param, click.Option)]
        valued = [option for option in options if not option.is_flag and not option.count]
        return {name for option in valued for name in option.opts}


def marked(args: Sequence[str], with_values: Container[str], words: int = 2) -> list[str]:
    """A command line with `--` behind so many words: what follows is no option of ours.

    Args:
        args: The command line.
        with_values: Options of ours whose value is the next argument.
        words: How many words are ours.

    >>> marked(["-n", "team", "lab", "-d", "train.py", "-d", "x"], {"-n"})
    ['-n', 'team', 'lab', '-d', 'train.py', '--', '-d', 'x']
    """
    rest = iter(range(len(args)))
    for at in rest:
        if args[at] == "--":
            break
        if args[at] in with_values:
            next(rest, None)
        elif not args[at].startswith("-") or args[at] == "-":
            words -= 1
            if not words:
                return [*args[: at + 1], "--", *args[at + 1 :]]
    return list(args)


@click.command(cls=ScriptCommand)
@click.option("-d", "--detach", is_flag=True, help="Print the run's name, and leave it alone.")
@click.option("--no-sync", is_flag=True, help="SCRIPT is on the server; send nothing.")
@click.option("--overwrite", is_flag=True, help="Replace files that were changed there.")
@click.option("--include-secrets", is_flag=True, help="Send .env files, keys and tokens too.")
@click.option("--large", is_flag=True, help="Send files over 1 GiB too.")
@server_name
@click.argument("script")
@click.argument("arguments", metavar="[ARGS...]", nargs=-1, type=click.UNPROCESSED)
@connected
def run(
    client: Client,
    name: str,
    script: str,
    arguments: tuple[str, ...],
    *,
    detach: bool,
    no_sync: bool,
    overwrite: bool,
    include_secrets: bool,
    large: bool,
) -> int:
    """Send a script's folder to a server and run the script there, on every rank.

    What git would list of the folder goes to the folder of the same name in each home; only what
    has changed is sent. A distributed server runs it with torchrun. The exit code is that of the
    first rank that fails; Ctrl-C ends all of them. Options of devctl stand before SCRIPT.

    \b
    Examples:
      devctl run training-job train.py --batch-size 32
      devctl run --detach lab project/train.py
      devctl run --no-sync lab project/train.py
    """
    from devctl.client.runs.script import local_script, new_name, remote_script  # noqa: PLC0415

    chosen = remote_script(script) if no_sync else local_script(script)
    place = client.runs.place(name)
    if chosen.local:
        from devctl.client.files.synced import SyncOptions  # noqa: PLC0415 - heavy

        options = SyncOptions(secrets=include_secrets, large=large, overwrite=overwrite)
        with transferred() as moved:
            done = client.files.push(
                name, chosen.local, chosen.folder, options=options, moved=moved
            )
        _say_sent(done)
    argv = chosen.argv(arguments, distributed=place.distributed)
    started = client.runs.start(place, argv, chosen.folder, name=new_name(chosen.name))
    try:
        if detach:
            click.echo(started.name)
            click.echo(f"it {goes_on(started)}", err=True)
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
