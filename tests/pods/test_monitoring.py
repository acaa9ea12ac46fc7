"""Prometheus on the cluster: what it scrapes, the rules that it evaluates, and what it knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
import yaml
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


class Prometheus:
    """Prometheus, asked through the API server."""

    def __init__(self, kubectl: Kubectl) -> None:
        """Ask nothing yet."""
        self._kubectl = kubectl

    def ask(self, path: str) -> Any:
        """The data of an answer."""
        answer = json.loads(self._kubectl("get", "--raw", f"{API}/{path}"))
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression has now."""
        found: list[dict[str, Any]] = self.ask(f"query?query={quote(expression)}")["result"]
        return found

    def value(self, expression: str) -> float | None:
        """The value of the only series; None if there is none."""
        found = self.query(expression)
        assert len(found) < 2, found
        return float(found[0]["value"][1]) if found else None

    def targets(self) -> dict[str, list[str]]:
        """The health of each job's targets: `up`, or why it is not."""
        found: dict[str, list[str]] = {}
        for target in self.ask("targets?state=active")["activeTargets"]:
            said = target["lastError"] or target["health"]
            found.setdefault(target["labels"]["job"], []).append(said)
        return found


@pytest.fixture(scope="module")
def prometheus(kubectl: Kubectl, cluster: ClusterSettings) -> Prometheus:
    assert "monitoring" in cluster.parts
    return Prometheus(kubectl)


def test_everything_is_scraped(prometheus: Prometheus, cluster: ClusterSettings) -> None:
    expected = {job: ["up"] for job in PODS} | {job: ["up"] * len(cluster.nodes) for job in NODES}
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
        assert prometheus.value(started) == 1
        ran = (
            f'flavor_phase:devctl_observer_devservers:sum{{flavor="{namespace}", phase="Running"}}'
        )
        wait_until(lambda: prometheus.value(ran) == 1, "the rule has its sum")
        server.stop()
        wait_until(lambda: phases() == {"Stopped": 1}, lambda: str(phases()))
    wait_until(lambda: phases() == {}, lambda: str(phases()))
