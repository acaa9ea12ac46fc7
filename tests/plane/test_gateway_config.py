"""The manifests of the GPU workers API, as a real API server takes them, in each combination."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.plane.pki import SERVICES

from devctl.api.gpu_worker_job import NAMESPACE
from devctl.local import worker_objects
from devctl.local.certificates import ensure_certificate
from devctl.local.part_manifests import (
    certificate_secret,
    components_of,
    kustomization,
    relative,
    values,
)
from devctl.local.parts import load_parts
from devctl.local.paths import REPOSITORY, ClusterPaths
from devctl.local.settings import ClusterSettings, block_ranges

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.commands import Kubectl

Thing = dict[str, Any]
SETTINGS = replace(
    ClusterSettings("lab", 2, *block_ranges(IPv4Network("198.18.0.0/18"))),
    service_range=IPv4Network(SERVICES),
)
FOREIGN = ("cert-manager.io/", "monitoring.coreos.com/")
"""Kinds that the API server of the tests does not have."""


@pytest.fixture
def part(kubectl: Kubectl, tmp_path: Path) -> Callable[..., list[Thing]]:
    """The objects of a part of a local cluster that has these parts."""

    def build(name: str, *parts: str) -> list[Thing]:
        found, settings = load_parts()[name], replace(SETTINGS, parts=parts)
        files: dict[str, Any] = {"values.json": values(settings)}
        if found.objects:
            listed = worker_objects.objects(settings, ClusterPaths(tmp_path / "lab"), tmp_path)
            files["objects.json"] = {"apiVersion": "v1", "kind": "List", "items": listed}
        if found.certificate:
            made = ensure_certificate(tmp_path, found.certificate)
            files["certificate.json"] = certificate_secret(made)
        components = [relative(each, tmp_path) for each in components_of(found, parts)]
        images = {each: f"localhost/devctl/{each}:1" for each in found.images}
        files["kustomization.yaml"] = kustomization(list(files), components, found, images)
        for file, content in files.items():
            (tmp_path / file).write_text(json.dumps(content))
        return list(yaml.safe_load_all(kubectl("kustomize", str(tmp_path))))

    return build


@pytest.fixture
def overlay(kubectl: Kubectl, tmp_path: Path) -> Callable[..., list[Thing]]:
    """The objects of config/gateway with some of its components."""

    def build(*components: str) -> list[Thing]:
        base = relative(REPOSITORY / "config/gateway", tmp_path)
        content = {"resources": [base], "components": [f"{base}/{name}" for name in components]}
        (tmp_path / "kustomization.yaml").write_text(json.dumps(content))
        return list(yaml.safe_load_all(kubectl("kustomize", str(tmp_path))))

    return build


def takes(kubectl: Kubectl, things: list[Thing]) -> bool:
    """Whether the API server takes every object, and warns of nothing, such as unconfined pods."""
    for each in things:
        # Even a dry run needs it. It stays, since other tests use the same one.
        if each["kind"] == "Namespace":
            kubectl.api.apply(each)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": things})
    options = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    said = kubectl("apply", *options, "--warnings-as-errors", "-f", "-", input=listed)
    return said.count("serverside-applied (server dry run)") == len(things)


def gateway(things: list[Thing]) -> Thing:
    (found,) = (
        each
        for each in things
        if each["kind"] == "Deployment" and each["metadata"]["name"] == "gpu-workers-gateway"
    )
    return found


@pytest.mark.parametrize(
    "components",
    [
        (),
        ("sqlite", "artifacts"),
        ("autoscaling",),
        ("cert-manager", "monitoring", "autoscaling", "artifacts"),
    ],
    ids="+".join,
)
def test_the_api_server_takes_the_gateway_with_its_components(
    kubectl: Kubectl, overlay: Callable[..., list[Thing]], components: tuple[str, ...]
) -> None:
    things = overlay(*components)
    ours = [each for each in things if not each["apiVersion"].startswith(FOREIGN)]
    assert takes(kubectl, ours)
    assert {each["metadata"].get("namespace", NAMESPACE) for each in things} == {NAMESPACE}
    replicas = gateway(things)["spec"].get("replicas")
    assert replicas == (1 if "sqlite" in components else None if "autoscaling" in components else 2)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("workers", ("workers",)),
        ("workers", ("kueue", "oidc", "monitoring", "custom-metrics", "workers")),
        ("custom-metrics", ("monitoring", "custom-metrics")),
    ],
    ids=["workers", "workers-with-all", "custom-metrics"],
)
def test_the_api_server_takes_the_local_parts(
    kubectl: Kubectl, part: Callable[..., list[Thing]], name: str, parts: tuple[str, ...]
) -> None:
    assert takes(kubectl, part(name, *parts))


def test_pods_are_replaced_when_other_issuers_are_accepted(
    part: Callable[..., list[Thing]],
) -> None:
    def digest(*parts: str) -> str:
        metadata = gateway(part("workers", *parts))["spec"]["template"]["metadata"]
        return str(metadata["annotations"][worker_objects.DIGEST])

    assert digest("workers") == digest("monitoring", "workers")
    assert digest("workers") != digest("oidc", "workers")


def test_locally_the_nodes_are_all_that_the_gateway_reaches_outside_of_its_namespace(
    part: Callable[..., list[Thing]],
) -> None:
    policies = {
        each["metadata"]["name"]: each["spec"]
        for each in part("workers", "workers")
        if each["kind"] == "NetworkPolicy"
    }
    for name in ("gpu-workers-gateway", "gpu-worker-agent"):
        blocks = [
            target["ipBlock"]
            for rule in policies[name]["egress"]
            for target in rule["to"]
            if "ipBlock" in target
        ]
        assert blocks == [{"cidr": str(SETTINGS.node_range)}]


def test_prometheus_asks_the_gateway_of_a_cluster_that_has_one(
    part: Callable[..., list[Thing]],
) -> None:
    def files(*parts: str) -> set[str]:
        (found,) = (
            each["data"]
            for each in part("monitoring", *parts)
            if each["kind"] == "ConfigMap" and "prometheus-config" in each["metadata"]["name"]
        )
        return set(found)

    assert files("monitoring") == {"prometheus.yaml"}
    assert files("monitoring", "workers") == {"prometheus.yaml", "gateway.scrape.yaml"}
