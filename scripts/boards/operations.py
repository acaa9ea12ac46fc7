"""The board `Operator and observer`: whether devctl itself works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boards.panels import Query, board, graph, number, or_zero, percentile
from grafana_foundation_sdk.models import units

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

_OPERATOR = 'job="devctl-operator"'
_PROCESSES = 'job=~"devctl-(observer|operator)"'
_RATE = "$__rate_interval"


def operations() -> Dashboard:
    """The board."""
    return board(
        "Operator and observer",
        "Rates, latencies, queues and errors of the operator, its warm runner and the observer.",
        [],
        [
            number(
                "Operator",
                "Operators that answer. Without one, changes have no effect.",
                units.Short,
                or_zero(f"sum(up{{{_OPERATOR}}})"),
            ),
            number(
                "Leading observer",
                "Observers that lead. Without one, no status is written.",
                units.Short,
                or_zero("sum(devctl_observer_leader)"),
            ),
            number(
                "Warm runner",
                "1 if roles run warm; without it, they take ten times as long.",
                units.Short,
                or_zero("max(devctl_runner_warm)"),
            ),
            number(
                "Failed runs",
                "Runs of roles in the last hour that failed, crashed or took too long.",
                units.Short,
                'sum(increase(devctl_runner_runs_total{result=~"failed|timeout|crashed"}[1h]))',
            ),
            graph(
                "Reconciliations by the operator",
                "By kind and result.",
                units.OpsPerSecond,
                Query(
                    "sum by (controller, result) "
                    f"(rate(controller_runtime_reconcile_total{{{_OPERATOR}}}[{_RATE}]))",
                    "{{controller}} {{result}}",
                ),
            ),
            graph(
                "Reconciliation time of the operator",
                "95 of 100 take less, by kind; of the hour before.",
                units.Seconds,
                Query(
                    percentile(
                        0.95, "controller_runtime_reconcile_time_seconds", _OPERATOR, "controller"
                    ),
                    "{{controller}}",
                ),
            ),
            graph(
                "Run time of roles",
                "95 of 100 runs take less, by role; of the hour before.",
                units.Seconds,
                Query(percentile(0.95, "devctl_runner_run_seconds", by="role"), "{{role}}"),
            ),
            graph(
                "Runs by result",
                "Finished runs of roles.",
                units.OpsPerSecond,
                Query(
                    f"sum by (result) (rate(devctl_runner_runs_total[{_RATE}]))",
                    "{{result}}",
                ),
            ),
            graph(
                "Queues",
                "Objects and runs that wait. A queue that only grows means too little CPU.",
                units.Short,
                Query(f"sum by (name) (workqueue_depth{{{_OPERATOR}}})", "operator {{name}}"),
                Query("sum(devctl_runner_queue)", "warm runner"),
                Query("sum by (kind) (devctl_observer_queue)", "observer {{kind}}"),
            ),
            graph(
                "Time in the observer's queue",
                "How long the object that waits longest has waited, by kind.",
                units.Seconds,
                Query("max by (kind) (devctl_observer_queue_age_seconds)", "{{kind}}"),
            ),
            graph(
                "Reconciliations by the observer",
                "By kind.",
                units.OpsPerSecond,
                Query(f"sum by (kind) (rate(devctl_observer_looks_total[{_RATE}]))", "{{kind}}"),
            ),
            graph(
                "Writes by the observer",
                "Requests by result. The next reconciliation corrects a conflict; forbidden and "
                "failed ones are problems.",
                units.OpsPerSecond,
                Query(
                    f"sum by (result) (rate(devctl_observer_writes_total[{_RATE}]))",
                    "{{result}}",
                ),
            ),
            graph(
                "Runs by the stock runner",
                "Runs in an hour that the warm runner could not take, by reason.",
                units.Short,
                Query(
                    "sum by (reason) (increase(devctl_runner_fallbacks_total[1h]))",
                    "{{reason}}",
                ),
            ),
            graph(
                "The operator's requests to the API server",
                "By the code of the answer.",
                units.OpsPerSecond,
                Query(
                    f"sum by (code) (rate(rest_client_requests_total{{{_OPERATOR}}}[{_RATE}]))",
                    "{{code}}",
                ),
            ),
            graph(
                "CPU",
                "Cores that operator and observer use, without the runs of roles.",
                units.Short,
                Query(
                    f"sum by (job) (rate(process_cpu_seconds_total{{{_PROCESSES}}}[{_RATE}]))",
                    "{{job}}",
                ),
            ),
            graph(
                "Memory",
                "Resident memory.",
                units.BytesIEC,
                Query(
                    f"sum by (job) (process_resident_memory_bytes{{{_PROCESSES}}})",
                    "{{job}}",
                ),
                Query("sum(devctl_runner_resident_bytes)", "devctl-runner"),
            ),
        ],
    )
