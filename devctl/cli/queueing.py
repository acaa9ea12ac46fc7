"""What is said of queues: why a server or job waits, and what keeps a new one from starting."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.api.messages import listed
from devctl.cli.facts import fact
from devctl.cli.screen import columns
from devctl.cli.times import until
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from devctl.cli.results import Results
    from devctl.client.client import Client
    from devctl.client.queues.limits import Limit
    from devctl.client.queues.waiting import Holder, Waiting
    from devctl.client.servers import Server

_EFFECTS = {"never": "it could not start", "waits": "it would wait"}


def queue_facts(
    waiting: Waiting, said: str, now: datetime | None = None
) -> Iterator[tuple[str, str]]:
    """Labels and facts about what waits; a further line has an empty label.

    `said` is the message of its status, which usually has the reason already.
    """
    place = f"place {waiting.place} in the" if waiting.place else "in the"
    whose = f"queue of team `{waiting.team}`" if waiting.team else f"queue `{waiting.queue}`"
    yield "Queue", f"{place} {whose} for flavor `{waiting.flavor}`"
    if waiting.why not in said:
        yield "", waiting.why
    if quota := waiting.quota:
        lent = f", {quota.most - quota.pods} more if other teams lend" * (quota.most > quota.pods)
        yield "Quota", f"{quota.used} of {_pods(quota.pods)} in use{lent}"
    holders = [_holder(holder, now) for holder in waiting.holders]
    if waiting.unseen:
        holders.append(f"others that you may not see ({_pods(waiting.unseen)})")
    if holders:
        yield "Held by", listed(holders)
    if waiting.fits:
        yield "Would fit", f"flavor {listed([f'`{name}`' for name in waiting.fits])}, now"
    if waiting.estimate:
        yield "Starts", f"{until(waiting.estimate, now)} at the latest, {waiting.basis}"
    elif waiting.basis:
        yield "Starts", waiting.basis


def say_queues(client: Client, servers: Iterable[Server]) -> None:
    """Say more about those servers that wait in a queue."""
    width = columns(sys.stdout)
    for server in servers:
        if waiting := client.servers.waiting_for(server):
            click.echo(f"\n{one_line(server.name)}:")
            for label, text in queue_facts(waiting, server.message):
                for line in fact(label, one_line(text), max(0, width - 2)):
                    click.echo(f"  {line}")


def say_limits(limits: Sequence[Limit], results: Results) -> None:
    """Say what would keep a new server from starting at once."""
    if results.quiet:
        return
    for limit in limits:
        effect = _EFFECTS[limit.effect]
        click.echo(f"{effect}: {limit.name}: {one_line(limit.message)}", err=True)
    if not limits:
        click.echo("nothing keeps it from starting at once", err=True)


def _holder(holder: Holder, now: datetime | None) -> str:
    ends = f", deleted {until(holder.expires_at, now)}" if holder.expires_at else ""
    return f"{holder} ({_pods(holder.pods)}{ends})"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"
