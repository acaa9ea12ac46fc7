"""`devctl update`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli.options import connected, result_output, server_name
from devctl.cli.results import Results
from devctl.cli.server_options import chosen, server_options
from devctl.cli.waiting import say_restart

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@server_name
@server_options(new=False)
@result_output
@connected
def update(client: Client, name: str, output: str | None, **asked: Any) -> None:
    """Change a server's spec; what is not named stays as it is.

    A running server keeps its pods: changes to them take effect at the next start, and
    RestartRequired names them. Homes only grow. `devctl extend` changes its time to live.

    \b
    Examples:
      devctl update my-dev --flavor gpu-large
      devctl update training-job --replicas 8 --nccl NCCL_DEBUG=INFO
    """
    results = Results(output)
    server = client.servers.get(name)
    changed = client.servers.update(server, **chosen(**asked))
    same = changed.spec == server.spec
    results.add(changed, "unchanged" if same else "updated")
    if not results.quiet:
        say_restart(client, changed)
    results.print()
