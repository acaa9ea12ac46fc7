"""`devctl workers keys`: the group of its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import times
from devctl.cli.lazy import SectionedGroup
from devctl.cli.options import output, seconds
from devctl.cli.results import print_document, print_items
from devctl.cli.tables import Column
from devctl.cli.times import age, until
from devctl.cli.workers.options import served

if TYPE_CHECKING:
    from devctl.client.workers.generated.models import Key, MadeKey
    from devctl.client.workers.workers import Workers


def _ends(key: Key | MadeKey) -> str:
    if key.revoked_at:
        return f"revoked {age(key.revoked_at)} ago"
    if key.expires_at and key.expires_at <= times.now():
        return f"expired {age(key.expires_at)} ago"
    return until(key.expires_at) if key.expires_at else "never"


COLUMNS = [
    Column("ID", lambda key: key.id),
    Column("NAME", lambda key: key.name),
    Column("PREFIX", lambda key: key.prefix, spare=True),
    Column("ENDS", _ends),
    Column("USED", lambda key: f"{age(key.last_used_at)} ago" if key.last_used_at else "never"),
    Column("AGE", lambda key: age(key.created_at), spare=True),
]
_FORMATS = output("text", "json", "yaml")
_key_id = click.argument("key_id", metavar="KEY")


@click.group(cls=SectionedGroup)
def keys() -> None:
    """API keys of your account, for programs that cannot log in: DEVCTL_WORKERS_TOKEN takes one.

    A key cannot make another one: that needs a login.

    \b
    Examples:
      devctl workers keys create ci --expires 30d
      devctl workers keys list
      devctl workers keys revoke KEY
    """


@keys.command("list", short_help="List keys, and when they end")
@output("table", "json", "yaml")
@served
def list_(workers: Workers, output: str) -> None:
    """List keys, and when they end; those that have ended, too. None is shown itself.

    \b
    Examples:
      devctl workers keys list
    """
    print_items(workers.keys.list(), output, COLUMNS, "key", empty="no keys")


@keys.command(short_help="Make a key, and print it once")
@click.argument("name", metavar="NAME")
@click.option("--expires", type=seconds, metavar="D", help="After how long.  [default: 90d]")
@_FORMATS
@served
def create(workers: Workers, name: str, expires: float | None, output: str) -> None:
    """Make a key, and print it: it is shown this once. NAME says what it is for.

    \b
    Examples:
      DEVCTL_WORKERS_TOKEN=$(devctl workers keys create ci --expires 30d)
    """
    made = workers.keys.create(name, seconds=None if expires is None else int(expires))
    _print(made, output)


@keys.command(short_help="Make a key in another one's place")
@_key_id
@click.option(
    "--overlap", type=seconds, metavar="D", help="How long the old one is valid.  [default: 10m]"
)
@_FORMATS
@served
def rotate(workers: Workers, key_id: str, overlap: float | None, output: str) -> None:
    """Make a key in another one's place, and print it. A key can be rotated with itself.

    \b
    Examples:
      devctl workers keys rotate KEY --overlap 1h
    """
    _print(workers.keys.rotate(key_id, overlap=None if overlap is None else int(overlap)), output)


@keys.command(short_help="End a key now")
@_key_id
@served
def revoke(workers: Workers, key_id: str) -> None:
    """End a key now; nothing if it has ended already.

    \b
    Examples:
      devctl workers keys revoke KEY
    """
    workers.keys.revoke(key_id)
    click.echo(f"key/{key_id} revoked")


def _print(made: MadeKey, output: str) -> None:
    if output != "text":
        print_document(made.raw, output)
        return
    click.echo(made.key)
    click.echo(f"this is key {made.id}, which ends: {_ends(made)}; it is shown this once", err=True)
