"""The board `GPUs and idleness`: who occupies GPUs without using them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boards.panels import FLAVOR, Query, board, graph, number, or_zero, values_of
from grafana_foundation_sdk.models import units

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

_GPUS = f"devctl_observer_devserver_gpus{{{FLAVOR}}}"
_IDLE = f"devctl_observer_idle_gpus{{{FLAVOR}}}"


def gpus() -> Dashboard:
    """The board."""
    return board(
        "GPUs and idleness",
        "GPUs that dev servers occupy, those in servers that are idle, and what measures it.",
        [values_of("flavor", "devctl_observer_devserver_gpus")],
        [
            number(
                "GPUs",
                "GPUs that running dev servers request.",
                units.Short,
                or_zero(f"sum({_GPUS})"),
            ),
            number(
                "Idle GPUs",
                "GPUs of servers that have been idle for their idleTimeout.",
                units.Short,
                or_zero(f"sum({_IDLE})"),
            ),
            number(
                "Idle share",
                "The part of these GPUs that is idle.",
                units.PercentUnit,
                or_zero(f"sum({_IDLE}) / clamp_min(sum({_GPUS}), 1)"),
                bad=0.5,
            ),
            number(
                "Missing agents",
                "Nodes whose agent does not report: their servers count as active.",
                units.Short,
                "sum(devctl_observer_node_agents_missing)",
                bad=1,
            ),
            graph(
                "GPUs by flavor",
                "GPUs that running dev servers request.",
                units.Short,
                Query(f"sum by (flavor) ({_GPUS})", "{{flavor}}"),
                stacked=True,
            ),
            graph(
                "Idle GPUs by flavor",
                "GPUs of servers that have been idle for their idleTimeout. Servers without an "
                "idleTimeout are never idle.",
                units.Short,
                Query(f"sum by (flavor) ({_IDLE})", "{{flavor}}"),
                stacked=True,
            ),
            graph(
                "Idle GPU hours of a day",
                "The GPU hours of the day before in which servers were idle.",
                units.Hours,
                Query(f"flavor:devctl_observer_idle_gpus:hours1d{{{FLAVOR}}}", "{{flavor}}"),
            ),
            graph(
                "Idle servers by flavor",
                "Running servers that have been idle for their idleTimeout: held ones, and those "
                "without autoShutdown.",
                units.Short,
                Query(
                    f"sum by (flavor) (devctl_observer_idle_servers{{{FLAVOR}}})",
                    "{{flavor}}",
                ),
            ),
            graph(
                "Stopped for being idle",
                "Servers that devctl stopped in an hour because nobody used them.",
                units.Short,
                Query(
                    'sum(increase(devctl_observer_devserver_stops_total{reason="IdleStopped"}[1h]))',
                    "stopped",
                ),
            ),
            graph(
                "Idleness not known",
                "How long it has not been known whether a running server is active, by its "
                "verdict. While it is not known, the server is kept.",
                units.Seconds,
                Query(
                    "max by (verdict) (devctl_observer_idle_verdict_age_seconds)",
                    "{{verdict}}",
                ),
            ),
            graph(
                "Last report by node",
                "How long ago the agent of each node reported; healthy ones do once a minute.",
                units.Seconds,
                Query(
                    "max by (node) (devctl_observer_node_agent_report_age_seconds)",
                    "{{node}}",
                ),
                width=24,
            ),
        ],
    )
