"""A fake cluster in memory: an API server, a role, a node, two clocks, and our process."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import msgspec
from devctl_observer.control.cluster_api import Fresh
from devctl_observer.control.process import Clock
from devctl_observer.judging.clocks import from_text, to_text
from devctl_observer.kinds.artifacts.claims import CLAIM, parse_claim
from devctl_observer.kinds.jobs.model import JOB
from devctl_observer.kinds.jobs.status import OWN
from devctl_observer.watching.kept import node_facts, small_pod
from devctl_observer.watching.store import Key
from devctl_observer.watching.workloads import Workload
from lightkube.resources.core_v1 import Node, PersistentVolumeClaim, Pod

from devctl.api.ephemeral_acceleration_job import (
    FINISHED_AT,
    JOB_UID,
    OWNER,
    PVC_TTL_SECONDS,
    RELEASED_AT,
    RELEASED_UID,
    WAKE,
)
from devctl.api.labels import owner_digest
from unit.observer.jobs.things import NAMESPACE, OURS, container
from unit.observer.objects import NOW
from unit.observer.running import api_error, idle_observer, jobs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from datetime import datetime


Object = dict[str, Any]
CLAIM_OF, POD_OF = "artifacts-", "ephemeralaccelerationjob-"
POD, VOLUME = POD_OF + "my-job", CLAIM_OF + "my-job"
LATE = 30
"""Seconds after a deadline by which its action must have happened."""


class Queue:
    """A work queue on the cluster's clock."""

    def __init__(
        self, cluster: Cluster, handle: Callable[[Key], Coroutine[Any, Any, float | None]]
    ) -> None:
        self.cluster, self.handle = cluster, handle
        self.ready: set[Key] = set()
        self.timers: dict[Key, float] = {}

    def add(self, key: Key) -> None:
        self.ready.add(key)

    def forget_timer(self, key: Key) -> None:
        self.timers.pop(key, None)

    @property
    def waiting(self) -> int:
        return len(self.ready)

    @property
    def age(self) -> float:
        return 0

    def work(self) -> bool:
        due = {key for key, when in self.timers.items() if when <= self.cluster.seconds}
        keys, self.ready = sorted(self.ready | due), set()
        for key in keys:
            self.timers.pop(key, None)
            wait = asyncio.run(self.handle(key))
            if wait is not None:
                assert wait > 0
                self.timers[key] = self.cluster.seconds + min(wait, 3600)
        return bool(keys)


