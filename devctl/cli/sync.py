"""`devctl sync` and `devctl cp`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.cli.confirm import confirm_deletion, yes_option
from devctl.cli.options import connected, secrets_option, sends, server_name
from devctl.cli.progress import tell_of_trouble, tell_of_withheld, transferred
from devctl.client.files.names import named
from devctl.errors import UsageError
from devctl.text import one_line, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.client.client import Client
    from devctl.client.files.sync import Synced

_SHOWN = 20
"""How many changes are shown one by one."""
_SIGNS = {"new": "+", "changed": "~", "deleted": "-"}


@click.command()
@server_name
@click.argument("local", metavar="LOCAL", type=click.Path())
@click.argument("remote", metavar="[REMOTE]", required=False)
@click.option("--from", "back", is_flag=True, help="From the server to LOCAL.")
@click.option("--watch", is_flag=True, help="Keep syncing changes until Ctrl-C.")
@click.option("--delete", is_flag=True, help="Delete synced files that the source lost.")
@yes_option
@click.option("--confirm", is_flag=True, hidden=True)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--overwrite", is_flag=True, help="Replace files changed at the target.")
@click.option("--replica", type=click.IntRange(0), metavar="K", help="Only this one.")
@sends
@connected
def sync(
    client: Client,
    name: str,
    local: str,
    remote: str | None,
    *,
    replica: int | None,
    back: bool,
    watch: bool,
    yes: bool,
    confirm: bool,
    **how: bool,
) -> None:
    """Send changes in the folder LOCAL to a server, or fetch them.

    Files that git would list, or all but by-products, as `.gitignore` and `.devctlignore` say, go
    to every replica's home, into REMOTE, else a folder of the same name. Files that were changed on
    the other side are not replaced.

    \b
    Examples:
      devctl sync my-dev .
      devctl sync my-dev . --watch
      devctl sync my-dev results project/results --from
    """
    from devctl.client.files import sync as files_sync  # noqa: PLC0415 - heavy

    folder = Path(local)
    options = files_sync.SyncOptions(
        **how, may_delete=lambda going: confirm_deletion(going, given=yes or confirm)
    )
    if watch and options.dry_run:
        raise UsageError("--watch does not go with --dry-run", "leave out one of them")

    def once() -> Sequence[Synced]:
        with transferred() as moved:
            if back:
                found = client.files.pull(
                    name, folder, remote, replica=replica or 0, options=options, moved=moved
                )
                return [found]
            return client.files.push(
                name, folder, remote, replica=replica, options=options, moved=moved
            )

    def glance() -> object:
        # Contents are compared only once this has changed.
        return files_sync.choose(folder, options, lambda _entry: True).entries

    if watch:
        _watch(once, None if back else glance)
        return
    done = once()
    show(done)
    tell_of_withheld(done[0])
    tell_of_trouble([what for each in done for what in each.left_out], _changed(done))


def show(done: Sequence[Synced], *, quiet: bool = False) -> None:
    """Print changes to standard error, and a line per target to standard output.

    With `quiet`, nothing is said of targets without changes.
    """
    from devctl.client.files.transfer import amount  # noqa: PLC0415 - heavy

    shown: list[object] = []
    for each in done:
        if each.changes and each.changes not in shown:
            # Replicas mostly get the same.
            shown.append(each.changes)
            # All local files that would be deleted are shown; they come first.
            deletions = sum(change.what == "deleted" for change in each.changes)
            most = max(_SHOWN, deletions if each.dry_run and each.word == "brought" else 0)
            for change in each.changes[:most]:
                size = f"  {amount(change.size)}" if change.what != "deleted" else ""
                click.echo(f"  {_SIGNS[change.what]} {readable(change.path)}{size}", err=True)
            rest = len(each.changes) - most
            if rest > 0:
                click.echo(f"  … and {rest:,} more", err=True)
        if each.changes or not quiet:
            click.echo(each.summary())


def _changed(done: Sequence[Synced]) -> list[str]:
    return list(dict.fromkeys(named([name]) for each in done for name in each.changed))


def _watch(once: Callable[[], Sequence[Synced]], glance: Callable[[], object] | None) -> None:
    from devctl.client.files.files import watch as watching  # noqa: PLC0415 - heavy

    told: set[str] = set()
    first = True
    for done in watching(
        once, glance, lambda error: click.echo(f"{error}; trying again", err=True)
    ):
        show(done, quiet=not first)
        if first:
            tell_of_withheld(done[0])
            click.echo("watching; Ctrl-C ends it", err=True)
        first = False
        for what in (what for each in done for what in each.left_out):
            if what not in told:
                told.add(what)
                click.echo(f"left out: {one_line(what)}", err=True)


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@secrets_option
@click.option("--overwrite", is_flag=True, help="Also replace files that differ at the target.")
@connected
def cp(client: Client, source: str, target: str, **how: bool) -> None:
    """Copy a file or a folder to or from a server.

    Exactly one side is NAME:PATH, or NAME.K:PATH for replica K; a relative PATH starts at the home.
    Copies go into an existing folder. A file arrives whole or not at all; one
    that looks like a secret is sent if named, and skipped inside a folder.

    \b
    Examples:
      devctl cp train.py my-dev:
      devctl cp my-dev:runs/model.safetensors .
      devctl cp data my-dev.1:/home/dev/data
    """
    with transferred() as moved:
        done = client.files.copy(source, target, **how, moved=moved)
    click.echo(done.summary())
    tell_of_withheld(done)
    tell_of_trouble(done.left_out, done.changed)
