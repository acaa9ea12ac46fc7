"""Grafana's boards: a real Prometheus that scrapes all of devctl answers each of their queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.idle import Agents
from support.jobs import WAITS, Job
from support.plane.content import GPUS, NODES
from support.plane.prometheus_process import PrometheusProcess
from support.prometheus import board_queries
from support.servers import SMALL, DevServer, apply_flavor, small_server, succeeds, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.prometheus import Prometheus

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")


@pytest.fixture
def prometheus(kubectl: Kubectl, namespace: str, tmp_path: Path) -> Iterator[Prometheus]:
    kubectl("create", "serviceaccount", "reader", "-n", namespace)
    account = f"{namespace}:reader"
    options = ("--clusterrole=devctl-metrics-reader", f"--serviceaccount={account}")
    kubectl("create", "clusterrolebinding", f"{namespace}-reader", *options)
    # The operator remembers for a while what the API server has denied.
    ask = ("auth", "can-i", "get", "/metrics", f"--as=system:serviceaccount:{account}")
    wait_until(lambda: succeeds(lambda: kubectl(*ask)), "it may")
    token = kubectl("create", "token", "reader", "-n", namespace).strip()
    process = PrometheusProcess(token, tmp_path)
    try:
        process.start()
        yield process.api
    finally:
        process.kill()
        kubectl.api.delete("clusterrolebinding", f"{namespace}-reader")


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """A server with two GPUs that may be idle for a minute, and is stopped."""
    flavor = apply_flavor(
        kubectl,
        f"{namespace}-gpu",
        resources={part: amounts | {GPUS: "2"} for part, amounts in SMALL.items()},
        nodeSelector={"kubernetes.io/hostname": NODES[0]},
    )
    with small_server(kubectl, namespace, images["base"].reference) as made:
        made.apply(flavor=flavor, stopped=True, lifecycle={"idleTimeout": "60s"})
        yield made
    kubectl("delete", "devserverflavor", flavor, "--ignore-not-found")


def test_every_query_has_data(
    prometheus: Prometheus, server: DevServer, kubectl: Kubectl, images: dict[str, Image]
) -> None:
    of = f'flavor="{server.wanted["flavor"]}"'
    measured = f"devctl_observer_devserver_start_duration_seconds_count{{{of}}}"
    wait_until(lambda: prometheus.value(measured) == 0, "its flavor is known before it starts")
    server.apply(stopped=False)
    server.wait("Ready")
    job = Job(kubectl, server.namespace, images["base"].reference)
    job.apply(command=WAITS)
    agents = Agents(kubectl.api)
    agents.quiet(server)
    idle = f"devctl_observer_idle_gpus{{{of}}}"
    agents.report_until(lambda: prometheus.value(idle) == 2, "its GPUs are idle", NODES[0])
    assert len(list(board_queries())) > 30
    wait_until(lambda: not prometheus.unanswered(), lambda: str(prometheus.unanswered()))
    # Those that are 0 by default are not only that.
    start = next(q for q in board_queries() if q.panel == "Start time")
    wait_until(lambda: (prometheus.value(start.expression) or 0) > 0, "its start is measured")
    assert prometheus.targets() == {
        "devctl-observer": ["up"],
        "devctl-operator": ["up"],
        "devctl-runner": ["up"],
    }
    job.delete()
