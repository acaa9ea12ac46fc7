from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.errors import HostError
from devctl.kube.kubeconfig import find_access
from devctl.local.authentication import configure, write_kubeconfig
from devctl.local.part_manifests import COMPONENTS, values
from devctl.local.part_objects import certificate_of
from devctl.local.parts import Part, load_parts
from devctl.oidc.registration import from_exec

if TYPE_CHECKING:
    from pathlib import Path

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

OTHER = Part("net", "a network")


@pytest.fixture
def part() -> Part:
    return load_parts()["oidc"]


@pytest.fixture
def kubernetes(cluster: ClusterSettings, paths: ClusterPaths) -> Path:
    """The first node's folder of the API server's files."""
    return paths.node(cluster.nodes[0].name).etc / "kubernetes"


def read(kubernetes: Path) -> Any:
    return json.loads((kubernetes / "authentication" / "config.json").read_text())


def test_a_cluster_without_such_parts_trusts_no_provider(
    cluster: ClusterSettings, paths: ClusterPaths, kubernetes: Path
) -> None:
    assert configure(cluster, paths, [OTHER])
    found = read(kubernetes)
    assert (found["kind"], found["jwt"]) == ("AuthenticationConfiguration", [])
    assert not configure(cluster, paths, [OTHER])


def test_the_provider_of_a_part_is_trusted_and_forgotten(
    cluster: ClusterSettings, paths: ClusterPaths, kubernetes: Path, part: Part
) -> None:
    assert configure(cluster, paths, [OTHER, part])
    (entry,) = read(kubernetes)["jwt"]
    address = str(cluster.nodes[0].address)
    assert entry["issuer"]["url"] == f"https://{address}:5556"
    authority = b64decode(certificate_of(cluster, paths, part)["ca.crt"]).decode()
    assert entry["issuer"]["certificateAuthority"] == authority
    assert "$" not in json.dumps(entry)
    assert not configure(cluster, paths, [part])
    assert [file.name for file in (kubernetes / "authentication").iterdir()] == ["config.json"]
    assert configure(cluster, paths, [])
    assert read(kubernetes)["jwt"] == []


def test_an_older_cluster_is_left_alone_but_gets_no_provider(
    cluster: ClusterSettings, paths: ClusterPaths, kubernetes: Path, part: Part
) -> None:
    (kubernetes / "manifests").mkdir(parents=True)
    manifest = kubernetes / "manifests" / "kube-apiserver.yaml"
    manifest.write_text("- --anonymous-auth=true")
    assert not configure(cluster, paths, [OTHER])
    assert not (kubernetes / "authentication").exists()
    with pytest.raises(HostError, match="is too old") as caught:
        configure(cluster, paths, [part])
    assert f"devctl local reset --name {cluster.name}" in caught.value.fix
    manifest.write_text("- --authentication-config=/etc/kubernetes/authentication/config.json")
    assert configure(cluster, paths, [part])


def test_people_get_a_kubeconfig_without_secrets(
    cluster: ClusterSettings, paths: ClusterPaths, part: Part
) -> None:
    admin = {
        "clusters": [{"name": "x", "cluster": {"server": "https://api:6443"}}],
        "users": [{"name": "x", "user": {"client-key-data": "secret"}}],
    }
    paths.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
    paths.kubeconfig.write_text(yaml.safe_dump(admin))
    certificate_of(cluster, paths, part)
    write_kubeconfig(cluster, paths, part)
    file = paths.parts / "oidc" / "kubeconfig"
    assert "secret" not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    access = find_access(str(file))
    assert access.server == "https://api:6443"
    registration = from_exec(access.user["exec"])
    assert registration
    assert registration.issuer == f"https://{cluster.nodes[0].address}:5556"
    assert registration.client_id == "devctl"
    assert "BEGIN CERTIFICATE" in registration.authority


def test_a_certificate_for_the_address_is_kept_until_that_changes(
    cluster: ClusterSettings, paths: ClusterPaths, part: Part
) -> None:
    first = certificate_of(cluster, paths, part)
    assert certificate_of(cluster, paths, part) == first
    elsewhere = replace(cluster, node_range=type(cluster.node_range)("198.19.0.0/24"))
    assert certificate_of(elsewhere, paths, part) != first


def test_issuer_client_and_port_agree_everywhere(cluster: ClusterSettings, part: Part) -> None:
    component = COMPONENTS / part.name
    entry = yaml.safe_load((component / part.authenticator).read_text())
    deployment = yaml.safe_load((component / "deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    env = {each["name"]: each["value"] for each in container["env"]}
    assert env["ISSUER"] == entry["issuer"]["url"]
    assert [env["CLIENT_ID"]] == entry["issuer"]["audiences"]
    assert env["ISSUER"].endswith(f":{container['readinessProbe']['httpGet']['port']}")
    assert values(cluster)["data"]["address"] == str(cluster.nodes[0].address)
    users = json.loads((component / "users.json").read_text())
    for field in ("sub", "email"):
        assert len({user[field] for user in users}) == len(users)
