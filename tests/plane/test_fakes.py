"""The API servers in memory that unit tests ask, held against the real one: the same contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from apply.client import Cluster as ApplyCluster
from apply.connection import connect
from apply.errors import ApplyError, FieldConflictError, StaleReadError
from apply.manifests import Key, Kind
from unit.client.fake_cluster import FakeApi as ClientFake
from unit.plugins.fake_api import FakeApi as ApplyFake

from devctl.errors import AlreadyExistsError, DevctlError, NotFoundError
from devctl.kube.cluster import Cluster as ClientCluster
from devctl.kube.resources import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Thing = dict[str, Any]
BOTH = ("real", "fake")
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
    with pytest.raises(DevctlError, match="made anew meanwhile and is left alone"):
        client.delete(ConfigMap, first)
    with pytest.raises(NotFoundError):
        client.delete(ConfigMap, first | {"metadata": first["metadata"] | {"name": "none"}})


# What roles rely on.


def test_what_is_made_is_made_once(roles: ApplyCluster) -> None:
    made = roles.make(config())
    assert made["data"] == {"v": "x"}
    assert made["metadata"]["resourceVersion"] != "1"
    with pytest.raises(StaleReadError):
        roles.make(config())
    assert roles.get(Key(CONFIG, "a")) is not None
    assert roles.get(Key(CONFIG, "b")) is None


def test_an_apply_changes_the_object_that_was_read(roles: ApplyCluster) -> None:
    uid = roles.make(config())["metadata"]["uid"]
    assert roles.apply(config("a", "y", uid=uid))["data"] == {"v": "y"}
    other = "00000000-0000-4000-8000-000000000000"
    for name in ("a", "none"):
        with pytest.raises(StaleReadError):
            roles.apply(config(name, "z", uid=other))
    same = roles.apply(config("a", "y", uid=uid))
    assert roles.apply(config("a", "y", uid=uid)) == same, "nothing is written"


def test_fields_of_others_are_theirs_until_they_are_taken(roles: ApplyCluster) -> None:
    ApplyCluster(roles.client, roles.namespace, "others").make(config("a", "theirs"))
    with pytest.raises(FieldConflictError) as conflict:
        roles.apply(config("a", "ours"))
    assert conflict.value.managers == {"others"}
    assert roles.apply(config("a", "ours"), force=True)["data"] == {"v": "ours"}


def test_a_list_has_what_carries_all_labels(roles: ApplyCluster) -> None:
    roles.make(config("a", labels={"x": "1", "y": "1"}))
    roles.make(config("b", labels={"x": "1"}))
    names = [t["metadata"]["name"] for t in roles.list(CONFIG, {"x": "1", "y": "1"})]
    assert names == ["a"]


def test_a_deletion_is_of_what_was_read(roles: ApplyCluster) -> None:
    first = roles.make(config())
    second = roles.apply(config("a", "y"))
    with pytest.raises(StaleReadError):
        roles.delete(first)
    roles.delete(second)
    roles.delete(second)
    assert roles.get(Key(CONFIG, "a")) is None


def test_a_dry_run_writes_nothing(roles: ApplyCluster) -> None:
    made = roles.make(config())
    dry = ApplyCluster(roles.client, roles.namespace, "devctl-operator", dry_run=True)
    assert dry.apply(config("a", "y"))["data"] == {"v": "y"}
    dry.make(config("b"))
    dry.delete(made)
    found = roles.get(Key(CONFIG, "a"))
    assert found
    assert found["data"] == {"v": "x"}
    with pytest.raises((ApplyError, StaleReadError)):
        dry.make(config("a"))
