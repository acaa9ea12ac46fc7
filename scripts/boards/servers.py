"""The board `Servers and queues`: for those who run the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boards.panels import (
    FLAVOR,
    NAMESPACE,
    Query,
    board,
    graph,
    number,
    or_zero,
    percentile,
    values_of,
)
from grafana_foundation_sdk.models import units

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

_START = "devctl_observer_devserver_start_duration_seconds"
_QUEUE = "devctl_observer_devserver_queue_duration_seconds"


def _servers(*more: str) -> str:
    """The number of servers that the variables, and more, select."""
    return f"devctl_observer_devservers{{{', '.join([NAMESPACE, FLAVOR, *more])}}}"


def _sum_of(selector: str) -> str:
    return f"sum({_servers(selector)})"


def _waits(*more: str) -> str:
    """How long servers wait."""
    return f"devctl_observer_devserver_waiting_seconds{{{', '.join([NAMESPACE, *more])}}}"


def servers() -> Dashboard:
    """The board."""
    return board(
        "Servers and queues",
        "How many dev servers and jobs there are, how long they take to start, and what stops.",
        [
            values_of("namespace", "devctl_observer_devservers"),
            values_of("flavor", "devctl_observer_devservers"),
        ],
        [
            number(
                "Running servers",
                "Dev servers that are ready.",
                units.Short,
                or_zero(_sum_of('phase="Running"')),
            ),
            number(
                "Waiting servers",
                "Dev servers that should run and are not ready.",
                units.Short,
                or_zero(_sum_of('phase=~"Pending|Starting|Failed"')),
            ),
            number(
                "Longest wait",
                "How long a dev server has not been ready, at most; without those in queues.",
                units.Seconds,
                or_zero("max(" + _waits('reason!~"Queued|QuotaExceeded"') + ")"),
                bad=900,
            ),
            number(
                "Running jobs",
                "Jobs whose pod runs, of all namespaces.",
                units.Short,
                'sum(devctl_observer_jobs{phase="Running"})',
            ),
            graph(
                "Servers by phase",
                "Stopped servers keep their files and occupy nothing else.",
                units.Short,
                Query(f"sum by (phase) ({_servers()})", "{{phase}}"),
                stacked=True,
            ),
            graph(
                "Longest wait by reason",
                "How long a dev server has not been ready, at most, by the reason of Ready.",
                units.Seconds,
                Query(or_zero(f"max by (reason) ({_waits()})"), "{{reason}}"),
            ),
            graph(
                "Start time",
                "From creation or start to ready, with the time in a queue; of the hour before.",
                units.Seconds,
                *(
                    Query(or_zero(percentile(share, _START, FLAVOR)), f"{share:.0%}")
                    for share in (0.5, 0.95)
                ),
            ),
            graph(
                "Queue time",
                "Until admission by Kueue; of the hour before. 0 if nothing was admitted.",
                units.Seconds,
                *(
                    Query(or_zero(percentile(share, _QUEUE, FLAVOR)), f"{share:.0%}")
                    for share in (0.5, 0.95)
                ),
            ),
            graph(
                "Stops by devctl",
                "Servers that devctl stopped or deleted in an hour, without users' own stops.",
                units.Short,
                Query(
                    "sum by (reason) (increase(devctl_observer_devserver_stops_total[1h]))",
                    "{{reason}}",
                ),
                stacked=True,
            ),
            graph(
                "Container restarts",
                "Restarts of containers in dev servers in an hour: most often for lack of memory.",
                units.Short,
                Query(
                    "sum by (flavor) "
                    f"(increase(devctl_observer_devserver_restarts_total{{{FLAVOR}}}[1h]))",
                    "{{flavor}}",
                ),
            ),
            graph(
                "Jobs by phase",
                "Jobs of all namespaces; finished ones until their object is deleted.",
                units.Short,
                Query("sum by (phase) (devctl_observer_jobs)", "{{phase}}"),
                stacked=True,
            ),
            graph(
                "Idle verdicts",
                "Servers with an idleTimeout, by what is known about their idleness.",
                units.Short,
                Query("sum by (verdict) (devctl_observer_idle_verdicts)", "{{verdict}}"),
                stacked=True,
            ),
        ],
    )
