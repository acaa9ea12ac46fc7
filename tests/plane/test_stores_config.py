"""The manifests of the part `stores`, and what it changes in the part `cache`."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.plane.pki import SERVICES

from devctl.local.node_registry import address
from devctl.local.part_manifests import components_of, kustomization, relative, values
from devctl.local.parts import load_parts
from devctl.local.settings import ClusterSettings, block_ranges

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.commands import Kubectl

SETTINGS = replace(
    ClusterSettings("lab", 2, *block_ranges(IPv4Network("198.18.0.0/18"))),
    service_range=IPv4Network(SERVICES),
)


@pytest.fixture
def built(kubectl: Kubectl, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """The objects of a part of a cluster that has these parts."""

    def build(name: str, *parts: str) -> list[dict[str, Any]]:
        part = load_parts()[name]
        components = [relative(each, tmp_path) for each in components_of(part, parts)]
        images = {each: f"localhost/devctl/{each}:1" for each in part.images}
        content = kustomization(["values.json"], components, part, images)
        (tmp_path / "values.json").write_text(json.dumps(values(SETTINGS)))
        (tmp_path / "kustomization.yaml").write_text(json.dumps(content))
        return list(yaml.safe_load_all(kubectl("kustomize", str(tmp_path))))

    return build


def test_the_api_server_takes_the_stores_and_finds_their_pods_restricted(
    kubectl: Kubectl, built: Callable[..., list[dict[str, Any]]]
) -> None:
    things = built("stores", "stores")
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in things}
    assert by_name["Service", "registry"]["spec"]["clusterIP"] == str(address(SETTINGS))
    (rule,) = by_name["NetworkPolicy", "stores"]["spec"]["ingress"]
    assert {"ipBlock": {"cidr": str(SETTINGS.node_range)}} in rule["from"]
    space = by_name["Namespace", "devctl-stores"]
    kubectl.api.apply(space)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": things})
    options = ("--server-side", "--validate=strict", "--warnings-as-errors", "--dry-run=server")
    kubectl("apply", *options, "-f", "-", input=listed)
    kubectl.api.delete("namespace", "devctl-stores")


def test_the_agents_use_the_stores_of_a_cluster_that_has_them(
    built: Callable[..., list[dict[str, Any]]],
) -> None:
    def variables(*parts: str) -> dict[str, str]:
        (agent,) = (each for each in built("cache", *parts) if each["kind"] == "DaemonSet")
        (container,) = agent["spec"]["template"]["spec"]["containers"]
        return {each["name"]: each.get("value", "") for each in container["env"]}

    alone, beside = variables("cache"), variables("cache", "stores")
    services = {
        each["metadata"]["name"] for each in built("stores", "stores") if each["kind"] == "Service"
    }
    assert services == {"git", "models", "registry"}
    assert beside["HF_ENDPOINT"] == "http://models.devctl-stores.svc"
    assert beside["GIT_MIRRORS"].endswith("=http://git.devctl-stores.svc/")
    changed = {name for name in alone if alone[name] != beside[name]}
    assert changed == {"HF_ENDPOINT", "GIT_MIRRORS"}
