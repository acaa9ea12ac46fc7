"""DevServers with operator, observer and scheduler: what one gives, and what its changes do.

What becomes of files is in tests/pods: here a home is the same if its claim is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.servers import SMALL, TWO_RANKS, DevServer, apply_flavor, small_server, wait_until

from devctl.api.labels import WAKE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

Thing = dict[str, Any]
WAKES = 'wakes_total{kind="devserver"}'


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """A small server with a flavor of its own; it is applied by the test."""
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


def home(server: DevServer) -> Thing:
    """The claim of rank 0."""
    (found,) = server.get("pvc", "home-lab-0")
    return found


def test_it_becomes_ready_with_all_of_its_parts(server: DevServer) -> None:
    server.apply()
    server.wait("Ready")
    assert set(server.uids()) == {
        "PersistentVolumeClaim/home-lab-0",
        "Pod/lab-0",
        "Service/lab",
        "StatefulSet/lab",
    }
    assert server.status["phase"] == "Running"


def test_ranks_are_on_different_nodes(server: DevServer) -> None:
    server.apply(**TWO_RANKS)
    server.wait("Ready")
    assert len({pod["spec"]["nodeName"] for pod in server.get("pods")}) == 2


def test_a_server_made_anew_has_its_homes(server: DevServer) -> None:
    server.apply()
    server.wait("Ready")
    homes = server.uids("pvc")
    server.delete()
    wait_until(lambda: server.uids() == homes, "nothing else is left")
    server.apply(**TWO_RANKS)
    server.wait("Ready")
    assert server.uids("pvc").items() > homes.items()


def test_a_change_waits_for_the_next_start_and_status_says_so(server: DevServer) -> None:
    server.apply()
    server.wait("Ready")
    before = server.uids()

    server.apply(image="localhost/other:1", **TWO_RANKS)
    told = server.wait("RestartRequired")
    assert "spec.image" in told["message"]
    assert "spec.mode" in told["message"]
    server.wait("Applied")
    assert server.uids("pod,statefulset").items() <= before.items()
    assert server.status["phase"] == "Running"

    server.stop()
    assert server.get("pods") == []
    server.start()
    server.wait("RestartRequired", "False")
    images = [pod["spec"]["containers"][0]["image"] for pod in server.get("pods")]
    assert images == ["localhost/other:1"] * 2
    assert server.uids("pvc")["PersistentVolumeClaim/home-lab-0"] == home(server)["metadata"]["uid"]


@pytest.mark.parametrize(
    ("field", "wrong", "reason"),
    [
        ("flavor", "none-of-that-name", "InvalidFlavor"),
        ("image", "localhost/none:1", "ImagePullFailed"),
        ("sharedVolumeClaimName", "none", "VolumeNotFound"),
    ],
)
def test_an_unsatisfiable_change_leaves_what_runs_alone(
    server: DevServer, field: str, wrong: str, reason: str
) -> None:
    server.apply()
    server.wait("Ready")
    before = server.uids("pod")

    server.apply(**{field: wrong})
    server.wait("RestartRequired")
    assert server.uids("pod") == before
    server.stop()
    server.apply(stopped=False)
    wait_until(
        lambda: server.condition("Ready").get("reason") == reason,
        lambda: f"it says why it does not start: {server.status}",
    )
    # Nothing has to be stopped to mend a mistake.
    server.apply(**{field: server.spec.get(field)})
    server.wait("Ready")


def test_a_change_while_the_node_is_silent_leaves_what_runs_alone(
    server: DevServer, plane: Plane
) -> None:
    server.apply()
    server.wait("Ready")
    server.settle()  # or it would seem unready before its StatefulSet has counted it
    plane.kwok.freeze()
    try:
        # As the node controller does; the containers are as the kubelet left them.
        unready = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
        server.kubectl.api.patch("pod", "lab-0", unready, server.namespace, "status")
        counted = ("statefulset", "lab")
        wait_until(
            lambda: not server.get(*counted)[0]["status"].get("readyReplicas"), "it is unready"
        )
        server.apply(image="localhost/other:1")
        server.wait("Applied")
        assert server.get(*counted)[0]["spec"]["updateStrategy"]["type"] == "OnDelete"
        assert "deletionTimestamp" not in server.get("pod", "lab-0")[0]["metadata"]
    finally:
        plane.kwok.thaw()


def test_a_changed_flavor_leaves_a_running_server_alone(
    server: DevServer, kubectl: Kubectl
) -> None:
    server.apply()
    server.wait("Ready")
    before = server.uids("pod")

    more = {"requests": {"cpu": "30m", "memory": "32Mi"}}
    apply_flavor(kubectl, server.namespace, resources=more)
    server.wait("FlavorOutdated")
    server.apply(lifecycle={"timeToLive": "1d"})  # any change that makes the role run
    server.wait("Applied")
    assert server.uids("pod") == before

    server.stop()
    server.start()
    server.wait("FlavorOutdated", "False")
    (pod,) = server.get("pods")
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "30m"


def test_a_server_is_woken_once_its_flavor_is_there(
    server: DevServer, kubectl: Kubectl, plane: Plane
) -> None:
    """The operator's own attempts are further and further apart."""
    kubectl.api.delete("devserverflavor", server.namespace)
    server.apply()
    assert "does not exist" in server.wait("Applied", "False")["message"]
    wakes = plane.observer.figures()[WAKES]
    assert WAKE not in server.get("devserver", "lab")[0]["metadata"].get("annotations", {})

    apply_flavor(kubectl, server.namespace, resources=SMALL)
    server.follow(lambda found: WAKE in found["metadata"].get("annotations", {}), "it is woken")
    wait_until(lambda: plane.observer.figures()[WAKES] > wakes, "it is counted")
    server.wait("Ready")


