"""`devctl admin flavor create`, `cordon` and `uncordon`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.api.prices import CURRENCY, parse_amount
from devctl.cli import names
from devctl.cli.options import command, connected, dry_run_option
from devctl.cli.results import Results, changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client

_RESOURCE = "devserverflavor"


def _label(text: str) -> tuple[str, str]:
    """The type of an option that takes a node label."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"`{text}` is not a label: write NAME=VALUE")
    return name, value


def amount(text: str) -> str:
    """The type of an option that takes an amount of money."""
    try:
        parse_amount(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return text


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--cpu", metavar="N", required=True, help="Cores that each pod requests.")
@click.option("--memory", metavar="SIZE", required=True, help="Memory that each pod requests.")
@click.option("--gpus", type=click.IntRange(min=1), metavar="N", help="GPUs of each pod.")
@click.option("--cpu-limit", metavar="N", help="Cores that a pod may use.  [default: all]")
@click.option("--memory-limit", metavar="SIZE", help="Memory that it may use.  [default: --memory]")
@click.option("--node-label", type=_label, multiple=True, metavar="K=V", help="Of its nodes.")
@click.option("--default", is_flag=True, help="For servers that name no flavor.")
@click.option("--price", type=amount, metavar="AMOUNT", help="What an hour of a pod costs.")
@click.option("--gpu-price", type=amount, metavar="AMOUNT", help="And each GPU in addition.")
@click.option("--currency", default=CURRENCY, show_default=True, help="Of both prices.")
@dry_run_option
@changes(_RESOURCE)
@connected
def create(
    client: Client,
    name: str,
    node_label: Sequence[tuple[str, str]],
    dry_run: str,
    results: Results,
    **asked: Any,
) -> None:
    """Create a flavor: what each pod of a server gets, and on which nodes.

    \b
    Examples:
      devctl admin flavor create cpu-small --cpu 500m --memory 1Gi --default
      devctl admin flavor create gpu-large --cpu 8 --memory 32Gi --gpus 1 \\
        --node-label instance-type=g4dn.xlarge --price 1.20 --gpu-price 2.50 --currency EUR
    """
    made = client.flavors.create(
        name, node_labels=dict(node_label), dry_run=dry_run != "none", **asked
    )
    results.add(made, "created" if dry_run == "none" else "created (server dry run)")


@click.command()
@click.argument("name", metavar="NAME", shell_complete=names.flavors)
@changes(_RESOURCE)
@connected
def cordon(client: Client, name: str, results: Results) -> None:
    """Refuse new servers of a flavor. Servers that have it keep running, stop and start.

    Other servers cannot change to it, and it is no longer suggested.

    \b
    Examples:
      devctl admin flavor cordon gpu-large
    """
    found = client.flavors.get(name)
    cordoned = client.flavors.cordon(found)
    results.add(cordoned, "already cordoned" if found.cordoned else "cordoned")
    if results.quiet:
        return
    if cordoned.default:
        click.echo("it is the default flavor: new servers now have to name another one", err=True)
    click.echo(f"undo: {command(f'admin flavor uncordon {name}')}", err=True)


@click.command()
@click.argument("name", metavar="NAME", shell_complete=names.cordoned_flavors)
@changes(_RESOURCE)
@connected
def uncordon(client: Client, name: str, results: Results) -> None:
    """Take new servers of a cordoned flavor again.

    \b
    Examples:
      devctl admin flavor uncordon gpu-large
    """
    found = client.flavors.get(name)
    did = "uncordoned" if found.cordoned else "already uncordoned"
    results.add(client.flavors.uncordon(found), did)
