"""The API servers in memory that unit tests ask, held against the real one: the same contract."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from apply.errors import ApplyError, FieldConflictError, StaleReadError
from apply.manifests import Key, Kind
from apply.server.client import Cluster as ApplyCluster
from apply.server.connection import connect
from devctl_observer.control.cluster_api import ClusterApi
from devctl_observer.judging.model import Meta, meta_of
from devctl_observer.kinds.artifacts.claims import CLAIM
from devctl_observer.kinds.jobs.model import JOB
from lightkube import ApiError, AsyncClient, KubeConfig
from lightkube.core.resource import api_info
from lightkube.resources.core_v1 import PersistentVolumeClaim
from unit.client.fake_cluster import FakeApi as ClientFake
from unit.observer.jobs.cluster import Cluster as ObserverFake
from unit.observer.jobs.things import NAMESPACE
from unit.plugins.fake_api import FakeApi as ApplyFake

from devctl.api.ephemeral_acceleration_job import RELEASED_AT, RELEASED_UID
from devctl.errors import AlreadyExistsError, DevctlError, NotFoundError
from devctl.kube.cluster import Cluster as ClientCluster
from devctl.kube.resources import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    from support.api import Api
    from support.plane.plane import Plane
    from support.plane.process import Process

Thing = dict[str, Any]
BOTH = ("real", "fake")
KINDS: dict[str, Any] = {"jobs": JOB, "claims": CLAIM}
MANIFESTS: dict[str, Thing] = {
    "jobs": {
        "apiVersion": JOB.api_version,
        "kind": JOB.name,
        "spec": {"image": "none", "command": ["true"]},
    },
    "claims": {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Mi"}},
            "storageClassName": "none",
        },
    },
}
CONFIG = Kind("v1", "ConfigMap")


def config(name: str = "a", value: str = "x", **metadata: Any) -> Thing:
    metadata = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"v": value}}


@pytest.fixture(params=BOTH)
def client(request: pytest.FixtureRequest, kubeconfig: Path, namespace: str) -> Any:
    """What commands and the SDK reach a cluster through."""
    if request.param == "fake":
        return ClientFake(namespace=namespace).cluster()
    return ClientCluster.connect(str(kubeconfig), namespace=namespace)


@pytest.fixture(params=BOTH)
def roles(
    request: pytest.FixtureRequest, kubeconfig: Path, namespace: str
) -> Iterator[ApplyCluster]:
    """What roles reach a cluster through."""
    if request.param == "fake":
        yield ApplyCluster(ApplyFake().client(), namespace, "devctl-operator")
        return
    with connect({"KUBECONFIG": str(kubeconfig)}) as found:
        yield ApplyCluster(found, namespace, "devctl-operator")


@dataclass
class Judge:
    """What the observer reaches a cluster through, and what others do there.

    Attributes:
        api: Its own requests.
        run: Runs one of them.
        namespace: Of all objects.
        others: The API server as others reach it; None where it is the fake.
    """

    api: Any
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    namespace: str
    others: Api | None = None

    def make(self, kind: str = "jobs", **annotations: str) -> Any:
        """Somebody makes an object `a`: its metadata, as the observer reads it."""
        metadata = {"name": "a", "namespace": self.namespace, "annotations": annotations}
        made = MANIFESTS[kind] | {"metadata": metadata}
        stored = self.others.create(made) if self.others else self.api.store(kind, made)
        return msgspec.convert(stored["metadata"], Meta)

    def say(self, meta: Any, status: Thing) -> None:
        """The role writes into a job's status."""
        if self.others:
            self.others.patch("eaj", meta.name, {"status": status}, self.namespace, "status")
        else:
            self.api.store("jobs", self.api.jobs[meta.name] | {"status": status})

    def drop(self, kind: str) -> None:
        """Somebody deletes it."""
        if self.others:
            self.others.delete(api_info(KINDS[kind].resource).plural, "a", self.namespace)
        else:
            self.api.drop(kind, "a")


@pytest.fixture(params=BOTH)
def judge(
    request: pytest.FixtureRequest, plane: Plane, kubeconfig: Path, namespace: str
) -> Iterator[Judge]:
    """The observer's requests, as a test sends them; operator and observer do nothing meanwhile."""
    with asyncio.Runner() as runner:
        if request.param == "fake":
            yield Judge(ObserverFake(), runner.run, NAMESPACE)
            return
        client = AsyncClient(KubeConfig.from_file(kubeconfig))
        with paused(plane.observer), paused(plane.operator.operator):
            yield Judge(ClusterApi(client, lambda: True), runner.run, namespace, plane.kubectl.api)
        runner.run(client.close())


