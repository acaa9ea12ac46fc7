"""Whatever a spec's fields contain, the manifests are the same, with it as plain text."""

from __future__ import annotations

import json
from functools import cache

import pytest
import yaml
from devserver.values import values as compute
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.plugins.templates import (
    CONFINED_CONTAINER,
    CONFINED_POD,
    HOSTILE,
    TEXT,
    Thing,
    put,
    rendered,
)

from devctl.api.labels import MADE_FROM, OWNER_NAME
from devctl.local.paths import REPOSITORY

ROLE = REPOSITORY / "roles/devserver"
FILES = {path.name: path.read_text() for path in (ROLE / "files").iterdir()}
FIELDS = (
    "image",
    "flavor",
    "sharedVolumeClaimName",
    "persistentHomeSize",
    "setting",
    "memory",
    "selector",
    "toleration",
)


def server(values: dict[str, str]) -> Thing:
    block = {"worldSize": 2, "backend": "gloo", "ncclSettings": {"NCCL_DEBUG": values["setting"]}}
    spec: Thing = {name: values[name] for name in FIELDS[:4]}
    spec |= {"owner": "alice", "mode": "distributed", "distributed": block}
    return {"metadata": {"name": "lab", "namespace": "dev", "uid": "u1"}, "spec": spec}


def flavor(values: dict[str, str]) -> Thing:
    return {
        "metadata": {"name": values["flavor"], "generation": 1},
        "spec": {
            "resources": {"requests": {"memory": values["memory"]}},
            "nodeSelector": {"pool": values["selector"]},
            "tolerations": [{"key": values["toleration"]}],
        },
    }


def render(values: dict[str, str]) -> list[Thing]:
    """The manifests of a server with these texts."""
    read: Thing = {"stateful_sets": [], "claims": [], "pods": [], "teams": [], "files": FILES}
    wanted = compute(server(values), flavors=[flavor(values)], **read)
    return rendered("devserver", wanted.names)


def without_record(manifests: list[Thing]) -> list[Thing]:
    """The record of the spec is a string of JSON, and is compared separately."""
    for manifest in manifests:
        manifest["metadata"].pop("annotations", None)
    return manifests


@cache
def plain() -> str:
    """The manifests of a server with placeholders as texts."""
    return json.dumps(without_record(render({name: f"plain-{name}" for name in FIELDS})))


def check(values: dict[str, str]) -> None:
    texts = {f"plain-{name}": value for name, value in values.items()}
    # The kubelet would expand `$(NAME)`.
    texts["plain-setting"] = values["setting"].replace("$", "$$")
    found = render(values)
    metadata = next(m["metadata"] for m in found if m["kind"] == "StatefulSet")
    record = json.loads(metadata["annotations"][MADE_FROM])
    assert record["spec"]["image"] == values["image"]
    assert without_record(found) == put(json.loads(plain()), texts)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_stays_text(text: str) -> None:
    check(dict.fromkeys(FIELDS, text))


@settings(deadline=None, max_examples=25)
@given(st.fixed_dictionaries(dict.fromkeys(FIELDS, TEXT)))
def test_any_text_stays_text(values: dict[str, str]) -> None:
    check(values)


def test_every_script_of_the_role_reaches_the_server() -> None:
    (utilities,) = (m for m in render(dict.fromkeys(FIELDS, "x")) if m["kind"] == "ConfigMap")
    (task,) = yaml.safe_load((ROLE / "tasks/main.yml").read_text())

    assert utilities["data"] == FILES
    assert set(task["apply"]["files"]) == FILES.keys()


def only(kind: str) -> Thing:
    """The only manifest of a kind."""
    (found,) = (m for m in render(dict.fromkeys(FIELDS, "1Gi")) if m["kind"] == kind)
    return found


def test_pods_are_confined_and_reach_no_api() -> None:
    spec = only("StatefulSet")["spec"]["template"]["spec"]
    (container,) = spec["containers"]

    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["securityContext"] == CONFINED_POD
    assert container["securityContext"] == CONFINED_CONTAINER
    assert "livenessProbe" not in container, "a restart would end somebody's work"


def test_shared_memory_has_the_size_that_was_computed() -> None:
    (made,) = (
        m
        for m in render(dict.fromkeys(FIELDS, "1Gi") | {"memory": "3Gi"})
        if m["kind"] == "StatefulSet"
    )
    volumes = {v["name"]: v for v in made["spec"]["template"]["spec"]["volumes"]}

    assert volumes["shared-memory"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "3Gi"}


def test_homes_outlive_what_they_were_made_for() -> None:
    kept = only("StatefulSet")["spec"]["persistentVolumeClaimRetentionPolicy"]

    assert kept == {"whenDeleted": "Retain", "whenScaled": "Retain"}


def test_each_home_names_its_owner() -> None:
    manifests = render(dict.fromkeys(FIELDS, "1Gi"))
    found = [m["metadata"] for m in manifests if m["kind"] == "PersistentVolumeClaim"]

    assert [home["name"] for home in found] == ["home-lab-0", "home-lab-1"]
    assert all(home["annotations"] == {OWNER_NAME: "alice"} for home in found)


def test_ranks_start_at_once_and_find_each_other_before_they_are_ready() -> None:
    service, made = only("Service")["spec"], only("StatefulSet")["spec"]

    assert (made["replicas"], made["podManagementPolicy"]) == (2, "Parallel")
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)
    assert service["selector"] == made["selector"]["matchLabels"]


def test_a_pod_keeps_the_scripts_that_it_started_with() -> None:
    utilities, made = only("ConfigMap"), only("StatefulSet")["spec"]["template"]["spec"]

    assert utilities["immutable"] is True
    assert utilities["metadata"]["annotations"] == {"devops.yourcompany.com/shared": "true"}
    (mounted,) = [volume["configMap"] for volume in made["volumes"] if "configMap" in volume]
    assert mounted["name"] == utilities["metadata"]["name"]


def test_no_value_is_rendered_as_a_template_again() -> None:
    made = yaml.safe_dump(render(dict.fromkeys(FIELDS, "{{ 6 * 7 }}")))

    assert "42" not in made
    assert "{{ 6 * 7 }}" in made
