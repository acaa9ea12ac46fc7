"""The folder of a GPU workload: its volume, and the code that is unpacked there."""

from __future__ import annotations

import pytest
from apply.errors import ApplyError
from gpu_workload.values import values
from unit.plugins.templates import CONFINED_CONTAINER, rendered
from unit.plugins.test_gpu_workload import CHOSEN, Thing, container, made, workload

from devctl.api import gpu_workload as words
from devctl.api.labels import owner_digest

FOLDER = {"mountPath": "/workspace"}
CODE = FOLDER | {"configMapName": "code"}
ALICE, BOB = "alice@company.com", "bob@company.com"


def claims(of: Thing, *there: Thing) -> list[Thing]:
    found = values(of, jobs=[], claims=list(there)).names
    return list(rendered("gpu_workload", {**found, "job": None}))


def claim(owner: str) -> Thing:
    labels = {words.OWNER: owner_digest(owner)}
    return {"metadata": {"name": "workspace-one", "labels": labels, "annotations": {}}}


def test_the_program_starts_in_an_empty_folder() -> None:
    of = workload(CHOSEN, workspace=FOLDER)
    assert container(of)["workingDir"] == "/workspace"
    assert {"name": "workspace", "mountPath": "/workspace"} in container(of)["volumeMounts"]
    pod = made(of)["spec"]["template"]["spec"]
    assert {"name": "workspace", "emptyDir": {}} in pod["volumes"]
    assert "initContainers" not in pod
    assert claims(of) == []


def test_code_is_unpacked_by_the_same_image_without_a_gpu() -> None:
    pod = made(workload(CHOSEN, workspace=CODE, image="mine:1"))["spec"]["template"]["spec"]
    assert {"name": "archive", "configMap": {"name": "code"}} in pod["volumes"]
    (unpack,) = pod["initContainers"]
    assert unpack["image"] == "mine:1"
    assert unpack["securityContext"] == CONFINED_CONTAINER
    assert unpack["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert unpack["command"][-2:] == ["/archive/archive.tar.gz", "/workspace"]
    assert [mount["name"] for mount in unpack["volumeMounts"]] == ["workspace", "archive"]


def test_a_volume_outlives_the_workload_and_belongs_to_its_owner() -> None:
    of = workload(workspace=FOLDER | {"size": "5Gi"}, owner=ALICE)
    (found,) = claims(of)
    assert found["metadata"]["name"] == "workspace-one"
    assert found["metadata"]["labels"] == {words.OWNER: owner_digest(ALICE)}
    assert found["metadata"]["annotations"][words.OWNER_NAME] == ALICE
    assert found["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "5Gi"}},
    }
    assert claims(of, claim(ALICE)) == [found], "an earlier volume of the same owner is used"
    pod = made(workload(CHOSEN, workspace=FOLDER | {"size": "5Gi"}))["spec"]["template"]["spec"]
    kept = {"persistentVolumeClaim": {"claimName": "workspace-one"}}
    assert {"name": "workspace", **kept} in pod["volumes"]


def test_the_class_of_a_volume() -> None:
    (found,) = claims(workload(workspace=FOLDER | {"size": "5Gi", "storageClassName": "fast"}))
    assert found["spec"]["storageClassName"] == "fast"


def test_nobody_inherits_the_files_of_somebody_else() -> None:
    of = workload(workspace=FOLDER | {"size": "5Gi"}, owner=BOB)
    with pytest.raises(ApplyError, match="files of an earlier workload of an unknown owner"):
        claims(of, claim(ALICE))
    there = claim(ALICE)
    there["metadata"]["annotations"][words.OWNER_NAME] = ALICE
    with pytest.raises(ApplyError, match=f"of an earlier workload of `{ALICE}`; choose another"):
        claims(of, there)


@pytest.mark.parametrize(
    "status",
    [
        CHOSEN | {"jobName": "one-1"},
        CHOSEN | {"attempt": 2},
        {"phase": "Failed"},
        {"phase": "Succeeded", "attempt": 1},
    ],
)
def test_a_volume_that_was_lost_is_not_replaced_by_an_empty_one(status: Thing) -> None:
    assert claims(workload(status, workspace=FOLDER | {"size": "5Gi"})) == []
