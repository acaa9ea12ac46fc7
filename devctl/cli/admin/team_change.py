"""`devctl admin team create`, `update` and `delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli import names
from devctl.cli.admin.budget import budget, budget_options
from devctl.cli.admin.shared_storage import shared_options, shared_storage
from devctl.cli.confirm import answers, confirm_names
from devctl.cli.options import command, connected, dry_run_option, stacked
from devctl.cli.results import Results, changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.teams import Spec

RESOURCE = "devserverteam"
team_name = click.argument("name", metavar="NAME", shell_complete=names.teams)


def quota(value: str) -> dict[str, str | int]:
    """The type of an option that takes a quota: FLAVOR=PODS or FLAVOR=PODS+BORROW.

    >>> quota("gpu-large=8+4")
    {'name': 'gpu-large', 'pods': 8, 'borrow': 4}
    """
    name, equals, amount = value.partition("=")
    pods, plus, borrow = amount.partition("+")
    if not name or not equals or not pods.isdecimal() or (plus and not borrow.isdecimal()):
        message = f"`{value}` is not a quota: write FLAVOR=PODS or FLAVOR=PODS+BORROW"
        raise click.BadParameter(message)
    return {"name": name, "pods": int(pods), **({"borrow": int(borrow)} if plus else {})}


_decided = stacked(
    click.option(
        "--flavor",
        "flavors",
        type=quota,
        multiple=True,
        metavar="F=N[+B]",
        help="Pods of a flavor, and how many more may be borrowed.  [default: no bound]",
    ),
    click.option("--cohort", metavar="C", help="Teams that lend each other quota."),
    click.option(
        "--members",
        type=click.Choice(["none", "view", "stop"]),
        help="What members may do to each other's servers.",
    ),
    shared_options("all members"),
    budget_options,
)
"""What an administrator decides."""


def decided(*, flavors: Sequence[dict[str, str | int]] = (), **given: Any) -> Spec:
    """What the options say of a team; flavors replace the earlier ones together.

    >>> decided(flavors=[{"name": "small", "pods": 2}], cohort=None, members="view")
    {'members': 'view', 'flavors': [{'name': 'small', 'pods': 2}]}

    Raises:
        BadParameter: A class is named for no volume.
    """
    shared = shared_storage(given.pop("shared", None), given.pop("shared_class", None))
    found = budget(given)
    spec: Any = {name: given[name] for name in ("cohort", "members") if given.get(name)}
    if found or found is None:
        spec["budget"] = found
    if flavors:
        spec["flavors"] = list(flavors)
    if shared:
        spec["shared_storage"] = shared
    made: Spec = spec
    return made


@click.command()
@click.argument("name", metavar="NAME")
@_decided
@dry_run_option
@changes(RESOURCE)
@connected
def create(client: Client, name: str, dry_run: str, results: Results, **given: Any) -> None:
    """Create a team: users who share a quota. Servers beyond it wait in a queue.

    \b
    Examples:
      devctl admin team create vision --flavor gpu-large=8 --flavor cpu-small=20
      devctl admin team create vision --flavor gpu-large=8+4 --members view
      devctl admin team create vision --flavor gpu-large=8 --shared 1Ti
    """
    made = client.teams.create(name, dry_run=dry_run != "none", **decided(**given))
    results.add(made, "created" if dry_run == "none" else "created (server dry run)")
    if not results.quiet:
        next_ = command(f"admin user update USER --team {name}")
        click.echo(f"next: {next_}", err=True)


@click.command()
@team_name
@_decided
@changes(RESOURCE)
@connected
def update(client: Client, name: str, results: Results, **given: Any) -> None:
    """Change what is decided for a team. What is not named stays; --flavor replaces all flavors.

    \b
    Examples:
      devctl admin team update vision --flavor gpu-large=12 --flavor cpu-small=20
      devctl admin team update vision --members stop
    """
    spec = decided(**given)
    if not spec:
        raise click.UsageError("nothing to change: name at least one option")
    results.add(client.teams.change(name, **spec), "changed")


@click.command()
@team_name
@answers
@changes(RESOURCE)
@connected
def delete(
    client: Client, name: str, confirm: Sequence[str], results: Results, *, yes: bool
) -> None:
    """Delete a team and its queues. Running servers continue; stopped ones cannot start.

    The files of the team's volume are kept.

    \b
    Examples:
      devctl admin team delete vision
    """
    team = client.teams.get(name)
    count = len(client.teams.users(name))
    confirm_names([name], confirm, f"this takes the quota of {count} users", yes=yes)
    results.add(client.teams.delete(team), "deleted")
