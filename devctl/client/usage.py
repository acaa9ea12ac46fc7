"""What ran in a month, and what it cost."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from devctl.api.kinds import GPU_WORKLOAD, JOB, USAGE, VLLM_RUN
from devctl.api.prices import HOUR, rounded, write_amount
from devctl.api.usage import OTHERS, Amounts, LineKey, month_of, read_line
from devctl.client.objects import Collection
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from devctl.kube.cluster import Object

By = Literal["user", "flavor", "server"]


@dataclass(frozen=True)
class Line:
    """What ran of one server, or of the jobs or workloads of one user, at one price."""

    namespace: str
    key: LineKey
    amounts: Amounts


@dataclass(frozen=True)
class Spending:
    """What one user, flavor or server has cost, in one currency."""

    what: str
    """The name of the user, flavor or server."""
    currency: str
    """Empty for what has no price."""
    amounts: Amounts
    namespace: str = ""
    """Of a server."""

    @property
    def hours(self) -> float:
        """Hours of pods."""
        return self.amounts.seconds / HOUR

    @property
    def gpu_hours(self) -> float:
        """Hours of GPUs."""
        return self.amounts.gpu_seconds / HOUR

    @property
    def idle_hours(self) -> float:
        """Hours of pods of idle servers; part of `hours`."""
        return self.amounts.idle_seconds / HOUR

    @property
    def spent(self) -> int:
        """What it has cost, in millionths of the currency."""
        return rounded(self.amounts.cost)

    @property
    def idle(self) -> int:
        """The part of it that was spent on idle servers, in millionths of the currency."""
        return rounded(self.amounts.idle_cost)

    @property
    def saved(self) -> int:
        """What stopping idle servers has saved, estimated, in millionths of the currency."""
        return rounded(self.amounts.saved_cost)

    @property
    def raw(self) -> dict[str, Any]:
        """For a document: seconds, and exact amounts of money."""
        amounts, priced = self.amounts, bool(self.currency)
        return {
            "name": self.what,
            "namespace": self.namespace or None,
            "seconds": amounts.seconds,
            "gpuSeconds": amounts.gpu_seconds,
            "idleSeconds": amounts.idle_seconds,
            "savedSeconds": amounts.saved_seconds,
            "currency": self.currency or None,
            "spent": write_amount(self.spent) if priced else None,
            "spentIdle": write_amount(self.idle) if priced else None,
            "saved": write_amount(self.saved) if priced else None,
        }


class Usage(Collection):
    """What ran and what it cost, as the observer has accounted it, some minutes ago at most."""

    def lines(
        self,
        month: str | None = None,
        namespace: str | None = None,
        *,
        owner: str | None = None,
        team: str | None = None,
    ) -> Sequence[Line]:
        """All lines of a month.

        Args:
            month: Such as `2026-11`, by UTC; default: this one.
            namespace: Where; devctl.EVERYWHERE for all, which takes an administrator.
            owner: Whose; None for everyone's.
            team: Whose quota was used; None for any.
        """
        fields = {"metadata.name": month or this_month()}
        found = self._cluster.list(USAGE, namespace, fields=fields)
        lines = (line for book in found for line in _lines(book))
        return [line for line in lines if _is_of(line.key, owner, team)]

    def spending(
        self,
        month: str | None = None,
        namespace: str | None = None,
        *,
        by: By = "server",
        owner: str | None = None,
        team: str | None = None,
    ) -> Sequence[Spending]:
        """The same, summed up by user, flavor or server; different currencies stay apart."""
        return summed(self.lines(month, namespace, owner=owner, team=team), by)

    def notices(self) -> Sequence[str]:
        """What the user of the namespace should know about budgets; nothing if all is well."""
        found = self._cluster.find(USAGE, this_month())
        return [str(line) for line in (found or {}).get("spec", {}).get("notices", [])]

    def of_server(self, name: str, uid: str) -> Sequence[Spending]:
        """What a server has cost this month, in each currency."""
        lines = [line for line in self.lines() if line.key.uid == uid and line.key.name == name]
        return summed(lines, "server")


def this_month() -> str:
    """The current month, by UTC."""
    return month_of(int(datetime.now(UTC).timestamp()))


def check_month(month: str) -> str:
    """A month such as `2026-11`; raises UsageError for anything else.

    >>> check_month("2026-11")
    '2026-11'
    """
    try:
        found = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        found = None
    if found is None or f"{found:%Y-%m}" != month:
        raise UsageError(f"`{month}` is not a month", "write for example `2026-11`")
    return month


def summed(lines: Iterable[Line], by: By) -> Sequence[Spending]:
    """Lines summed up, by name and currency."""
    sums: defaultdict[tuple[str, str, str], Amounts] = defaultdict(Amounts)
    for line in lines:
        where = line.namespace if by == "server" else ""
        sums[_NAMES[by](line.key), where, line.key.price.currency] += line.amounts
    return [
        Spending(what, currency, amounts, where)
        for (what, where, currency), amounts in sorted(sums.items())
    ]


def totals(rows: Iterable[Spending]) -> Sequence[Spending]:
    """The sum of rows in each currency."""
    sums: defaultdict[str, Amounts] = defaultdict(Amounts)
    for row in rows:
        sums[row.currency] += row.amounts
    return [Spending("TOTAL", currency, amounts) for currency, amounts in sorted(sums.items())]


_UNNAMED = {JOB.name: "(jobs)", GPU_WORKLOAD.name: "(workloads)", VLLM_RUN.name: "(runs)"}
"""Of kinds whose objects share a line."""


def _server(key: LineKey) -> str:
    return _UNNAMED.get(key.kind, key.name)


_NAMES: dict[By, Callable[[LineKey], str]] = {
    "user": lambda key: key.owner or "(unknown)",
    "flavor": lambda key: OTHERS if key.name == OTHERS and not key.kind else key.flavor or "(none)",
    "server": _server,
}


def _lines(book: Object) -> Iterable[Line]:
    for raw in book["spec"].get("lines", []):
        key, amounts = read_line(raw)
        if amounts != Amounts():
            yield Line(book["metadata"]["namespace"], key, amounts)


def _is_of(key: LineKey, owner: str | None, team: str | None) -> bool:
    return (owner is None or key.owner == owner) and (team is None or key.team == team)
