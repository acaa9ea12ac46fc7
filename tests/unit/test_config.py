"""What the manifests in config/ promise and no tool of Kubernetes checks."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import preload
import pytest
import yaml
from support.audit import granted
from support.plane.parts import image_settings

from devctl.api.labels import GROUP
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = REPOSITORY / "config"
CRDS = sorted(p.name for p in (CONFIG / "crd").glob("*.yaml") if p.name != "kustomization.yaml")
UNLISTED = {"nodeactivity.yaml"}
"""Between the observer and the agents of nodes: users may not list it."""
SINGLE = {"cacheplan.yaml"}
"""A cluster has one, which nobody lists."""
WITHOUT_ROLE = {
    *(*UNLISTED, *SINGLE),
    *("gpuworkernode.yaml", "lifecyclepolicy.yaml", "nodecachestatus.yaml", "usage.yaml"),
}
"""The API server itself enforces a policy; the observer and agents of nodes write what they see."""
RIGHTS = sorted(p.name for p in (CONFIG / "rbac").glob("*.yaml") if p.name != "kustomization.yaml")
WATCHES = yaml.safe_load((REPOSITORY / "watches.yaml").read_text())
HAS_CHILDREN = {"devops.yourcompany.com/has-children": "true"}
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
        for part in {"spec", "status"} & schema.keys():
            assert list(unbounded(schema[part], part)) == []


@pytest.mark.parametrize("name", CRDS)
def test_a_kind_can_be_listed_with_ours_only(name: str) -> None:
    (crd,) = documents("crd", name)
    # Those that users may not list would be in their way.
    listed = [] if name in UNLISTED else ["devctl"]
    assert crd["spec"]["names"].get("categories", []) == listed
    for version in crd["spec"]["versions"]:
        columns = version["additionalPrinterColumns"]
        least = 1 if name in SINGLE else 4
        assert least <= len([c for c in columns if not c.get("priority")]) <= 6
        assert columns[-1]["name"] == "Age"


@pytest.mark.parametrize("folder", ["crd", "rbac", "samples"])
def test_every_manifest_of_a_folder_is_installed(folder: str) -> None:
    (listed,) = documents(folder, "kustomization.yaml")
    there = {p.name for p in (CONFIG / folder).glob("*.yaml")}
    assert {*listed["resources"], "kustomization.yaml"} == there


@pytest.mark.parametrize("name", CRDS)
def test_the_rights_on_a_kind_are_in_its_own_file(name: str) -> None:
    (crd,) = documents("crd", name)
    group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
    about = {
        file
        for file in RIGHTS
        for thing in documents("rbac", file)
        for rule in thing.get("rules") or []
        if group in rule.get("apiGroups", []) and plural in rule["resources"]
    }
    assert about == {name}


@pytest.mark.parametrize("name", RIGHTS)
def test_no_kind_grants_the_observer_what_it_may_do_for_all_kinds(name: str) -> None:
    for_all = granted(documents("observer", "role.yaml")[0])
    assert for_all
    roles = [d for d in documents("rbac", name) if d["kind"] == "ClusterRole"]
    for role in roles:
        if role["metadata"]["name"].startswith("devctl-observer-"):
            assert not granted(role) & for_all


def test_no_label_gives_an_account_rights() -> None:
    things = [thing for file in RIGHTS for thing in documents("rbac", file)]
    summed = {t["metadata"]["name"] for t in things if "aggregationRule" in t}
    bound = {t["roleRef"]["name"] for t in things if t["kind"] == "ClusterRoleBinding"}
    parts = {t["metadata"].get("labels", {}).get(f"{GROUP}/part-of-role") for t in things} - {None}
    assert summed == parts == {"devctl-user", "devctl-job-user", "devctl-administrator"}
    assert not summed & bound


def properties(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of a schema with its path."""
    for name, child in schema.get("properties", {}).items():
        yield f"{path}{name}", child
        yield from properties(child, f"{path}{name}.")


