from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from cryptography import x509

from devctl.errors import UsageError
from devctl.local import worker_objects
from devctl.local.parts import load_parts
from devctl.local.paths import REPOSITORY
from devctl.local.worker_objects import CERTIFICATE, DATABASE, IDENTITY, SIGNING_KEY, objects
from devctl.local.worker_secrets import made
from devctl.local.worker_tokens import ensure_key

if TYPE_CHECKING:
    from pathlib import Path

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

Thing = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def by_name(things: list[Thing]) -> dict[str, Thing]:
    return {each["metadata"]["name"]: each for each in things}


def issuers(thing: Thing) -> list[Thing]:
    found: list[Thing] = json.loads(thing["data"]["identity.json"])
    return found


def test_what_is_random_stays_the_same(
    cluster: ClusterSettings, paths: ClusterPaths, folder: Path
) -> None:
    first = objects(cluster, paths, folder)
    assert objects(cluster, paths, folder) == first
    assert by_name(first).keys() == {DATABASE, CERTIFICATE, SIGNING_KEY, IDENTITY}
    for file in ("password", "signing.key", "tls.key"):
        assert (folder / file).stat().st_mode & 0o077 == 0


def test_the_certificate_has_the_names_by_which_agents_and_people_reach_the_gateway(
    cluster: ClusterSettings, paths: ClusterPaths, folder: Path
) -> None:
    data = by_name(objects(cluster, paths, folder))[CERTIFICATE]["stringData"]
    certificate = x509.load_pem_x509_certificate(data["tls.crt"].encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    found = names.get_values_for_type(x509.DNSName)
    assert {"gpu-workers-gateway.imagepod.svc", "localhost"} <= {*found}
    service = yaml.safe_load((REPOSITORY / "config/gateway/service.yaml").read_text())
    assert service["metadata"]["name"] == worker_objects.SERVICE
    production = (REPOSITORY / "config/gateway/cert-manager/certificate.yaml").read_text()
    (leaf,) = (
        each["spec"]
        for each in yaml.safe_load_all(production)
        if each["spec"].get("secretName") == CERTIFICATE
    )
    assert leaf["dnsNames"] == list(worker_objects.NAMES) == found


def test_the_password_is_in_the_url_of_the_database(
    cluster: ClusterSettings, paths: ClusterPaths, folder: Path
) -> None:
    data = by_name(objects(cluster, paths, folder))[DATABASE]["stringData"]
    assert len(data["password"]) > 40
    assert f":{data['password']}@gpu-workers-postgres.imagepod.svc:5432/" in data["url"]


def test_with_a_provider_its_users_are_accepted_beside_the_cluster_s_own_key(
    cluster: ClusterSettings, paths: ClusterPaths, folder: Path
) -> None:
    alone = by_name(objects(cluster, paths, folder))[IDENTITY]
    assert [each["issuer"] for each in issuers(alone)] == ["devctl-signing-key"]
    both = by_name(objects(replace(cluster, parts=("oidc", "workers")), paths, folder))[IDENTITY]
    own, provider = issuers(both)
    assert own == issuers(alone)[0]
    address = cluster.nodes[0].address
    assert provider["issuer"] == f"https://{address}:5556"
    assert provider["jwks_url"] == f"https://{address}:5556/jwks"
    for each in (own["jwks_file"], provider["ca_file"]):
        assert each.removeprefix("/etc/gateway/identity/") in both["data"]
    digests = {each["metadata"]["annotations"][worker_objects.DIGEST] for each in (alone, both)}
    assert len(digests) == 2


def test_the_digest_is_not_a_mark_of_devctl_s_in_a_template() -> None:
    """The policy `devctl-templates` lets no Deployment controller pass those on."""
    kinds = (REPOSITORY / "config/crd").glob("*.yaml")
    groups = {yaml.safe_load(each.read_text()).get("spec", {}).get("group") for each in kinds}
    assert "imagepod.dev" in groups
    assert worker_objects.DIGEST.partition("/")[0] not in groups
    part = REPOSITORY / "config/local/parts/workers/kustomization.yaml"
    assert part.read_text().count(f"annotations.{worker_objects.DIGEST}") == 2


def test_the_part_makes_them() -> None:
    assert load_parts()["workers"].objects == worker_objects.__name__.rpartition(".")[2]


def test_the_script_s_objects_are_the_local_cluster_s(
    cluster: ClusterSettings, paths: ClusterPaths, folder: Path
) -> None:
    local = by_name(objects(cluster, paths, folder))
    key = local[SIGNING_KEY]["stringData"]["signing.key"].encode()
    for name, thing in local.items():
        found = json.loads(made([name], lambda: key))
        assert found.keys() == thing.keys()
        assert found["metadata"] == thing["metadata"]
    assert json.loads(made([IDENTITY], lambda: key)) == local[IDENTITY]


def test_the_script_signs_tokens_with_the_key_that_it_is_given(folder: Path) -> None:
    key = ensure_key(folder)
    assert made(["token", "alice"], lambda: key).count(".") == 2
    assert made(["token", "alice", "admin", "1"], lambda: key).count(".") == 2


@pytest.mark.parametrize(
    "words",
    [[], ["other"], ["token"], ["token", "a", "user", "x"], ["token", "a", "user", "1", "2"]],
)
def test_words_that_make_no_sense_are_refused(words: list[str]) -> None:
    with pytest.raises(UsageError, match=r"this is not how it is called|`x` is no number of hours"):
        made(words, lambda: b"")
