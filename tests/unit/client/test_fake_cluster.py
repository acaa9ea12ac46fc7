"""The stand-in for the cluster: it has the methods of the one that it stands in for."""

from __future__ import annotations

import inspect

import pytest

from devctl.errors import AlreadyExistsError, DeniedError, NotFoundError
from devctl.kube import resources
from devctl.kube.cluster import Cluster
from unit.client.fake_cluster import FakeApi, FakeCluster
from unit.client.objects import SERVERS, server

METHODS = ["get", "list", "watch", "create", "apply", "patch", "delete", "log", "read", "whoami"]


@pytest.mark.parametrize("name", [*METHODS, "allowed"])
def test_it_takes_what_the_original_takes(name: str) -> None:
    def takes(of: type) -> list[tuple[str, object]]:
        found = inspect.signature(getattr(of, name)).parameters.values()
        return [(each.name, each.kind) for each in found]

    assert takes(FakeCluster) == takes(Cluster)


def test_it_refuses_as_the_original_does(api: FakeApi) -> None:
    cluster = api.cluster()
    with pytest.raises(NotFoundError, match='"lab" not found'):
        cluster.get(resources.DevServer, "lab")
    cluster.create(resources.DevServer, server())
    with pytest.raises(AlreadyExistsError):
        cluster.create(resources.DevServer, server())
    api.refusals["PATCH", SERVERS] = (403, "devservers is forbidden")
    with pytest.raises(DeniedError, match="devservers is forbidden"):
        cluster.patch(resources.DevServer, "lab", {})
    assert api.requests == [
        f"GET {SERVERS}/lab",
        f"POST {SERVERS}",
        f"POST {SERVERS}",
        f"PATCH {SERVERS}/lab",
    ]


def test_what_it_gives_away_is_not_what_it_holds(api: FakeApi) -> None:
    api.add(SERVERS, server())
    api.cluster().get(resources.DevServer, "lab")["spec"].clear()
    for found in api.cluster().list(resources.DevServer):
        found["spec"].clear()
    assert api.get(SERVERS, "lab")["spec"]["image"] == "torch:1"


def test_a_patch_takes_away_what_is_none(api: FakeApi) -> None:
    api.add(SERVERS, server())
    change = {"spec": {"flavor": None, "lifecycle": {"timeToLive": "1h"}}}
    found = api.cluster().patch(resources.DevServer, "lab", change)
    assert "flavor" not in found["spec"]
    assert found["spec"]["lifecycle"] == {"timeToLive": "1h"}
    assert found["metadata"]["resourceVersion"] == "2"