class Cluster:
    """The whole cluster, with the methods of `ClusterApi`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.ours, self.theirs = NOW, NOW
        self.version = 100
        self.jobs: dict[str, Object] = {}
        self.pods: dict[str, Object] = {}
        self.claims: dict[str, Object] = {}
        self.nodes: dict[str, bool] = {"node-a": True}
        self.workloads: list[Object] = []
        self.told: list[str] = []
        self.role_works = True
        self.process_works = True
        self.woken: list[str] = []
        self.writes = 0
        self.fails_at = 0
        self.gone_at: dict[str, datetime] = {}
        self._for_role: set[str] = set()
        self.restart()

    # Our process

    def restart(self) -> None:
        """Replace our process by a new one, which has only the stored state."""
        self.process_works = True
        self.observer = idle_observer(self, Clock(lambda: self.ours, lambda: self.seconds))
        self.process = jobs_of(self.observer)
        self.process.queue = cast("Any", Queue(self, self.process.controller.look))
        self.process.claims = cast("Any", Queue(self, self.process.claim_controller.look))
        for name in self.nodes:
            self.tell_node(name)
        for kind in ("jobs", "pods", "claims"):
            for name in getattr(self, kind):
                self._watch(kind, name)

    def settle(self) -> None:
        """Run everything that is due now."""
        for _ in range(50):
            queues = cast("list[Queue]", [self.process.queue, self.process.claims])
            worked = [queue.work() for queue in queues if self.process_works]
            roles, self._for_role = self._for_role, set()
            for name in roles if self.role_works else ():
                self._role(name)
            if not (any(worked) or roles):
                return
        raise AssertionError("it never settles")

    def wait(self, seconds: float) -> None:
        """Advance the clocks, second by second."""
        for _ in range(int(seconds)):
            self.seconds += 1
            self.ours += timedelta(seconds=1)
            self.theirs += timedelta(seconds=1)
            self.settle()

    # What the API server does

    def store(self, kind: str, obj: Object) -> Object:
        """Store an object and notify the watches."""
        self.version += 1
        name, all_of_kind = obj["metadata"]["name"], getattr(self, kind)
        old = all_of_kind.get(name)
        meta = {
            "uid": f"{kind}-{self.version}",
            "generation": 1,
            "creationTimestamp": to_text(self.theirs),
        }
        meta |= {"namespace": NAMESPACE, **obj["metadata"], "resourceVersion": str(self.version)}
        new = all_of_kind[name] = obj | {"metadata": meta}
        if kind == "jobs" and (not old or _moves(old) != _moves(new)):
            self._for_role.add(name)
        self._watch(kind, name)
        return cast("Object", msgspec.json.decode(msgspec.json.encode(new)))

    def drop(self, kind: str, name: str) -> None:
        del getattr(self, kind)[name]
        self.gone_at[name] = self.theirs
        self._watch(kind, name)

    def _watch(self, kind: str, name: str) -> None:
        new = getattr(self, kind).get(name)
        caches, process = self.process.caches, self.process
        key = Key(NAMESPACE, name)
        parse: Callable[[Object], Any]
        store: Any
        changed: Any
        if kind == "jobs":
            store, parse, changed = caches.jobs, JOB.parse, process.changed
        elif kind == "pods":
            store, parse, changed = caches.children.pods, _parse_pod, self.observer.child
        else:
            store, parse, changed = caches.children.claims, parse_claim, self.observer.child
        before = store.get(key)
        after = parse(new) if new else None
        if new is None:
            store.drop(key)
        else:
            store.put(key, int(new["metadata"]["resourceVersion"]), after)
        if before != after:
            changed(before, after)

    async def read(self, _kind: Any, meta: Any) -> Fresh[Any]:
        found = self.jobs.get(meta.name)
        return Fresh(JOB.parse(found) if found else None, self.theirs)

    async def list_now(
        self, resource: Any, _namespace: str | None = None, name: str = ""
    ) -> list[Any]:
        if resource is Workload:
            return [msgspec.convert(each, Workload) for each in self.workloads]
        if resource is Node:
            return [_node(name, ready=ready) for name, ready in self.nodes.items()]
        found = self.claims if resource is PersistentVolumeClaim else self.pods
        wanted = [thing for at, thing in found.items() if name in {"", at}]
        return [msgspec.convert(thing, resource) for thing in wanted]

    async def apply_status(self, kind: Any, meta: Any, status: Object) -> Object:
        ours = {str(of) for of in OWN} if kind is JOB else {"Bound"}
        found = self._found(kind, meta)
        before = found.get("status", {})
        others = [c for c in before.get("conditions", []) if c["type"] not in ours]
        kept = {} if kind is JOB else before
        merged = {**kept, **status, "conditions": [*others, *status["conditions"]]}
        return self.store(_folder(kind), found | {"status": merged})

    async def annotate(self, kind: Any, meta: Any, annotations: dict[str, str]) -> Object:
        found = self._found(kind, meta, gone=HTTPStatus.CONFLICT)
        mine = {WAKE} if kind is JOB else {RELEASED_AT, RELEASED_UID}
        before = found["metadata"].get("annotations", {})
        kept = {name: value for name, value in before.items() if name not in mine}
        notes = {"annotations": {**kept, **annotations}}
        return self.store(_folder(kind), found | {"metadata": found["metadata"] | notes})

    async def wake(self, kind: Any, meta: Any, value: str) -> Object:
        self.woken.append(value)
        return await self.annotate(kind, meta, {WAKE: value})

    async def tell(self, _kind: Any, _meta: Any, _version: str, said: Any) -> None:
        self.told.append(said.reason)

    async def delete(self, kind: Any, meta: Any) -> bool:
        assert kind is CLAIM
        found = self.claims.get(meta.name, {"metadata": {}})["metadata"]
        if (found.get("uid"), found.get("resourceVersion")) != (meta.uid, meta.resource_version):
            return False
        self._write()
        self.drop("claims", meta.name)
        return True

    def _found(self, kind: Any, meta: Any, gone: HTTPStatus = HTTPStatus.NOT_FOUND) -> Object:
        self._write()
        found = getattr(self, _folder(kind)).get(meta.name)
        if found is None:
            raise api_error(gone)
        if found["metadata"]["resourceVersion"] != meta.resource_version:
            raise api_error(HTTPStatus.CONFLICT)
        return cast("Object", found)

    def _write(self) -> None:
        self.writes += 1
        if self.writes == self.fails_at:
            raise KilledError

    # What users, the role and the node do

    def create(self, name: str = "my-job", **spec: Any) -> None:
        self.store("jobs", {"metadata": {"name": name, "generation": 1}, "spec": spec})
        self.settle()

    def edit(self, name: str = "my-job", **spec: Any) -> None:
        found = self.jobs[name]
        meta = found["metadata"] | {"generation": found["metadata"]["generation"] + 1}
        self.store("jobs", found | {"metadata": meta, "spec": found["spec"] | spec})
        self.settle()

    def delete_job(self, name: str = "my-job") -> None:
        """Delete a job, and its pod by the owner reference."""
        self.drop("jobs", name)
        if POD_OF + name in self.pods:
            self.drop("pods", POD_OF + name)
        self.settle()

    def _role(self, name: str) -> None:
        found = self.jobs.get(name)
        if found is None:
            return
        status, spec, uid = found.get("status", {}), found["spec"], found["metadata"]["uid"]
        labels = OURS | {"gpu.yourdomain.io/job": name}
        labels |= {OWNER: owner_digest(spec["owner"])} if "owner" in spec else {}
        notes = {JOB_UID: uid, PVC_TTL_SECONDS: str(spec.get("pvcTTLSecondsAfterFinished", 3600))}
        notes |= {FINISHED_AT: status["finishedAt"]} if "finishedAt" in status else {}
        claim, pod = self.claims.get(CLAIM_OF + name), POD_OF + name
        if claim and labels.items() - claim["metadata"].get("labels", {}).items():
            self._role_says(name, "Conflict")
            return
        over = status.get("phase") in {"Succeeded", "Failed"}
        if claim:
            kept = claim["metadata"].get("annotations", {}).items()
            kept_notes = {k: v for k, v in kept if k not in {FINISHED_AT, PVC_TTL_SECONDS}}
            wanted = {**kept_notes, **notes}
            if wanted != claim["metadata"].get("annotations"):
                meta = claim["metadata"] | {"annotations": wanted}
                self.store("claims", claim | {"metadata": meta})
        elif not over:
            meta = {"name": CLAIM_OF + name, "labels": labels, "annotations": notes}
            self.store("claims", {"metadata": meta, "spec": {}, "status": {"phase": "Bound"}})
        if {"type": "PodExpired", "status": "True"}.items() <= _condition(status).items():
            if pod in self.pods:
                self.drop("pods", pod)
        elif not (over or spec.get("suspend") or status.get("startedAt") or pod in self.pods):
            owner = {"apiVersion": "v1", "kind": "Job", "name": name, "uid": uid}
            meta = {"name": pod, "labels": labels, "ownerReferences": [owner]}
            volume = {"name": "a", "persistentVolumeClaim": {"claimName": CLAIM_OF + name}}
            self.store("pods", {"metadata": meta, "spec": {"containers": [], "volumes": [volume]}})
        self._role_says(name, "Applied")

    def _role_says(self, name: str, reason: str) -> None:
        found = self.jobs[name]
        status, works = found.get("status", {}), str(reason == "Applied")
        said = {"type": "Applied", "status": works, "reason": reason, "message": ""}
        said |= {"observedGeneration": found["metadata"]["generation"]}
        others = [c for c in status.get("conditions", []) if c["type"] != "Applied"]
        if said not in status.get("conditions", []):
            self.store("jobs", found | {"status": status | {"conditions": [*others, said]}})

    def pod_is(self, phase: str, state: Object | None = None, name: str = "my-job") -> None:
        pod = self.pods[POD_OF + name]
        statuses = [container(**state)] if state else []
        conditions = [{"type": "PodScheduled", "status": "True"}]
        status = {"phase": phase, "conditions": conditions, "containerStatuses": statuses}
        spec = pod["spec"] | {"nodeName": "node-a"}
        self.store("pods", pod | {"spec": spec, "status": status})
        self.settle()

    def runs(self, name: str = "my-job") -> None:
        self.pod_is("Running", {"running": {"startedAt": to_text(self.theirs)}}, name)

    def exits(self, code: int = 0, message: str = "", name: str = "my-job") -> None:
        states = self.pods[POD_OF + name].get("status", {}).get("containerStatuses")
        since = states[0]["state"]["running"]["startedAt"] if states else to_text(self.theirs)
        said = {"exitCode": code, "message": message, "reason": "Error" if code else "Completed"}
        times = {"startedAt": since, "finishedAt": to_text(self.theirs)}
        self.pod_is("Failed" if code else "Succeeded", {"terminated": said | times}, name)

    def node_is(self, *, ready: bool, name: str = "node-a") -> None:
        before = node_facts(_node(name, ready=self.nodes[name]))
        self.nodes[name] = ready
        self.tell_node(name)
        self.observer.node(before, node_facts(_node(name, ready=ready)))
        self.settle()

    def tell_node(self, name: str) -> None:
        facts = node_facts(_node(name, ready=self.nodes[name]))
        self.process.caches.children.nodes.put(Key("", name), 0, facts)

    def status(self, name: str = "my-job") -> Object:
        return cast("Object", self.jobs[name].get("status", {}))

    def reason(self, kind: str, name: str = "my-job") -> tuple[str, str]:
        """A condition's status and reason."""
        said = _condition(self.status(name), kind)
        return said.get("status", ""), said.get("reason", "")


