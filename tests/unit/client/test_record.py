"""What a record of two folders is about: the volume that a path is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devctl.client.files.record import volume_of
from unit.client.objects import CLAIMS, home, pod

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi, Thing


def server_pod() -> Thing:
    """A pod with a home, a shared volume in it and one that goes with the pod."""
    mounts = [("home", "/home/dev"), ("data", "/home/dev/data/"), ("run", "/run/devctl")]
    made = pod("lab-0")
    made["metadata"]["uid"] = "uid-pod"
    made["spec"]["containers"] = [
        {"name": "sidecar", "volumeMounts": [{"name": "run", "mountPath": "/home/dev/data/x"}]},
        {"name": "server", "volumeMounts": [{"name": n, "mountPath": at} for n, at in mounts]},
    ]
    made["spec"]["volumes"] = [
        {"name": "home", "persistentVolumeClaim": {"claimName": "home-lab-0"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "home-lab-1"}},
        {"name": "run", "emptyDir": {}},
    ]
    return made


@pytest.fixture
def cluster(api: FakeApi) -> Any:
    for number in (0, 1):
        claim = home("lab", number)
        claim["metadata"]["uid"] = f"uid-claim-{number}"
        api.add(CLAIMS, claim)
    return api.cluster()


@pytest.mark.parametrize(
    ("path", "volume"),
    [
        ("/home/dev", "uid-claim-0"),
        ("/home/dev/data-2/x", "uid-claim-0"),
        ("/home/dev/data", "uid-claim-1"),
        ("/home/dev/data/x", "uid-claim-1"),
        ("/run/devctl/x", "uid-pod"),
        ("/opt/x", "uid-pod"),
        ("/home/developer", "uid-pod"),
    ],
)
def test_it_is_told_by_its_claim_or_else_by_the_pod(path: str, volume: str, cluster: Any) -> None:
    assert volume_of(cluster, server_pod(), path) == volume


def test_who_may_not_see_the_claim_goes_by_the_pod(api: FakeApi, cluster: Any) -> None:
    api.refusals["GET", CLAIMS] = (403, "no")
    assert volume_of(cluster, server_pod(), "/home/dev") == "uid-pod"
    api.refusals.clear()
    api.drop(CLAIMS, "home-lab-0")
    assert volume_of(cluster, server_pod(), "/home/dev") == "uid-pod"


def test_a_pod_that_says_nothing_of_itself(cluster: Any) -> None:
    assert volume_of(cluster, {"metadata": {"name": "a", "namespace": "b"}}, "/home/dev") == ""
