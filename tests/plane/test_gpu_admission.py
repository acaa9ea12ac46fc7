"""Who may write what of GPUWorkloads and of what belongs to them, and what the kind refuses."""

from __future__ import annotations

from typing import Any

import pytest
from support.asked import delete, patch
from support.tenants import (
    ADMINISTRATOR,
    ALICE,
    BOB,
    OBSERVER,
    OPERATOR,
    Manifest,
    Tenants,
    child,
    managed,
)

from devctl.api.gpu_workload import LABEL, OWNER_NAME
from devctl.api.kinds import GPU_WORKLOAD
from devctl.api.labels import DEVSERVER

pytestmark = pytest.mark.usefixtures("enforced")
REFUSED = "is written by devctl only"


def workload(name: str = "box", /, **changes: Any) -> Manifest:
    """A stopped workload; annotations and fields of its spec may differ."""
    notes = changes.pop("annotations", {})
    return {
        "apiVersion": GPU_WORKLOAD.api_version,
        "kind": GPU_WORKLOAD.name,
        "metadata": {"name": name, "annotations": notes},
        "spec": {"modelName": "llama2", "gpuCount": 1, "stopped": True, **changes},
    }


def test_a_workload_belongs_to_whoever_creates_it(tenants: Tenants) -> None:
    tenants.create(ALICE, workload(), keep=True)
    assert tenants.read("gpuworkload/box")["spec"]["owner"] == ALICE
    said = tenants.refused(BOB, workload("other", owner=ALICE))
    assert f"spec.owner `{ALICE}` is not you" in said
    assert "create the workload" in said
    change = patch("gpuworkload/box", {"spec": {"owner": "x"}})
    assert "the owner of a workload cannot change" in tenants.denied(ADMINISTRATOR, change)


def test_a_priority_above_ones_own_is_the_administrators_decision(tenants: Tenants) -> None:
    said = tenants.refused(ALICE, workload(priority="high"))
    assert "spec.priority `high` is above yours: `normal` is the highest" in said
    for user, priority in ((ALICE, "normal"), (ALICE, "low"), (ADMINISTRATOR, "high")):
        tenants.create(user, workload(priority=priority))


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_nobody_marks_an_object_as_part_of_a_workload(tenants: Tenants, kind: str) -> None:
    marked = child(kind, labels={LABEL: "box"})
    assert REFUSED in tenants.refused(ALICE, marked)
    for user in (OPERATOR, OBSERVER, ADMINISTRATOR):
        tenants.create(user, managed(marked))
    tenants.create(ALICE, child(kind, labels={"app": "llama2"}))
    assert REFUSED in tenants.refused(ALICE, workload(annotations={GPU_WORKLOAD.wake: "x"}))