def test_a_job_without_a_spec_has_every_field_that_its_role_reads() -> None:
    (crd,) = documents("crd", "ephemeralaccelerationjob.yaml")
    (version,) = crd["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["default"] == {}
    assert "required" not in spec
    without = {path for path, field in properties(spec) if "default" not in field}
    assert without == {
        "activeDeadlineSeconds",
        "command",
        *("flavor", "priority", "team"),  # of one in no queue
        "owner",  # of one of an earlier release
        "storageClass",
        "weights",
        "weights.labelsPath",
        "weights.path",
    }


def test_a_jobs_spec_is_closed_once_it_has_started_but_for_its_times() -> None:
    (crd,) = documents("crd", "ephemeralaccelerationjob.yaml")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    (rule,) = (r["rule"] for r in schema["x-kubernetes-validations"] if "oldSelf" in r["rule"])
    fields = set(schema["properties"]["spec"]["properties"])
    kept = {field for field in fields if f"self.spec.{field} == oldSelf.spec.{field}" in rule}
    # The owner never changes, started or not.
    (always,) = schema["properties"]["spec"]["x-kubernetes-validations"]
    assert "self.owner == oldSelf.owner" in always["rule"]
    assert fields - kept == {"owner", "ttlSecondsAfterFinished", "pvcTTLSecondsAfterFinished"}


@pytest.mark.parametrize("watch", WATCHES, ids=lambda watch: str(watch["kind"]))
def test_a_kind_is_watched_safely_and_its_role_is_there(watch: dict[str, Any]) -> None:
    role = PurePosixPath(watch["role"]).name
    assert (REPOSITORY / "roles" / role / "tasks/main.yml").is_file()
    # Or Jinja in a user's strings would be run, and status would have two writers.
    assert watch["markUnsafe"] is True
    assert watch["manageStatus"] is False
    assert watch["maxRunnerArtifacts"] >= 3
    # What the role computes with is imported before a run is forked.
    assert (REPOSITORY / "plugins" / role / "values.py").is_file()
    assert image_settings()["DEVCTL_RUNNER_PRELOAD"] == "preload"
    assert role in preload.imported


@pytest.mark.parametrize("watch", WATCHES, ids=lambda watch: str(watch["kind"]))
def test_what_a_role_reads_is_current(watch: dict[str, Any]) -> None:
    """The operator's proxy keeps copies, and one that it may not watch gets old."""
    role = PurePosixPath(watch["role"]).name
    (task,) = yaml.safe_load((REPOSITORY / "roles" / role / "tasks/main.yml").read_text())
    never_copied = {(each.get("group", ""), each["kind"]) for each in watch["blacklist"]}
    for each in task["apply"].get("neighbours", {}).values():
        group, kind = each["apiVersion"].rpartition("/")[0], each["kind"]
        verbs = operator_verbs(group, f"{kind.lower()}s")
        assert "watch" in verbs or (group, kind) in never_copied, kind


def operator_verbs(group: str, plural: str) -> set[str]:
    """What the operator may do with a resource."""
    every = (each for name in RIGHTS for each in documents("rbac", name))
    roles = [
        each
        for each in every
        if each["kind"] == "ClusterRole" and each["metadata"]["name"].startswith("devctl-operator")
    ]
    return {
        verb
        for role in roles
        for rule in role["rules"]
        if group in rule.get("apiGroups", []) and plural in rule.get("resources", [])
        for verb in rule["verbs"]
    }


def test_the_watched_kinds_are_the_ones_that_are_installed() -> None:
    installed = {
        (crd["spec"]["group"], version["name"], crd["spec"]["names"]["kind"])
        for name in set(CRDS) - WITHOUT_ROLE
        for crd in documents("crd", name)
        for version in crd["spec"]["versions"]
    }
    watched = {(w["group"], w["version"], w["kind"]) for w in WATCHES}
    assert watched == installed


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_is_bound_and_fails_closed(name: str) -> None:
    policy, binding = documents("admission", name)
    assert policy["kind"] in {"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}
    # A starting API server may not know a parameter of our own kinds yet.
    of_ours = policy["spec"].get("paramKind", {}).get("apiVersion", "").startswith(GROUP)
    assert policy["spec"]["failurePolicy"] == ("Ignore" if of_ours else "Fail")
    assert policy["metadata"]["name"].startswith("devctl-")
    assert binding["kind"] == f"{policy['kind']}Binding"
    assert binding["metadata"]["name"] == policy["metadata"]["name"]
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    # What mutates has no other way than to.
    denies = policy["kind"] == "ValidatingAdmissionPolicy"
    assert binding["spec"].get("validationActions") == (["Deny"] if denies else None)


@pytest.mark.parametrize("name", ["children.yaml", "homes.yaml", "reserved.yaml", "templates.yaml"])
def test_a_policy_on_marks_judges_every_kind_that_has_children(name: str) -> None:
    policy, binding = documents("admission", name)
    assert policy["spec"]["paramKind"]["kind"] == "CustomResourceDefinition"
    reference = binding["spec"]["paramRef"]
    assert reference["selector"] == {"matchLabels": HAS_CHILDREN}
    # To deny would be to deny every pod of a cluster that our kinds have left.
    assert reference["parameterNotFoundAction"] == "Allow"


def test_the_kinds_that_a_role_answers_have_children() -> None:
    found = {
        crd["spec"]["names"]["kind"]
        for name in CRDS
        for crd in documents("crd", name)
        if HAS_CHILDREN.items() <= crd["metadata"].get("labels", {}).items()
    }
    assert found == {watch["kind"] for watch in WATCHES}


def test_the_policies_name_our_accounts_as_they_are() -> None:
    accounts = {
        f"system:serviceaccount:devctl-system:{document['metadata']['name']}"
        for folder in ("rbac", "observer")
        for document in documents(folder, "service_account.yaml")
    }
    text = "".join((CONFIG / "admission" / name).read_text() for name in POLICIES)
    named = {word.strip("',]") for word in text.split() if "devctl-system:" in word}
    assert {word.rstrip("]),'") for word in named} == accounts
