"""A warning where devctl here and in the cluster are too far apart."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from devctl.cli.screen import is_terminal
from devctl.errors import DevctlError
from devctl.text import one_line

if TYPE_CHECKING:
    from devctl.client.client import Client


def warn(client: Client) -> None:
    """Warn a person, once a day for each cluster; programs, which use -o, are told nothing."""
    source = click.get_current_context().get_parameter_source("output")
    if not is_terminal(sys.stderr) or source is click.core.ParameterSource.COMMANDLINE:
        return
    from devctl.client.settings import due, skew  # noqa: PLC0415 - once a day

    if due(client.cluster.server):
        with suppress(DevctlError):
            if said := skew(client.cluster):
                click.echo(f"warning: {one_line(said)}", err=True)
