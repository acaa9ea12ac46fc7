"""Artifacts of jobs: a folder stands for the volume, and the test writes what a program would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.gateway_bodies import JOB
from support.gateway_place import granted, registered, serving, writer
from support.gateway_process import CONFIG, GatewayProcess
from support.gpu_worker_jobs import WorkerJob
from support.plane.content import NODES
from support.servers import wait_until

from devctl.api.gpu_worker_job import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.plane import Plane

CLAIM = yaml.safe_load((CONFIG / "artifacts/claim.yaml").read_text())
NAME = CLAIM["metadata"]["name"]
OLD = "job-000000000000"


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """It has files of a job that is long gone."""
    found = tmp_path / "volume"
    (found / OLD / "out").mkdir(parents=True)
    (found / OLD / "out/model.pt").write_bytes(b"weights")
    (found / OLD / "out").chmod(0)
    return found


@pytest.fixture
def gateway(
    kubectl: Kubectl, deployed: Plane, tmp_path: Path, volume: Path
) -> Iterator[GatewayProcess]:
    kept = {"artifacts_claim": NAME, "artifacts_folder": volume, "artifacts_days": 0}
    with granted(kubectl), writer(deployed):
        kubectl.api.apply(CLAIM)
        with serving(deployed, tmp_path, "sqlite", **kept) as one:
            yield one


def test_what_a_program_writes_is_served_and_what_is_old_is_removed(
    gateway: GatewayProcess, kubectl: Kubectl, volume: Path
) -> None:
    wait_until(lambda: not list(volume.iterdir()), "what was kept long enough is removed")
    registered(gateway, kubectl, NODES)
    with gateway.client("ada") as ada, gateway.client("bob") as bob:
        for field in ("artifactsClaim", "artifacts_claim"):
            assert ada.post("/jobs/", json=JOB | {field: "other"}).status_code == 422
        job_id = ada.post("/jobs/", json=JOB).json()["job_id"]
        asked = f"/jobs/{job_id}/artifacts"

        def told() -> dict[str, Any]:
            found: dict[str, Any] = ada.get(f"/jobs/{job_id}").json()
            return found

        # Its pod is placed: the claim has a volume that all nodes see.
        wait_until(lambda: told()["state"] == "running", lambda: f"it runs: {told()}")
        one = WorkerJob(kubectl.api, NAMESPACE, job_id)
        there = kubectl.api.get("gpuworkerjobs.imagepod.dev", job_id, NAMESPACE)
        assert there
        assert there["spec"]["artifactsClaim"] == NAME
        (pod,) = one.pods()
        (mount,) = (
            each
            for each in pod["spec"]["containers"][0]["volumeMounts"]
            if each["mountPath"] == "/artifacts"
        )
        assert mount["subPath"] == job_id
        claims = {
            each["name"]: each["persistentVolumeClaim"]["claimName"]
            for each in pod["spec"]["volumes"]
            if "persistentVolumeClaim" in each
        }
        assert claims == {mount["name"]: NAME}

        assert ada.get(asked).json()["items"] == []
        (volume / job_id / "out").mkdir(parents=True)
        (volume / job_id / "out/model.pt").write_bytes(b"weights")
        (volume / job_id / "link").symlink_to("/etc/passwd")
        (found,) = ada.get(asked).json()["items"]
        assert (found["path"], found["size"]) == ("out/model.pt", 7)
        part = ada.get(f"{asked}/out/model.pt", headers={"Range": "bytes=2-"})
        assert (part.status_code, part.content) == (206, b"ights")
        assert ada.get(f"{asked}/link").status_code == 404
        for path in (asked, f"{asked}/out/model.pt"):
            assert bob.get(path).status_code == 404

        one.end()
        wait_until(lambda: bool(ada.get(f"/jobs/{job_id}/cost").json()["final"]), "it has ended")
        assert ada.get(f"{asked}/out/model.pt").content == b"weights"
        assert [each.name for each in volume.iterdir()] == [job_id]
