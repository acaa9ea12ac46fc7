"""`devctl update` and `devctl extend`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.api.durations import parse_duration
from devctl.cli.create import chosen, server_options
from devctl.cli.options import connected, duration, server_name, server_names
from devctl.cli.results import Results, changes
from devctl.cli.times import until
from devctl.cli.waiting import say_restart
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client


@click.command()
@server_name
@server_options(new=False)
@changes()
@connected
def update(client: Client, name: str, results: Results, **asked: Any) -> None:
    """Change a server's spec; what is not named stays as it is.

    A running server keeps its pods: changes to them take effect at the next start, and
    RestartRequired names them. Homes only grow. `devctl extend` changes its time to live.

    \b
    Examples:
      devctl update my-dev --flavor gpu-large
      devctl update training-job --replicas 8 --nccl NCCL_DEBUG=INFO
    """
    server = client.servers.get(name)
    changed = client.servers.update(server, **chosen(**asked))
    results.add(changed, "unchanged" if changed.spec == server.spec else "updated")
    if not results.quiet:
        say_restart(client, changed)


@click.command()
@server_names
@click.option("--ttl", type=duration, metavar="D", help="Keep it this long from now, e.g. 3d.")
@click.option("--idle", type=duration, metavar="D", help="Idle limit; recorded, not enforced yet.")
@changes()
@connected
def extend(
    client: Client,
    servers: Sequence[str],
    ttl: int | str | None,
    idle: int | str | None,
    results: Results,
) -> None:
    """Give servers more time before they are deleted.

    \b
    Examples:
      devctl extend my-dev --ttl 3d
      devctl extend my-dev --idle 8h
    """
    if ttl is None and idle is None:
        raise UsageError("nothing to extend", "specify --ttl or --idle")
    for server in [client.servers.get(name) for name in servers]:
        changed = client.servers.extend(server, ttl=ttl, idle=idle)
        results.add(changed, "extended")
        if ttl is not None and not results.quiet:
            # By its spec, as its status is a moment late.
            expires = changed.created_at + parse_duration(changed.lifecycle["timeToLive"])
            click.echo(f"it expires {until(expires)}; its files are kept", err=True)