def test_a_server_that_waits_for_a_quota_starts_when_there_is_room(
    server: DevServer, kubectl: Kubectl
) -> None:
    """Kubernetes tries again a quarter of an hour later at last, or when something changes."""
    kubectl("create", "quota", "team", "-n", server.namespace, "--hard=pods=0")
    taken_in = "--for=jsonpath={.status.hard.pods}=0"
    kubectl("wait", "quota/team", "-n", server.namespace, taken_in, "--timeout=60s")
    server.apply()
    server.follow(
        lambda found: (
            found.get("status", {}).get("phase") == "Pending"
            and server.condition("Ready")["reason"] == "QuotaExceeded"
        ),
        "it waits for a quota",
    )
    wait_until(lambda: bool(woken(server)), "a wake has reached its StatefulSet")
    kubectl.api.patch("resourcequota", "team", {"spec": {"hard": {"pods": "5"}}}, server.namespace)
    server.wait("Ready")


def woken(server: DevServer) -> str:
    """The wake that a server's StatefulSet has from its role; empty where there is none."""
    found = server.get("statefulset", "lab")
    return str(found[0]["metadata"].get("annotations", {}).get(WAKE, "")) if found else ""


def test_a_missing_shared_claim_is_named_and_waited_for(
    server: DevServer, kubectl: Kubectl
) -> None:
    server.apply(sharedVolumeClaimName="data")
    server.follow(
        lambda _: server.condition("Ready").get("reason") == "VolumeNotFound",
        "it says that a claim is not there",
    )
    assert "PersistentVolumeClaim `data` in spec.shared" in server.condition("Ready")["message"]
    claim = {"metadata": {"name": "data", "namespace": server.namespace}}
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    kubectl.api.create(kind | claim | THEIRS["persistentvolumeclaim/home-lab-0"])
    server.wait("Ready")


def test_homes_grow_and_a_smaller_server_gets_the_home_that_is_there(server: DevServer) -> None:
    def size() -> str:
        return str(home(server)["spec"]["resources"]["requests"]["storage"])

    server.apply()
    server.wait("Ready")
    server.apply(persistentHomeSize="20Mi")
    wait_until(lambda: size() == "20Mi", "the claim grows")

    server.delete()
    server.apply(persistentHomeSize="10Mi")
    server.wait("Ready")
    assert size() == "20Mi"


