"""Metrics of the nodes' agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from devctl.api.node_activity import FRESH_SECONDS
from devctl_observer.control.figures import PREFIX, REGISTRY
from devctl_observer.kinds.activity.reports import Reports


class _Exported(Collector):
    """Exports the nodes that exist."""

    reports: Reports | None = None

    def describe(self) -> Sequence[GaugeMetricFamily]:
        """The metrics without values."""
        return (
            GaugeMetricFamily(
                f"{PREFIX}node_agent_report_age_seconds",
                "How long ago the node's agent last reported; since this process knows the node if "
                "it has not reported since.",
                labels=["node"],
            ),
            GaugeMetricFamily(
                f"{PREFIX}node_agents_missing",
                "Nodes whose agent has not reported for 150 s: servers on them count as active.",
            ),
        )

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The metrics of the process's nodes."""
        each, missing = self.describe()
        ages = self.reports.ages() if self.reports else {}
        for node, age in ages.items():
            each.add_metric([node], age)
        missing.add_metric([], sum(age > FRESH_SECONDS for age in ages.values()))
        return each, missing


_EXPORTED = _Exported()
REGISTRY.register(_EXPORTED)


def export(reports: Reports) -> None:
    """Export a process's reports from now on."""
    _EXPORTED.reports = reports