def test_the_status_is_not_users_to_write(tenants: Tenants) -> None:
    tenants.create(ALICE, workload(), keep=True)
    tenants.send(ALICE, patch("gpuworkload/box", {"status": {"phase": "Succeeded"}}))
    assert tenants.read("gpuworkload/box").get("status", {}).get("phase") != "Succeeded"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"modelName": ""}, "spec.modelName"),
        ({"modelName": "a" * 256}, "spec.modelName"),
        ({"modelName": "a\nb"}, "control characters"),
        ({"gpuCount": 0}, "spec.gpuCount"),
        ({"gpuCount": 9}, "spec.gpuCount"),
        ({"nodes": 0}, "spec.nodes"),
        ({"nodes": 65}, "spec.nodes"),
        ({"nodes": 2, "env": [{"name": "RANK", "value": "9"}]}, "with several nodes, devctl sets"),
        ({"nodes": 2, "workspace": {"size": "1Gi"}}, "the volume of a workspace is for one pod"),
        ({"priority": "urgent"}, "spec.priority"),
        ({"schedulingStrategy": "Best one"}, "spec.schedulingStrategy"),
        ({"retryPolicy": {"maxRetries": 11}}, "spec.retryPolicy.maxRetries"),
        ({"retryPolicy": {"backoffSeconds": 301}}, "spec.retryPolicy.backoffSeconds"),
        ({"env": [{"name": "GPU_COUNT", "value": "9"}]}, "are set by devctl"),
        ({"timeout": "soon"}, "a timeout is from a second to a year"),
        ({"timeout": 0}, "a timeout is from a second to a year"),
        ({"resources": {"memory": "1"}}, "it is from 8Mi to 64Ti"),
        ({"volumes": [{"claimName": "a", "mountPath": "/a/../b"}]}, "a mountPath is absolute"),
        ({"volumes": [{"claimName": "a", "mountPath": "/tmp"}]}, "and not /tmp"),  # noqa: S108
        ({"volumes": [{"claimName": "a", "mountPath": "/a"}] * 2}, "Duplicate value"),
        ({"ttlSecondsAfterFinished": -1}, "spec.ttlSecondsAfterFinished"),
        ({"workspace": {"size": "1"}}, "it is from 8Mi to 64Ti"),
        ({"workspace": {"storageClassName": "fast"}}, "a storageClassName needs a size"),
        ({"workspace": {"mountPath": "/tmp"}}, "and not /tmp"),  # noqa: S108
        ({"workspace": {"configMapName": "A"}}, "spec.workspace.configMapName"),
        (
            {"workspace": {}, "volumes": [{"claimName": "a", "mountPath": "/workspace"}]},
            "a volume is mounted at the workspace's mountPath",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(tenants: Tenants, spec: dict[str, Any], said: str) -> None:
    assert said in tenants.refused(ADMINISTRATOR, workload(**spec))


def test_one_pod_alone_may_be_given_any_rank(tenants: Tenants) -> None:
    rank = [{"name": "RANK", "value": "0"}]
    tenants.create(ALICE, workload(nodes=1, env=rank))
    tenants.create(ALICE, workload(env=rank))


def test_a_long_name_is_refused(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, workload("a" * 52))
    assert "at most 52" in tenants.refused(ADMINISTRATOR, workload("a" * 53))


def test_defaults_are_those_of_the_documentation(tenants: Tenants) -> None:
    tenants.create(ALICE, workload(), keep=True)
    spec = tenants.read("gpuworkload/box")["spec"]
    assert spec["nodes"] == 1
    assert spec["retryPolicy"] == {"maxRetries": 3, "backoffSeconds": 30}
    assert (spec["priority"], spec["schedulingStrategy"]) == ("normal", "leastLoaded")
    assert spec["resources"] == {"cpu": "500m", "memory": "1Gi"}


def test_a_workspace_stays_as_it_is(tenants: Tenants) -> None:
    tenants.create(ALICE, workload(workspace={"size": "1Gi"}), keep=True)
    assert tenants.read("gpuworkload/box")["spec"]["workspace"]["mountPath"] == "/workspace"
    for change in ({"size": "2Gi"}, None, {"configMapName": "a"}):
        changed = patch("gpuworkload/box", {"spec": {"workspace": change}})
        assert "the workspace of a workload cannot change" in tenants.denied(ALICE, changed)


def test_a_workspace_belongs_to_its_owner(tenants: Tenants) -> None:
    marks: Any = {"labels": {LABEL: "box"}, "annotations": {OWNER_NAME: ALICE}}
    tenants.create(OPERATOR, managed(child("PersistentVolumeClaim", **marks)), keep=True)
    theirs = delete("persistentvolumeclaim/child")
    said = tenants.denied(BOB, theirs)
    assert f"belongs to `{ALICE}`: only they or an administrator can delete it" in said
    tenants.send(ALICE, theirs)


def test_users_delete_their_own_configmaps_and_none_of_devctls(tenants: Tenants) -> None:
    tenants.create(ALICE, child("ConfigMap"), keep=True)
    tenants.send(ALICE, delete("configmap/child"))
    marked = child("ConfigMap", labels={DEVSERVER: "box"})
    tenants.create(OPERATOR, managed(marked), keep=True)
    assert "is deleted by devctl only" in tenants.denied(ALICE, delete("configmap/child"))
    tenants.send(ADMINISTRATOR, delete("configmap/child"))
