"""What is installed for Prometheus, against a real API server."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.local.part_manifests import COMPONENTS
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("installed")

Thing = dict[str, Any]
MONITORING = "devctl-monitoring"


@pytest.fixture(scope="module")
def part(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> list[Thing]:
    """What the local cluster's part renders to."""
    folder = tmp_path_factory.mktemp("part")
    component = os.path.relpath(COMPONENTS / "monitoring", folder.resolve())
    text = json.dumps({"kind": "Kustomization", "components": [component]})
    (folder / "kustomization.yaml").write_text(text)
    return built(kubectl, folder)


@pytest.fixture
def space(kubectl: Kubectl, part: list[Thing]) -> Iterator[None]:
    """The part's namespace: even a dry run needs it."""
    (manifest,) = [thing for thing in part if thing["kind"] == "Namespace"]
    kubectl.api.create(manifest)
    yield
    kubectl.api.delete("namespace", MONITORING)


def built(kubectl: Kubectl, folder: Path) -> list[Thing]:
    return list(yaml.safe_load_all(kubectl("kustomize", str(folder))))


def takes(kubectl: Kubectl, things: list[Thing]) -> bool:
    """Whether the API server takes every object, and warns of nothing, such as unconfined pods."""
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": things})
    options = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    said = kubectl("apply", *options, "--warnings-as-errors", "-f", "-", input=listed)
    return said.count("serverside-applied (server dry run)") == len(things)


@pytest.mark.usefixtures("space")
def test_the_api_server_takes_the_part(kubectl: Kubectl, part: list[Thing]) -> None:
    assert takes(kubectl, part)
    maps = {t["metadata"]["name"]: t["data"] for t in part if t["kind"] == "ConfigMap"}
    (deployment,) = [thing for thing in part if thing["kind"] == "Deployment"]
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    mounted = [maps[v["configMap"]["name"]] for v in volumes if "configMap" in v]
    rules = (REPOSITORY / "config/monitoring/rules/rules.yaml").read_text()
    assert {"rules.yaml": rules} in mounted
    assert "prometheus.yaml" in mounted[0]


def test_the_api_server_takes_the_rights_of_the_prometheus_operator_s_objects(
    kubectl: Kubectl,
) -> None:
    things = built(kubectl, REPOSITORY / "config/monitoring")
    foreign = [t for t in things if t["apiVersion"] == "monitoring.coreos.com/v1"]
    assert [t["kind"] for t in foreign] == ["PodMonitor", "PodMonitor", "PrometheusRule"]
    assert {t["metadata"].get("namespace", "") for t in foreign} == {"devctl-system"}
    assert takes(kubectl, [thing for thing in things if thing not in foreign])
