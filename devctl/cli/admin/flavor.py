"""`devctl admin flavor create`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli.options import connected, dry_run_option
from devctl.cli.results import Results, changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client


def _label(text: str) -> tuple[str, str]:
    """The type of an option that takes a node label."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"`{text}` is not a label: write NAME=VALUE")
    return name, value


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--cpu", metavar="N", required=True, help="Cores that each pod requests.")
@click.option("--memory", metavar="SIZE", required=True, help="Memory that each pod requests.")
@click.option("--gpus", type=click.IntRange(min=1), metavar="N", help="GPUs of each pod.")
@click.option("--cpu-limit", metavar="N", help="Cores that a pod may use.  [default: all]")
@click.option("--memory-limit", metavar="SIZE", help="Memory that it may use.  [default: --memory]")
@click.option("--node-label", type=_label, multiple=True, metavar="K=V", help="Of its nodes.")
@click.option("--default", is_flag=True, help="For servers that name no flavor.")
@dry_run_option
@changes("devserverflavor")
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
        --node-label instance-type=g4dn.xlarge
    """
    made = client.flavors.create(
        name, node_labels=dict(node_label), dry_run=dry_run != "none", **asked
    )
    results.add(made, "created" if dry_run == "none" else "created (server dry run)")