@contextmanager
def paused(process: Process) -> Iterator[None]:
    """For less than its lease lasts."""
    process.freeze()
    yield
    process.thaw()


# What commands rely on.


def test_a_name_is_given_once(client: Any) -> None:
    made = client.create(ConfigMap, config())
    assert made["metadata"]["namespace"] == client.namespace
    with pytest.raises(AlreadyExistsError, match='"a" already exists'):
        client.create(ConfigMap, config())
    client.create(ConfigMap, config("b"), dry_run=True)
    with pytest.raises(NotFoundError, match='"b" not found'):
        client.get(ConfigMap, "b")


def test_lists_go_by_labels_and_fields(client: Any) -> None:
    client.create(ConfigMap, config("a", labels={"team": "blue"}))
    client.create(ConfigMap, config("b"))
    blue = list(client.list(ConfigMap, labels={"team": "blue"}))
    named = list(client.list(ConfigMap, fields={"metadata.name": "b"}))
    assert [[t["metadata"]["name"] for t in found] for found in (blue, named)] == [["a"], ["b"]]
    first = next(client.watch(ConfigMap, name="a"))
    assert (first.type, first.object["metadata"]["name"]) == ("ADDED", "a")


def test_a_patch_merges_and_takes_away_what_is_none(client: Any) -> None:
    made = client.create(ConfigMap, config())
    found = client.patch(ConfigMap, "a", {"data": {"v": None, "w": "y"}})
    assert found["data"] == {"w": "y"}
    assert found["metadata"]["resourceVersion"] != made["metadata"].get("resourceVersion")
    with pytest.raises(DevctlError):
        client.patch(ConfigMap, "a", {"metadata": {"uid": "another"}, "data": {"w": "z"}})
    with pytest.raises(DevctlError):
        client.patch(ConfigMap, "a", {"metadata": {"resourceVersion": "1"}, "data": {"w": "z"}})
    assert client.get(ConfigMap, "a")["data"] == {"w": "y"}


def test_only_what_was_read_is_deleted(client: Any) -> None:
    client.create(ConfigMap, config())
    first = client.get(ConfigMap, "a")
    client.patch(ConfigMap, "a", {"data": {"v": "y"}})
    with pytest.raises(DevctlError, match="changed meanwhile and is left alone"):
        client.delete(ConfigMap, first, unchanged=True)
    client.delete(ConfigMap, first)
    client.create(ConfigMap, config())
    with pytest.raises(DevctlError, match="recreated meanwhile and is left alone"):
        client.delete(ConfigMap, first)
    with pytest.raises(NotFoundError):
        client.delete(ConfigMap, first | {"metadata": first["metadata"] | {"name": "none"}})


# What roles rely on.


def placed(roles: ApplyCluster, name: str = "a", value: str = "x", **metadata: Any) -> Thing:
    """The same with its namespace, as a role's manifests have it."""
    return config(name, value, namespace=roles.namespace, **metadata)


def test_what_is_made_is_made_once(roles: ApplyCluster) -> None:
    made = roles.make(placed(roles))
    assert made["data"] == {"v": "x"}
    assert made["metadata"]["resourceVersion"] != "1"
    with pytest.raises(StaleReadError):
        roles.make(placed(roles))
    assert roles.get(Key(CONFIG, "a", roles.namespace)) is not None
    assert roles.get(Key(CONFIG, "b", roles.namespace)) is None


def test_an_apply_changes_the_object_that_was_read(roles: ApplyCluster) -> None:
    uid = roles.make(placed(roles))["metadata"]["uid"]
    assert roles.apply(placed(roles, "a", "y", uid=uid))["data"] == {"v": "y"}
    other = "00000000-0000-4000-8000-000000000000"
    for name in ("a", "none"):
        with pytest.raises(StaleReadError):
            roles.apply(placed(roles, name, "z", uid=other))
    same = roles.apply(placed(roles, "a", "y", uid=uid))
    assert roles.apply(placed(roles, "a", "y", uid=uid)) == same, "nothing is written"


def test_fields_of_others_are_theirs_until_they_are_taken(roles: ApplyCluster) -> None:
    ApplyCluster(roles.client, roles.namespace, "others").make(placed(roles, "a", "theirs"))
    with pytest.raises(FieldConflictError) as conflict:
        roles.apply(placed(roles, "a", "ours"))
    assert conflict.value.managers == {"others"}
    assert roles.apply(placed(roles, "a", "ours"), force=True)["data"] == {"v": "ours"}


