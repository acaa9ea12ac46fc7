"""`devctl sync`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.confirm import confirm_deletion, yes_option
from devctl.cli.cp import tell_of_git, tell_of_secrets, tell_of_trouble
from devctl.cli.options import connected
from devctl.cli.progress import transferred
from devctl.errors import UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.client.client import Client
    from devctl.client.files.sync import Synced, SyncOptions

_SHOWN = 20
"""How many changes are shown one by one."""
_SIGNS = {"new": "+", "changed": "~", "deleted": "-"}


@click.command()
@click.argument("name", metavar="NAME", shell_complete=names.servers)
@click.argument("local", metavar="LOCAL", type=click.Path())
@click.argument("remote", metavar="[REMOTE]", required=False)
@click.option("--from", "back", is_flag=True, help="From the server to LOCAL.")
@click.option("--watch", is_flag=True, help="Keep syncing changes until Ctrl-C.")
@click.option(
    "--delete",
    is_flag=True,
    help="Delete synced files that the source lost.",
)
@yes_option
@click.option("--confirm", is_flag=True, hidden=True)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--overwrite", is_flag=True, help="Replace files changed at the target.")
@click.option("--replica", type=click.IntRange(0), metavar="K", help="Only this one.")
@click.option("--include-secrets", is_flag=True, help="Send .env files, keys and tokens too.")
@click.option("--large", is_flag=True, help="Send files over 1 GiB too.")
@connected
def sync(
    client: Client,
    name: str,
    local: str,
    remote: str | None,
    *,
    back: bool,
    watch: bool,
    delete: bool,
    yes: bool,
    confirm: bool,
    dry_run: bool,
    overwrite: bool,
    replica: int | None,
    include_secrets: bool,
    large: bool,
) -> None:
    """Send what has changed in the folder LOCAL to a server, or bring it back.

    What git would list goes, or all but by-products, as `.gitignore` and `.devctlignore` say; to
    every replica's home, into REMOTE, else a folder of the same name. What was changed on the other
    side is not replaced.

    \b
    Examples:
      devctl sync my-dev .
      devctl sync my-dev . --watch
      devctl sync my-dev results project/results --from
    """
    from devctl.client.files.sync import SyncOptions  # noqa: PLC0415 - heavy

    if watch and dry_run:
        raise UsageError("--watch does not go with --dry-run", "leave out the one or the other")
    folder = Path(local)
    options = SyncOptions(
        delete=delete,
        overwrite=overwrite,
        dry_run=dry_run,
        secrets=include_secrets,
        large=large,
        may_delete=lambda going: confirm_deletion(going, given=yes or confirm),
    )

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

    if watch:
        _watch(once, None if back else _glance(folder, options))
        return
    done = once()
    show(done)
    tell_of_secrets(done[0].secrets)
    tell_of_git(done[0].git)
    tell_of_trouble([what for each in done for what in each.left_out], _changed(done))


def show(done: Sequence[Synced], *, quiet: bool = False) -> None:
    """Say what was sent where: the changes on standard error, a line for each place on the other.

    Args:
        done: What a sync has done, in each place.
        quiet: Whether nothing is said of places in which nothing has changed.
    """
    from devctl.client.files.transfer import amount  # noqa: PLC0415 - heavy
    from devctl.text import readable  # noqa: PLC0415 - heavy

    shown: list[object] = []
    for each in done:
        if each.changes and each.changes not in shown:
            # Replicas mostly get the same.
            shown.append(each.changes)
            # All that would be deleted here is shown; it comes first.
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
    from devctl.client.files.names import named  # noqa: PLC0415 - heavy

    return list(dict.fromkeys(named([name]) for each in done for name in each.changed))


def _glance(folder: Path, options: SyncOptions) -> Callable[[], object]:
    """What tells whether something in a folder has changed."""
    from devctl.client.files import sync as files_sync  # noqa: PLC0415 - heavy

    def look() -> object:
        # Its content is looked at once something has changed.
        return files_sync.choose(folder, options, lambda _entry: True).entries

    return look


def _watch(once: Callable[[], Sequence[Synced]], glance: Callable[[], object] | None) -> None:
    from devctl.client.files.files import watch as watching  # noqa: PLC0415 - heavy

    def lost(error: Exception) -> None:
        click.echo(f"{error}; trying again", err=True)

    told: set[str] = set()
    first = True
    for done in watching(once, glance, lost):
        show(done, quiet=not first)
        if first:
            tell_of_secrets(done[0].secrets)
            tell_of_git(done[0].git)
            click.echo("watching; Ctrl-C ends it", err=True)
        first = False
        for what in (what for each in done for what in each.left_out):
            if what not in told:
                told.add(what)
                click.echo(f"left out: {one_line(what)}", err=True)
