"""Objects of a job as the API server returns them, reduced to what matters."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from devctl_observer.judging.clocks import Clocks, to_text
from devctl_observer.judging.pods import Surroundings
from devctl_observer.kinds.jobs.model import JOB as KIND
from devctl_observer.kinds.jobs.observed import Observed
from devctl_observer.watching.kept import node_facts
from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod

from devctl.api.ephemeral_acceleration_job import JOB, claim_name, pod_name
from devctl.api.labels import MANAGED_BY, MANAGER
from unit.observer.objects import NOW, node

if TYPE_CHECKING:
    from datetime import datetime

    from devctl_observer.kinds.jobs.model import Job

NAMESPACE, NAME, UID = "team", "my-job", "j-1"
OURS = {MANAGED_BY: MANAGER, JOB: NAME}


def at(seconds: float) -> str:
    """The timestamp of a number of seconds after NOW."""
    return to_text(NOW + timedelta(seconds=seconds))


def clocks(ours: float = 0, theirs: float | None = 0) -> Clocks:
    def of(seconds: float) -> datetime:
        return NOW + timedelta(seconds=seconds)

    return Clocks(of(ours), None if theirs is None else of(theirs))


def job(
    status: dict[str, Any] | None = None, meta: dict[str, Any] | None = None, **spec: Any
) -> Job:
    metadata = {"name": NAME, "namespace": NAMESPACE, "uid": UID, "generation": 1}
    return KIND.parse(
        {
            "metadata": {**metadata, "resourceVersion": "5", **(meta or {})},
            "spec": spec,
            "status": status or {},
        }
    )


def pod(phase: str = "Running", **changes: Any) -> Pod:
    """The job's pod, created 20 s ago; `meta` changes its metadata, other keywords its status."""
    meta = changes.pop("meta", {})
    where = changes.pop("node", "node-a")
    conditions = [{"type": "PodScheduled", "status": "True"}, *changes.pop("conditions", [])]
    owner = {"apiVersion": "v1", "kind": "EphemeralAccelerationJob", "name": NAME, "uid": UID}
    return msgspec.convert(
        {
            "metadata": {
                "name": pod_name(NAME),
                "namespace": NAMESPACE,
                "uid": "p-1",
                "creationTimestamp": at(-20),
                "labels": OURS,
                "ownerReferences": [owner],
                **meta,
            },
            "spec": {
                "containers": [],
                "nodeName": where,
                "volumes": [
                    {"name": "a", "persistentVolumeClaim": {"claimName": claim_name(NAME)}}
                ],
            },
            "status": {
                "phase": phase,
                "conditions": conditions,
                "containerStatuses": [container(running={"startedAt": at(-10)})],
                **changes,
            },
        },
        Pod,
    )


def container(**state: Any) -> dict[str, Any]:
    return {
        "name": "job",
        "image": "i",
        "imageID": "",
        "ready": "running" in state,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


def ended(code: int, message: str = "", reason: str = "Error", **more: Any) -> dict[str, Any]:
    """Statuses of a container that ran from 10 s ago to 5 s ago."""
    state = {"exitCode": code, "message": message, "reason": reason}
    times = {"startedAt": at(-10), "finishedAt": at(-5)}
    return {"containerStatuses": [container(terminated=state | times | more)]}


def waits(reason: str, message: str = "") -> dict[str, Any]:
    return {"containerStatuses": [container(waiting={"reason": reason, "message": message})]}


def unscheduled(reason: str, message: str) -> Pod:
    found = pod("Pending", node=None, containerStatuses=[])
    said = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    assert found.status
    found.status.conditions = msgspec.convert([said], type=list[type(found.status.conditions[0])])  # type: ignore[index,misc]
    return found


def claim(
    phase: str = "Bound", meta: dict[str, Any] | None = None, **more: Any
) -> PersistentVolumeClaim:
    metadata = {"name": claim_name(NAME), "namespace": NAMESPACE, "uid": "c-1", "labels": OURS}
    return msgspec.convert(
        {
            "metadata": {**metadata, "resourceVersion": "7", **(meta or {})},
            "spec": {"storageClassName": "longhorn"},
            "status": {"phase": phase, **more},
        },
        PersistentVolumeClaim,
    )


def applied(status: str = "True", generation: int = 1, **more: Any) -> dict[str, Any]:
    said = {"type": "Applied", "status": status, "observedGeneration": generation}
    return {"conditions": [said | more]}


def observed(  # noqa: PLR0913 - everything that a status is derived from
    found: Job | None = None,
    its_pod: Pod | None = None,
    its_claim: PersistentVolumeClaim | None = None,
    *,
    ready: str = "True",
    listed: bool = False,
    warnings: tuple[Any, ...] = (),
) -> Observed:
    claims = {claim_name(NAME): its_claim} if its_claim else {}
    seen = Observed(found or job(), claim=its_claim, around=Surroundings(claims, warnings))
    return seen.with_pod(its_pod, [node_facts(node(ready=ready))], listed=listed)
