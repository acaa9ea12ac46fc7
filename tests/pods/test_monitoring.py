"""Prometheus on the cluster: what it scrapes, the rules that it evaluates, and what it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from support.jobs import WAITS, Job
from support.prometheus import Prometheus
from support.servers import small_server, wait_until

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

pytestmark = pytest.mark.usefixtures("deployed")

API = "/api/v1/namespaces/devctl-monitoring/services/prometheus:web/proxy/api/v1"
RULES = REPOSITORY / "config/monitoring/rules/rules.yaml"
PODS = ("devctl-observer", "devctl-operator", "devctl-runner")
NODES = ("kubelet", "kubelet-cadvisor")


@pytest.fixture(scope="module")
def prometheus(kubectl: Kubectl, cluster: ClusterSettings) -> Prometheus:
    assert "monitoring" in cluster.parts
    return Prometheus(lambda path: kubectl("get", "--raw", f"{API}/{path}"))


def test_everything_is_scraped(prometheus: Prometheus, cluster: ClusterSettings) -> None:
    expected = {job: ["up"] for job in PODS} | {job: ["up"] * len(cluster.nodes) for job in NODES}
    expected |= {"gpu-workers-gateway": ["up"] * 2}
    wait_until(lambda: prometheus.targets() == expected, lambda: str(prometheus.targets()))
    for series in ("devctl_observer_leader", "container_memory_working_set_bytes"):
        wait_until(lambda name=series: bool(prometheus.query(name)), f"{series} is there")  # type: ignore[misc]


def test_every_rule_is_evaluated(prometheus: Prometheus) -> None:
    expected = {
        (group["name"], rule.get("alert") or rule["record"]): "ok"
        for group in yaml.safe_load(RULES.read_text())["groups"]
        for rule in group["rules"]
    }

    def evaluated() -> dict[tuple[str, str], str]:
        return {
            (group["name"], rule["name"]): rule.get("lastError") or rule["health"]
            for group in prometheus.ask("rules")["groups"]
            for rule in group["rules"]
        }

    wait_until(lambda: evaluated() == expected, lambda: str(evaluated()))
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            prometheus.query(rule["expr"])  # which asserts that it is answered


def test_a_server_is_counted_by_its_phase(
    prometheus: Prometheus, kubectl: Kubectl, namespace: str, images: dict[str, Image]
) -> None:
    def phases() -> dict[str, float]:
        found = prometheus.query(f'devctl_observer_devservers{{namespace="{namespace}"}}')
        assert {each["metric"]["flavor"] for each in found} <= {namespace}
        return {each["metric"]["phase"]: float(each["value"][1]) for each in found}

    started = f'devctl_observer_devserver_start_duration_seconds_count{{flavor="{namespace}"}}'
    with small_server(kubectl, namespace, images["base"].reference) as server:
        server.apply()
        server.wait("Ready")
        wait_until(lambda: phases() == {"Running": 1}, lambda: str(phases()))
        wait_until(lambda: prometheus.value(started) == 1, "its start was counted")
        ran = (
            f'flavor_phase:devctl_observer_devservers:sum{{flavor="{namespace}", phase="Running"}}'
        )
        wait_until(lambda: prometheus.value(ran) == 1, "the rule has its sum")
        server.stop()
        wait_until(lambda: phases() == {"Stopped": 1}, lambda: str(phases()))
    wait_until(lambda: phases() == {}, lambda: str(phases()))


def test_every_query_of_the_boards_has_data(
    prometheus: Prometheus, kubectl: Kubectl, namespace: str, images: dict[str, Image]
) -> None:
    image = images["base"].reference
    job = Job(kubectl, namespace, image)
    with small_server(kubectl, namespace, image) as server:
        # Stopped at first: a percentile needs a sample from before the start.
        server.apply(stopped=True)
        known = f'devctl_observer_devserver_start_duration_seconds_count{{flavor="{namespace}"}}'
        wait_until(lambda: prometheus.value(known) == 0, "its flavor is known")
        server.apply(stopped=False, lifecycle={"idleTimeout": "1h"})
        server.wait("Ready")
        job.apply(command=WAITS)
        job.wait("Running")
        # It scrapes every 10 s, and a rate needs two samples.
        wait_until(
            lambda: not prometheus.unanswered(), lambda: str(prometheus.unanswered()), seconds=120
        )
        took = f'sum(devctl_observer_devserver_start_duration_seconds_sum{{flavor="{namespace}"}})'
        wait_until(lambda: (prometheus.value(took) or 0) > 0, "its start is measured")
        judged = 'sum(devctl_observer_idle_verdicts{verdict="Active"})'
        # Agents report once a minute.
        wait_until(lambda: (prometheus.value(judged) or 0) > 0, "its agent has reported", 180)
        missing = "sum(devctl_observer_node_agents_missing)"
        wait_until(lambda: prometheus.value(missing) == 0, "each agent has reported", 180)
    job.delete()
