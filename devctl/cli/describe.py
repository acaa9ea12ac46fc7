"""`devctl describe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.api.devserver import Condition
from devctl.cli.endings import ending_facts
from devctl.cli.hold import idle_facts
from devctl.cli.options import command, connected, output, server_name
from devctl.cli.page import Table, print_page
from devctl.cli.queueing import queue_facts
from devctl.cli.spent import spending_of, spent_facts
from devctl.cli.tables import Column
from devctl.cli.times import age

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from devctl.client.client import Client
    from devctl.client.queues.waiting import Waiting
    from devctl.client.servers import Server
    from devctl.client.usage import Spending

_REPLICAS = [
    Column("POD", lambda replica: replica.pod),
    Column("PHASE", lambda replica: replica.phase),
    Column("REASON", lambda replica: replica.reason),
    Column("NODE", lambda replica: replica.node),
    Column("RESTARTS", lambda replica: replica.restarts, spare=True),
]
_HOOKS = [
    Column("AGE", lambda hook: age(hook.at)),
    Column("HOOK", lambda hook: hook.name),
    Column("REPLICA", lambda hook: hook.replica),
    Column("EVENT", lambda hook: hook.event),
    Column("RESULT", lambda hook: hook.result),
    Column("SECONDS", lambda hook: hook.seconds, spare=True),
    Column("MESSAGE", lambda hook: hook.output),
]


@click.command()
@server_name
@output("text", "json", "yaml", "name")
@connected
def describe(client: Client, name: str, output: str) -> None:
    """Show all about a server: its state and why, its pods, how to use it.

    \b
    Examples:
      devctl describe my-dev
      devctl describe my-dev -o yaml
    """
    server = client.servers.get(name)
    if output == "name":
        click.echo(f"devserver/{server.name}")
    else:
        told: Iterable[tuple[str, str]] = ()
        if output == "text":
            from devctl.client.policies import limits_of  # noqa: PLC0415 - heavy

            told = facts(
                server,
                client.servers.waiting_for(server),
                limits_of(client.cluster, server),
                spending_of(client, server),
            )
        print_page(
            server,
            output,
            told,
            lambda: client.events.list(server=name),
            tables(server),
        )


def tables(server: Server) -> list[Table]:
    """The tables of a server's page, but for its events."""
    return [Table("Replicas", _REPLICAS, server.replicas), Table("Hooks", _HOOKS, server.hooks)]


def facts(
    server: Server,
    waiting: Waiting | None = None,
    limits: Sequence[str] = (),
    spending: Sequence[Spending] = (),
) -> Iterator[tuple[str, str]]:
    """The labels and facts of a server's page.

    Args:
        server: The server.
        waiting: Why it waits in a queue, if it does.
        limits: What administrators limit in its lifecycle.
        spending: What it has cost.
    """
    yield "Name", server.name
    yield "Namespace", server.namespace
    yield "Owner", server.owner
    plain = server.reason in {"", server.phase}
    yield "Phase", str(server.phase) if plain else f"{server.phase} ({server.reason})"
    if server.message:
        yield "", server.message
    if waiting:
        yield from queue_facts(waiting, server.message)
    yield from _warnings(server)
    yield "Flavor", server.flavor or "(the default)"
    yield "Image", server.image
    yield "Mode", _mode(server)
    yield "Age", age(server.created_at)
    yield from ending_facts(server)
    for number, words in enumerate(idle_facts(server)):
        yield "" if number else "Idle", words
    for number, words in enumerate(limits):
        yield "" if number else "Limits", words
    for number, words in enumerate(spent_facts(spending)):
        yield "" if number else "Spent", words
    yield "Home", _homes(server)
    if shared := server.spec.get("sharedVolumeClaimName"):
        yield "Shared", f"{shared} at /shared"
    for number, words in enumerate(_uses(server)):
        yield "" if number else "Use", words


def _warnings(server: Server) -> Iterator[tuple[str, str]]:
    for kind in (Condition.APPLIED, Condition.RESTART_REQUIRED, Condition.FLAVOR_OUTDATED):
        found = server.condition(kind)
        bad = "False" if kind is Condition.APPLIED else "True"
        message = str(found.get("message", ""))
        if found.get("status") == bad and message != server.message:
            yield "Note", message


def _mode(server: Server) -> str:
    if server.mode != "distributed":
        return server.mode
    backend = (server.spec.get("distributed") or {}).get("backend", "nccl")
    return f"distributed: {server.size} pods of {server.processes}, {backend}"


def _homes(server: Server) -> str:
    """The claims of any number of homes, and their size."""
    first, *more = server.homes
    size = server.spec.get("persistentHomeSize") or ""
    if not more:
        return f"{first}, {size}" if size else first
    between = ", " if len(more) == 1 else " … "
    return f"{first}{between}{more[-1]}" + (f", {size} each" if size else "")


def _uses(server: Server) -> Iterator[str]:
    name = server.name
    if server.stopped:
        yield command(f"start {name}")
        return
    if server.ready and server.ssh:
        yield command(f"ssh {name}")
    yield command(f"run {name} train.py" if server.ready else f"status {name} --watch")
    yield command(f"stop {name}")
