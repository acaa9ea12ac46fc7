"""What people are told after any command: servers that stop soon, budgets, and old releases."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from devctl.cli.endings import run_warning
from devctl.cli.hold import idle_warning
from devctl.client.settings import due, skew
from devctl.errors import DevctlError
from devctl.text import one_line

if TYPE_CHECKING:
    from devctl.client.client import Client

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 24 * 3600.0
_MOST = 5
"""A namespace may have hundreds of servers."""


def say_notices(client: Client) -> None:
    """Warn of servers at most once a minute, of budgets once an hour, of releases once a day."""
    server = client.cluster.server
    said: list[str] = []
    with suppress(DevctlError):
        if due("idle", f"{server} {client.namespace}", _MINUTE):
            for one in client.servers.list():
                said += filter(None, [idle_warning(one), run_warning(one)])
        if due("budget", f"{server} {client.namespace}", _HOUR):
            said += client.usage.notices()
        if due("skew", server, _DAY):
            said += filter(None, [skew(client.cluster)])
    for line in said[:_MOST]:
        click.echo(f"warning: {one_line(line)}", err=True)
