"""What config/monitoring and the local Prometheus assume about each other and devctl's pods."""

from __future__ import annotations

import re
import runpy
from typing import TYPE_CHECKING, Any

import metrics_tables
import pytest
import yaml

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = REPOSITORY / "config"
PART = CONFIG / "local/parts/monitoring"
DEPLOYMENTS = {"observer": "observer", "operator": "manager"}
"""Components, and where they are deployed from."""
OF_OTHERS = {
    *("up", "process_start_time_seconds", "rest_client_requests_total"),
    *("kubelet_volume_stats_available_bytes", "kubelet_volume_stats_capacity_bytes"),
    *("kubelet_volume_stats_inodes", "kubelet_volume_stats_inodes_free"),
}
"""Metrics that rules use and devctl does not define."""


def documents(path: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((CONFIG / path).read_text()))


def only(path: str) -> dict[str, Any]:
    (found,) = documents(path)
    return found


def rules() -> Iterator[dict[str, Any]]:
    for group in only("monitoring/rules/rules.yaml")["groups"]:
        yield from group["rules"]


def endpoints() -> dict[str, tuple[str, dict[str, Any]]]:
    """The endpoint of each job, with the component whose pods have it."""
    return {
        endpoint["relabelings"][0]["replacement"]: (
            monitor["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"],
            endpoint,
        )
        for monitor in documents("monitoring/pod_monitors.yaml")
        for endpoint in monitor["spec"]["podMetricsEndpoints"]
    }


def scraped() -> dict[str, dict[str, Any]]:
    return {one["job_name"]: one for one in only(f"{PART}/prometheus.yaml")["scrape_configs"]}


def test_the_prometheus_rule_has_the_rules_as_they_are() -> None:
    """Otherwise, run `make rules`."""
    script = runpy.run_path(str(REPOSITORY / "scripts/prometheus_rule.py"))
    assert script["TARGET"].read_text() == script["rendered"]()
    assert only("monitoring/prometheus_rule.yaml")["spec"] == only("monitoring/rules/rules.yaml")


def test_rules_use_only_metrics_that_exist() -> None:
    records = {rule["record"] for rule in rules() if "record" in rule}
    exported = {metric.name for metric in metrics_tables.every_metric()}
    for rule in rules():
        # What is left without selectors and grouping: functions, numbers, operators and metrics.
        text = re.sub(r"\{.*?\}|by \(.*?\)", "", rule["expr"])
        names = {word for word in re.findall(r"[\w:]+", text) if "_" in word or word == "up"}
        names -= {"histogram_quantile", "sum_over_time"}
        assert names
        for name in names - records - OF_OTHERS:
            assert re.sub(r"_(bucket|count|sum)$", "", name) in exported, rule


def test_the_page_explains_every_alert() -> None:
    page = (REPOSITORY / "docs/metrics.md").read_text()
    told = [
        name
        for line in page.splitlines()
        if line.startswith("| `Devctl")
        for name in re.findall(r"`(Devctl\w+)`", line.split("|")[1])
    ]
    assert sorted(told) == sorted(rule["alert"] for rule in rules() if "alert" in rule)


def test_every_alert_says_what_is_wrong_and_how_bad_it_is() -> None:
    for rule in rules():
        if "alert" in rule:
            assert rule["labels"]["severity"] in {"critical", "warning"}
            assert rule["annotations"]["summary"]


@pytest.mark.parametrize("job", ["devctl-observer", "devctl-operator", "devctl-runner"])
def test_both_ways_of_scraping_find_the_same_port(job: str) -> None:
    component, endpoint = endpoints()[job]
    local = scraped()[job]
    pod = only(f"{DEPLOYMENTS[component]}/deployment.yaml")["spec"]["template"]
    assert pod["metadata"]["labels"]["app.kubernetes.io/component"] == component
    ports = [port["name"] for one in pod["spec"]["containers"] for port in one["ports"]]
    assert endpoint["port"] in ports
    assert local["relabel_configs"][0]["regex"] == f"{component};{endpoint['port']}"
    for name, other in (("scheme", "scheme"), ("honorLabels", "honor_labels")):
        assert endpoint.get(name) == local.get(other)
    assert ("authorization" in endpoint) == ("authorization" in local)


def test_rules_name_jobs_that_are_scraped() -> None:
    jobs = {*endpoints()}
    assert jobs == {name for name in scraped() if name.startswith("devctl-")}
    patterns = re.findall(r'job=~?"([^"]+)"', " ".join(rule["expr"] for rule in rules()))
    assert patterns
    for pattern in patterns:
        assert [job for job in jobs if re.fullmatch(pattern, job)]


def test_the_token_of_the_pod_monitor_is_that_of_a_reader_of_metrics() -> None:
    account, binding, secret = documents("monitoring/metrics_reader.yaml")
    name = account["metadata"]["name"]
    assert binding["roleRef"]["name"] == only("rbac/metrics_reader.yaml")["metadata"]["name"]
    assert [subject["name"] for subject in binding["subjects"]] == [name]
    assert secret["metadata"]["annotations"] == {"kubernetes.io/service-account.name": name}
    _, endpoint = endpoints()["devctl-operator"]
    assert endpoint["authorization"]["credentials"]["name"] == secret["metadata"]["name"]


def test_the_local_account_may_only_read() -> None:
    account, role, binding = documents(f"{PART}/role.yaml")
    own_role, own_binding = documents("local/prometheus.yaml")
    subject = {
        "kind": "ServiceAccount",
        "name": account["metadata"]["name"],
        "namespace": account["metadata"]["namespace"],
    }
    assert binding["subjects"] == own_binding["subjects"] == [subject]
    verbs = {verb for rule in [*role["rules"], *own_role["rules"]] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch"}
    deployment = only(f"{PART}/deployment.yaml")["spec"]["template"]["spec"]
    assert deployment["serviceAccountName"] == subject["name"]