def test_another_owner_does_not_get_the_home(server: DevServer) -> None:
    server.apply()
    server.wait("Ready")
    server.delete()

    server.apply(owner="mallory@company.com")
    told = server.wait("Applied", "False")

    assert told["reason"] == "Conflict"
    assert "home-lab-0" in told["message"]
    # Not the pods: Kubernetes may make one of a StatefulSet that is just gone, and ends it again.
    assert server.get("statefulset") == []


# Somebody's objects that have the name of a server's.
THEIRS: dict[str, Thing] = {
    "service/lab": {"spec": {"clusterIP": "None"}},
    "persistentvolumeclaim/home-lab-0": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    },
    "statefulset/lab": {
        "apiVersion": "apps/v1",
        "spec": {
            "replicas": 0,
            "serviceName": "theirs",
            "selector": {"matchLabels": {"app": "theirs"}},
            "template": {
                "metadata": {"labels": {"app": "theirs"}},
                "spec": {"containers": [{"name": "main", "image": "none:1"}]},
            },
        },
    },
}


@pytest.mark.parametrize("theirs", THEIRS)
def test_a_foreign_object_is_a_conflict_and_stays_as_it_is(
    server: DevServer, kubectl: Kubectl, theirs: str
) -> None:
    kind, _, name = theirs.partition("/")
    metadata = {"name": name, "namespace": server.namespace}
    resource = kubectl.api.resource(kind)
    manifest = {"apiVersion": "v1", "kind": resource.kind, "metadata": metadata, **THEIRS[theirs]}
    kubectl.api.create(manifest)
    before = server.uids()

    server.apply()
    told = server.wait("Applied", "False")

    assert told["reason"] == "Conflict"
    assert name in told["message"]
    wait_until(lambda: server.condition("Ready").get("reason") == "Conflict", "Ready says so too")
    assert server.uids() == before
    kubectl.api.delete("devserver", "lab", server.namespace)
    wait_until(lambda: not server.get("devserver", "lab"), "it is gone")
    assert server.uids() == before


def test_a_server_goes_on_by_itself_when_a_foreign_object_is_gone(
    server: DevServer, kubectl: Kubectl
) -> None:
    """The operator's own attempts are further and further apart."""
    metadata, spec = {"name": "lab", "namespace": server.namespace}, {"clusterIP": "None"}
    made = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    kubectl.api.create(made)
    server.apply()
    assert server.wait("Applied", "False")["reason"] == "Conflict"
    server.follow(lambda found: WAKE in found["metadata"].get("annotations", {}), "it is woken")

    kubectl.api.delete("service", "lab", server.namespace)
    server.wait("Ready")


def test_a_child_deleted_by_hand_comes_back(server: DevServer, kubectl: Kubectl) -> None:
    server.apply()
    server.wait("Ready")
    before = server.uids()

    def delete_and_await(*children: str) -> None:
        gone = [server.uids()[child] for child in children]
        for child in children:
            kind, _, name = child.partition("/")
            kubectl.api.delete(kind.lower(), name, server.namespace)
        wait_until(
            lambda: (
                server.uids().keys() == before.keys() and not {*gone} & {*server.uids().values()}
            ),
            lambda: f"{children} come back: {server.uids()}",
        )

    delete_and_await("Service/lab")
    # Its pods go with it.
    delete_and_await("StatefulSet/lab", "Pod/lab-0")
    server.wait("Ready")
    assert server.uids("pvc").items() <= before.items()

    server.stop()
    before = server.uids()
    delete_and_await("PersistentVolumeClaim/home-lab-0")


def test_operator_and_observer_that_start_again_write_nothing(
    server: DevServer, plane: Plane
) -> None:
    server.apply(**TWO_RANKS)
    server.wait("Ready")
    server.settle()
    kinds = "devserver,statefulset,service,configmap,secret,persistentvolumeclaim,pod"
    before = server.versions(kinds)

    plane.operator.kill()
    plane.observer.kill()
    plane.observer.start()
    plane.operator.start()

    def both_looked() -> bool:
        ran = plane.operator.runs().get('runs_total{result="ok",role="devserver"}', 0)
        seen = plane.observer.figures()
        return (
            ran > 0
            and 0 < seen['objects{kind="devserver"}'] <= seen['looks_total{kind="devserver"}']
        )

    wait_until(both_looked, "both have looked at it")
    assert server.versions(kinds) == before