def test_a_list_has_what_carries_all_labels(roles: ApplyCluster) -> None:
    roles.make(placed(roles, "a", labels={"x": "1", "y": "1"}))
    roles.make(placed(roles, "b", labels={"x": "1"}))
    names = [t["metadata"]["name"] for t in roles.list(CONFIG, {"x": "1", "y": "1"})]
    assert names == ["a"]


def test_a_deletion_is_of_what_was_read(roles: ApplyCluster) -> None:
    first = roles.make(placed(roles))
    second = roles.apply(placed(roles, "a", "y"))
    with pytest.raises(StaleReadError):
        roles.delete(first)
    roles.delete(second)
    roles.delete(second)
    assert roles.get(Key(CONFIG, "a", roles.namespace)) is None


def test_a_dry_run_writes_nothing(roles: ApplyCluster) -> None:
    made = roles.make(placed(roles))
    dry = ApplyCluster(roles.client, roles.namespace, "devctl-operator", dry_run=True)
    assert dry.apply(placed(roles, "a", "y"))["data"] == {"v": "y"}
    dry.make(placed(roles, "b"))
    dry.delete(made)
    found = roles.get(Key(CONFIG, "a", roles.namespace))
    assert found
    assert found["data"] == {"v": "x"}
    with pytest.raises((ApplyError, StaleReadError)):
        dry.make(placed(roles, "a"))


# What the observer relies on.


def test_a_status_is_exactly_ours_but_for_conditions_of_others(judge: Judge) -> None:
    meta = judge.make()
    judge.say(meta, {"conditions": [said("Applied")]})
    ours = [said("Succeeded"), said("PodExpired")]
    for status in ({"phase": "Running", "conditions": ours}, {"conditions": ours[:1]}):
        meta = judge.run(judge.api.read(JOB, meta)).item.metadata
        found = judge.run(judge.api.apply_status(JOB, meta, status))["status"]
    assert {one["type"] for one in found["conditions"]} == {"Applied", "Succeeded"}
    assert "phase" not in found


def test_annotations_are_exactly_ours_but_for_those_of_others(judge: Judge) -> None:
    meta = judge.make("claims", team="blue")
    for notes in ({RELEASED_AT: "then", RELEASED_UID: "one"}, {RELEASED_AT: "now"}):
        found = judge.run(judge.api.annotate(CLAIM, meta, notes))
        meta = msgspec.convert(found["metadata"], Meta)
    assert found["metadata"]["annotations"] == {"team": "blue", RELEASED_AT: "now"}


def test_a_successor_is_not_taken_for_what_was_read(judge: Judge) -> None:
    first = judge.make()
    judge.drop("jobs")
    writes = (
        lambda: judge.api.apply_status(JOB, first, {"phase": "Failed", "conditions": []}),
        lambda: judge.api.wake(JOB, first, "x"),
    )
    gone = [refusal(judge, write) for write in writes]
    judge.make()
    assert ([refusal(judge, write) for write in writes], gone) == ([409, 409], [404, 409])


def test_a_status_is_of_what_was_read(judge: Judge) -> None:
    meta = judge.make()
    judge.say(meta, {"conditions": [said("Applied")]})
    late = judge.api.apply_status(JOB, meta, {"phase": "Failed", "conditions": []})
    assert refusal(judge, lambda: late) == 409
    now = judge.run(judge.api.read(JOB, meta)).item
    assert "phase" not in now.status
    judge.run(judge.api.apply_status(JOB, now.metadata, {"conditions": []}))


def test_a_volume_is_deleted_as_it_was_read(judge: Judge) -> None:
    first = judge.make("claims")
    judge.run(judge.api.annotate(CLAIM, first, {RELEASED_AT: "now"}))
    assert not judge.run(judge.api.delete(CLAIM, first))
    found = judge.run(judge.api.list_now(PersistentVolumeClaim, judge.namespace, "a"))
    assert judge.run(judge.api.delete(CLAIM, meta_of(found[0].metadata)))
    assert not judge.run(judge.api.delete(CLAIM, meta_of(found[0].metadata)))


def test_what_is_read_is_what_there_is(judge: Judge) -> None:
    meta = judge.make()
    there = judge.run(judge.api.read(JOB, meta))
    assert there.item.metadata.uid == meta.uid
    judge.drop("jobs")
    gone = judge.run(judge.api.read(JOB, meta))
    assert gone.item is None
    assert gone.clock >= there.clock


def said(kind: str) -> Thing:
    told = {"reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"type": kind, "status": "True", **told}


def refusal(judge: Judge, write: Callable[[], Coroutine[Any, Any, Any]]) -> int:
    with pytest.raises(ApiError) as refused:
        judge.run(write())
    return refused.value.status.code or 0
