"""Jobs, their claims and pods for tests, and a volume that is a folder of this machine."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from devctl.api.ephemeral_acceleration_job import GROUP, JOB, KIND, PVC_TTL_SECONDS, VERSION
from devctl.api.labels import MANAGED_BY, MANAGER
from devctl.client.files import remote as files_remote
from devctl.client.files.remote import Place
from devctl.client.jobs import files as jobs_files
from devctl.client.jobs.files import JobFiles
from unit.client.fake_cluster import NAMESPACE, FakeApi, Thing, ago
from unit.client.pods import Cluster, Command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

JOBS, CLAIMS, PODS = "ephemeralaccelerationjobs", "persistentvolumeclaims", "pods"
KEY = (JOBS, NAMESPACE, "my-job")
LATER = "2026-01-02T13:00:00Z"
"""An hour after NOW."""


def job(
    name: str = "my-job", phase: str = "", /, *, spec: Thing | None = None, **status: Any
) -> Thing:
    """A job; one that runs or has ended has started ten minutes ago."""
    if phase in {"Running", "Succeeded", "Failed"}:
        status = {"startedAt": ago(minutes=10), **status}
    if phase in {"Succeeded", "Failed"}:
        status = {"finishedAt": ago(minutes=9), "artifactsExpireAt": LATER, **status}
    wanted = {"model": "resnet50", "image": "gpu-job-inference:latest", "resources": {"gpu": 1}}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name, "namespace": NAMESPACE, "creationTimestamp": ago(minutes=15)},
        "spec": wanted | (spec or {}),
        "status": {"phase": phase, **status} if phase else {},
    }


def suspended(name: str = "my-job") -> Thing:
    """A job as `egpu copy-file` makes it."""
    return job(name, "Pending", spec={"suspend": True}, reason="Suspended", message="it waits")


def claim(of: str = "my-job", *, phase: str = "Bound", ours: bool = True, **notes: str) -> Thing:
    """The claim of a job's volume, with annotations of the job's group."""
    labels = {MANAGED_BY: MANAGER, JOB: of} if ours else {}
    kept = {PVC_TTL_SECONDS: "3600"} | {
        f"{GROUP}/{name.replace('_', '-')}": text for name, text in notes.items()
    }
    return {
        "metadata": {
            "name": f"artifacts-{of}",
            "namespace": NAMESPACE,
            "labels": labels,
            "annotations": {name: text for name, text in kept.items() if text},
        },
        "spec": {"resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": phase, "capacity": {"storage": "1Gi"}},
    }


def user(name: str = "reader", of: str = "my-job", phase: str = "Running") -> Thing:
    """A pod that mounts a job's volume."""
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": f"artifacts-{of}"}}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"volumes": [volume], "nodeName": "gpu-1", "containers": []},
        "status": {"phase": phase},
    }


RUNNING = {
    "phase": "Running",
    "conditions": [{"type": "PodScheduled", "status": "True"}],
    "containerStatuses": [{"name": "loader", "image": "i", "state": {"running": {}}}],
}


def helpers_run(api: FakeApi) -> list[Thing]:
    """Pods that are made run at once; the list of them."""
    made: list[Thing] = []

    def run(plural: str, thing: Thing) -> None:
        if plural == PODS:
            made.append(thing)
            thing["status"] = RUNNING

    api.made = run
    api.add("configmaps", settings(loaderImage="loader:1"))
    return made


def settings(**data: str) -> Thing:
    """What an administrator has set."""
    return {"metadata": {"name": "devctl-settings", "namespace": "devctl-system"}, "data": data}


def volume(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in pods run here, with a folder for /artifacts."""

    @contextmanager
    def local(
        place: Place, script: str, *arguments: str, feed: Any = None, held: bool = False
    ) -> Iterator[Command]:
        assert place.container == "loader"
        inside = str(root) + place.path.removeprefix("/artifacts")
        argv = ["sh", "-c", script, "devctl", inside, *arguments]
        yield Command(argv, feed, root, held=held)

    monkeypatch.setattr(files_remote, "transfer", local)


def place(path: str = "/artifacts") -> Place:
    """A place on that volume."""
    owner = "artifacts-my-job"
    return Place(CLUSTER, NAMESPACE, "loader-x", path, container="loader", owner=owner)


def volume_of_a_job(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same volume, with a pod that mounts it already."""
    volume(root, monkeypatch)
    monkeypatch.setattr(jobs_files, "helper", lambda *_, **__: nullcontext(place()))


CLUSTER: Any = Cluster()
FILES = JobFiles(CLUSTER)
