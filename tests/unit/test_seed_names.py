"""What `kubectl apply -k` installs for GPU workloads, by folder and by their users' names."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from devctl.api.gpu_workload import PRIORITIES
from devctl.local.paths import REPOSITORY

CONFIG = REPOSITORY / "config"


def read(path: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((CONFIG / path).read_text()))


@pytest.mark.parametrize("folder", ["rbac", "manager"])
def test_a_folder_names_its_namespace(folder: str) -> None:
    (found,) = read(f"{folder}/kustomization.yaml")
    assert found["namespace"] == "devctl-system"


def test_the_namespace_is_there_before_what_is_in_it() -> None:
    (found,) = read("rbac/kustomization.yaml")
    assert found["resources"][0] == "namespace.yaml"


def test_the_observer_comes_with_the_manager() -> None:
    (manager,), (everything,) = (
        read("manager/kustomization.yaml"),
        read("default/kustomization.yaml"),
    )
    assert "../observer" in manager["resources"]
    assert "../observer" not in everything["resources"]


def test_each_priority_has_its_class() -> None:
    classes = {
        found["metadata"]["name"]: found["value"] for found in read("manager/priority_classes.yaml")
    }
    assert classes == dict(PRIORITIES.values())


def test_metrics_are_on_the_port_that_dashboards_know() -> None:
    (service,) = read("seed-names/metrics_service.yaml")
    assert service["metadata"]["name"] == "gpu-orchestrator-controller-manager-metrics"
    (port,) = service["spec"]["ports"]
    (deployment,) = read("observer/deployment.yaml")
    template = deployment["spec"]["template"]
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    (container,) = template["spec"]["containers"]
    assert port["port"] == 8080
    assert port["targetPort"] in {each["name"] for each in container["ports"]}


def test_the_example_is_the_one_that_the_documentation_names() -> None:
    (found,) = yaml.safe_load_all((REPOSITORY / "examples/gpuworkload-sample.yaml").read_text())
    assert found["metadata"]["name"] == found["spec"]["modelName"] == "my-model"
