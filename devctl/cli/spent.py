"""What servers have cost this month, beside other facts about them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from devctl.api.prices import in_cents
from devctl.errors import DeniedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from devctl.client.client import Client
    from devctl.client.servers import Server
    from devctl.client.usage import Spending


def money(amount: int, currency: str) -> str:
    """An amount in millionths, for people; empty without a price."""
    return f"{in_cents(amount)} {currency}" if currency else ""


def spent_by_server(client: Client, where: str | None) -> Callable[[Server], str]:
    """The text for each server; empty if nobody accounts, or if the user may not see it."""
    from devctl.client.usage import summed  # noqa: PLC0415 - heavy

    sums: defaultdict[str, list[str]] = defaultdict(list)
    try:
        lines = client.usage.lines(namespace=where)
    except (DeniedError, NotFoundError):
        lines = ()
    for uid in {line.key.uid for line in lines if line.key.uid}:
        for row in summed((line for line in lines if line.key.uid == uid), "server"):
            if row.currency:
                sums[uid].append(money(row.spent, row.currency))
    return lambda server: ", ".join(sums.get(server.uid, ()))


def spending_of(client: Client, server: Server) -> Sequence[Spending]:
    """What a server has cost this month; nothing if the user may not see it."""
    try:
        return client.usage.of_server(server.name, server.uid)
    except (DeniedError, NotFoundError):
        return ()


def spent_facts(rows: Sequence[Spending]) -> Iterator[str]:
    """The lines of a server's page."""
    for row in rows:
        if not row.currency:
            continue
        text = f"{money(row.spent, row.currency)} this month"
        text += f", {money(row.idle, row.currency)} of it idle" if row.idle else ""
        text += f"; {money(row.saved, row.currency)} saved by stopping" if row.saved else ""
        yield text
