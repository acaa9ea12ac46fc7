"""What the manifests in config/ promise and no tool of Kubernetes checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = REPOSITORY / "config"
CRDS = sorted(p.name for p in (CONFIG / "crd").glob("dev*.yaml"))
POLICIES = sorted(
    p.name for p in (CONFIG / "admission").glob("*.yaml") if "Policy" in p.read_text()
)


def documents(folder: str, name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((CONFIG / folder / name).read_text()))


def unbounded(schema: dict[str, Any], path: str) -> Iterator[str]:
    """The places in a schema that take values of any length."""
    kind = schema.get("type")
    text = kind == "string" or schema.get("x-kubernetes-int-or-string")
    if text and not ({"enum", "maxLength"} & schema.keys() or schema.get("format") == "date-time"):
        yield path
    if kind == "array":
        if "maxItems" not in schema:
            yield path
        yield from unbounded(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        if "maxProperties" not in schema:
            yield path
        yield from unbounded(schema["additionalProperties"], f"{path}.*")
    for name, child in schema.get("properties", {}).items():
        yield from unbounded(child, f"{path}.{name}")


@pytest.mark.parametrize("name", CRDS)
def test_every_field_of_a_kind_is_bounded(name: str) -> None:
    (crd,) = documents("crd", name)
    for version in crd["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]["properties"]
        for part in ("spec", "status"):
            assert list(unbounded(schema[part], part)) == []


@pytest.mark.parametrize("name", CRDS)
def test_a_kind_can_be_listed_with_ours_only(name: str) -> None:
    (crd,) = documents("crd", name)
    assert crd["spec"]["names"]["categories"] == ["devctl"]
    for version in crd["spec"]["versions"]:
        columns = version["additionalPrinterColumns"]
        assert 4 <= len([c for c in columns if not c.get("priority")]) <= 6
        assert columns[-1]["name"] == "Age"


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_is_bound_and_fails_closed(name: str) -> None:
    policy, binding = documents("admission", name)
    assert policy["kind"] == "ValidatingAdmissionPolicy"
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert policy["metadata"]["name"].startswith("devctl-")
    assert binding["kind"] == "ValidatingAdmissionPolicyBinding"
    assert binding["metadata"]["name"] == policy["metadata"]["name"]
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert binding["spec"]["validationActions"] == ["Deny"]


def test_the_policies_name_our_accounts_as_they_are() -> None:
    accounts = {
        f"system:serviceaccount:devctl-system:{document['metadata']['name']}"
        for folder in ("rbac", "observer")
        for document in documents(folder, "service_account.yaml")
    }
    text = "".join((CONFIG / "admission" / name).read_text() for name in POLICIES)
    named = {word.strip("',]") for word in text.split() if "devctl-system:" in word}
    assert {word.rstrip("]),'") for word in named} == accounts
