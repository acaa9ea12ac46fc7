"""Metrics of what servers occupy, and of what is known about their idleness."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from devctl.api.conditions import find
from devctl.api.devserver import Condition, Phase
from devctl.api.idleness import Idleness
from devctl_observer.control.figures import PREFIX, REGISTRY
from devctl_observer.judging.conditions import TRUE
from devctl_observer.kinds.servers.idle_status import MEASURED
from devctl_observer.watching.store import Key

_VERDICTS = [verdict for verdict in Idleness if verdict is not Idleness.STOPPED]
_RUNNING = [verdict for verdict in _VERDICTS if verdict is not Idleness.NOT_RUNNING]


@dataclass(frozen=True)
class Use:
    """What is exported of a server."""

    flavor: str
    gpus: int
    """How many GPUs its pods request; 0 unless it runs."""
    verdict: str
    """The reason of its condition Idle; empty if it may be idle for ever."""
    is_idle: bool
    known: float
    """When its idleness was last known, or it was first seen to run, in monotonic seconds."""


class Uses:
    """What every server occupies, as of its last reconciliation."""

    def __init__(self, steady: Callable[[], float]) -> None:
        """Start empty, and become what is exported."""
        self.steady = steady
        self.known: dict[Key, Use] = {}
        _EXPORTED.uses = self

    def note(
        self,
        key: Key,
        status: Mapping[str, Any],
        flavor: str,
        gpus: int,
        judged: Idleness | None,
    ) -> None:
        """Note a reconciliation.

        Args:
            key: The server.
            status: Its new status.
            flavor: The flavor that its pods have or will have; empty if unknown.
            gpus: How many GPUs its pods request.
            judged: The verdict, which the status need not have; None if there is none yet.
        """
        said, before = find(status, Condition.IDLE), self.known.get(key)
        known = self.steady()
        if before and before.verdict not in {"", Idleness.NOT_RUNNING} and judged not in MEASURED:
            known = before.known
        self.known[key] = Use(
            flavor,
            gpus if status.get("phase") == Phase.RUNNING else 0,
            str(said.get("reason", "")),
            said.get("status") == TRUE,
            known,
        )

    def forget(self, key: Key) -> None:
        """Drop a deleted server."""
        self.known.pop(key, None)


class _Exported(Collector):
    """Exports the flavors of existing servers, and every verdict."""

    uses: Uses | None = None

    def describe(self) -> Sequence[GaugeMetricFamily]:
        """The metrics without values."""
        return (
            _gauge("devserver_gpus", "GPUs that running DevServers request.", "flavor"),
            _gauge(
                "idle_servers",
                "DevServers that have been idle for their idleTimeout, and run.",
                "flavor",
            ),
            _gauge("idle_gpus", "GPUs that idle DevServers request.", "flavor"),
            _gauge(
                "idle_verdicts",
                "DevServers with an idleTimeout, by the reason of their condition Idle.",
                "verdict",
            ),
            _gauge(
                "idle_verdict_age_seconds",
                "How long ago it was last known whether a running DevServer with an idleTimeout is "
                "active, of the one for which that is longest, by its verdict; 0 if there is none.",
                "verdict",
            ),
        )

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The metrics of the process's servers."""
        found = self.describe()
        uses = list(self.uses.known.values()) if self.uses else []
        now = self.uses.steady() if self.uses else 0.0
        idle = [use for use in uses if use.is_idle]
        flavors = sorted({use.flavor for use in uses})
        values: Sequence[Mapping[str, float]] = (
            {flavor: _gpus(uses, flavor) for flavor in flavors},
            {flavor: sum(use.flavor == flavor for use in idle) for flavor in flavors},
            {flavor: _gpus(idle, flavor) for flavor in flavors},
            {verdict: sum(use.verdict == verdict for use in uses) for verdict in _VERDICTS},
            {
                verdict: max((now - use.known for use in uses if use.verdict == verdict), default=0)
                for verdict in _RUNNING
            },
        )
        for metric, amounts in zip(found, values, strict=True):
            for label, amount in amounts.items():
                metric.add_metric([str(label)], amount)
        return found


def _gpus(uses: Iterable[Use], flavor: str) -> int:
    return sum(use.gpus for use in uses if use.flavor == flavor)


def _gauge(name: str, meaning: str, label: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{PREFIX}{name}", meaning, labels=[label])


_EXPORTED = _Exported()
REGISTRY.register(_EXPORTED)
