"""Options that several `devctl local` commands share."""

from __future__ import annotations

from ipaddress import IPv4Network

import click

name_option = click.option(
    "--name",
    metavar="NAME",
    default="devctl",
    show_default=True,
    envvar="DEVCTL_LOCAL_NAME",
    help="Which local cluster: there can be several.",
)


class NetworkType(click.ParamType[IPv4Network]):
    """An IPv4 range in CIDR form."""

    name = "cidr"

    def convert(
        self, value: str | IPv4Network, param: click.Parameter | None, ctx: click.Context | None
    ) -> IPv4Network:
        """Parse the range."""
        try:
            return IPv4Network(value)
        except ValueError as error:
            self.fail(f"`{value}` is not an IPv4 range: {error}", param, ctx)
