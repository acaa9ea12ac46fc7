"""`devctl admin user create` and `update`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.cli import names
from devctl.cli.admin.budget import budget, budget_options
from devctl.cli.admin.shared_storage import shared_options, shared_storage
from devctl.cli.options import command, connected, dry_run_option, stacked
from devctl.cli.results import Results, changes
from devctl.cli.waiting import live_line, patience, waits

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.users import Spec, User

RESOURCE = "devserveruser"
_BOUNDS = ("gpus", "cpu", "memory", "storage", "servers")
user_name = click.argument("name", metavar="NAME", shell_complete=names.users)


_COUNT = click.IntRange(min=0)
_decided = stacked(
    click.option("--email", metavar="ADDRESS", help="Where the user can be reached."),
    click.option("--group", multiple=True, metavar="G", help="Group in certificates."),
    click.option("--gpus", type=_COUNT, metavar="N", help="Quota: GPUs."),
    click.option("--cpu", metavar="N", help="Quota: cores."),
    click.option("--memory", metavar="SIZE", help="Quota: memory, for example 128Gi."),
    click.option("--storage", metavar="SIZE", help="Quota: all volumes together."),
    click.option("--servers", type=_COUNT, metavar="N", help="Quota: servers."),
    click.option(
        "--flavor",
        metavar="F",
        shell_complete=names.flavors,
        help="Flavor of servers that name none.",
    ),
    click.option("--team", metavar="T", shell_complete=names.teams, help="The user's team."),
    click.option("--no-team", is_flag=True, help="Leave the team."),
    click.option(
        "--priority",
        type=click.Choice(["low", "normal", "high"]),
        help="Highest priority of servers in the team's queue.",
    ),
    shared_options("all servers"),
    budget_options,
)
"""What an administrator decides."""


def decided(*, group: tuple[str, ...] = (), **given: Any) -> Spec:
    """What the options say of a user.

    >>> decided(gpus=2, cpu=None, shared="1Gi", shared_class=None, flavor="small")
    {'quota': {'gpus': 2}, 'default_flavor': 'small', 'shared_storage': {'size': '1Gi'}}

    Raises:
        BadParameter: A class is named for no volume.
    """
    spec: Spec = {}
    if email := given.get("email"):
        spec["email"] = email
    if group:
        spec["groups"] = list(group)
    if quota := {name: given[name] for name in _BOUNDS if given.get(name) is not None}:
        spec["quota"] = quota
    if flavor := given.get("flavor"):
        spec["default_flavor"] = flavor
    if given.get("team") or given.get("no_team"):
        spec["team"] = None if given.get("no_team") else given["team"]
    if priority := given.get("priority"):
        spec["priority"] = priority
    if shared := shared_storage(given.get("shared"), given.get("shared_class")):
        spec["shared_storage"] = shared
    found = budget(given)
    if found or found is None:
        spec["budget"] = found
    return spec


@click.command()
@click.argument("username", metavar="USER")
@click.option("--name", metavar="NAME", help="Short name.  [default: made of USER]")
@click.option("--user-namespace", metavar="NS", help="The namespace.  [default: dev-NAME]")
@_decided
@waits
@patience
@dry_run_option
@changes(RESOURCE)
@connected
def create(
    client: Client,
    username: str,
    name: str | None,
    user_namespace: str | None,
    dry_run: str,
    results: Results,
    timeout: float,
    *,
    wait: bool,
    **given: Any,
) -> None:
    """Create USER, named as the API server knows them, with a namespace, rights and quota.

    \b
    Examples:
      devctl admin user create alice --gpus 2 --servers 3
      devctl admin user create oidc:alice@company.com --name alice --flavor gpu-large
    """
    spec = decided(**given)
    if user_namespace:
        spec["namespace"] = user_namespace
    if dry_run != "none":
        made = client.users.create(username, name=name, dry_run=True, **spec)
        results.add(made, "created (server dry run)")
        return
    made = client.users.create(username, name=name, **spec)
    results.add(made, "created")
    if wait:
        left = f"`{made.name}` keeps being set up: see {command('admin user list')}"
        with live_line(made.name, f"namespace {made.space} is being set up", left) as line:

            def progress(seen: User) -> None:
                if seen.message:  # else there is nothing to say yet
                    line.show(f"{seen.name}: {seen.message}")

            made = client.users.wait_ready(made.name, timeout, progress)
        results.add(made, "ready")
    if not results.quiet:
        next_ = command(f"admin user kubeconfig {made.name} --file {made.name}.yaml")
        click.echo(f"next: {next_}", err=True)


@click.command()
@user_name
@_decided
@changes(RESOURCE)
@connected
def update(client: Client, name: str, results: Results, **given: Any) -> None:
    """Change what is decided for a user. What is not named stays.

    \b
    Examples:
      devctl admin user update alice --gpus 4
      devctl admin user update alice --flavor gpu-large --storage 1Ti
    """
    spec = decided(**given)
    if not spec:
        raise click.UsageError("nothing to change: name at least one option")
    results.add(client.users.change(name, **spec), "changed")