class KilledError(BaseException):
    """Our process is killed in the middle of its work."""


def finished(cluster: Cluster, **spec: Any) -> None:
    cluster.create(**spec)
    cluster.runs()
    cluster.wait(5)
    cluster.exits()


def at_end(cluster: Cluster) -> datetime:
    found = from_text(cluster.status()["finishedAt"])
    assert found
    return found


def holder(cluster: Cluster, phase: str = "Running") -> None:
    volume = {"name": "a", "persistentVolumeClaim": {"claimName": VOLUME}}
    spec = {"containers": [], "volumes": [volume]}
    cluster.store(
        "pods", {"metadata": {"name": "holder"}, "spec": spec, "status": {"phase": phase}}
    )


def _condition(status: Object, kind: str = "PodExpired") -> Object:
    return next((c for c in status.get("conditions", []) if c["type"] == kind), {})


def _moves(job: Object) -> tuple[Any, Any]:
    """The fields whose changes trigger the role."""
    return job["metadata"]["generation"], job["metadata"].get("annotations")


def _folder(kind: Any) -> str:
    return "jobs" if kind is JOB else "claims"


def _parse_pod(obj: Object) -> Pod:
    return small_pod(msgspec.convert(obj, Pod))


def _node(name: str, *, ready: bool) -> Node:
    conditions = [{"type": "Ready", "status": "True" if ready else "Unknown"}]
    return msgspec.convert({"metadata": {"name": name}, "status": {"conditions": conditions}}, Node)
