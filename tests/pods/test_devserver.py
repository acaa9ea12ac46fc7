"""DevServers on real pods: what `kubectl apply` of one gives, and what its changes do."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.deployment import SYSTEM
from support.servers import TWO_RANKS, DevServer, apply_flavor, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

RESOURCES = {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}}
KEEP = "echo kept > /home/dev/file"


@pytest.fixture
def flavor(kubectl: Kubectl, namespace: str) -> Iterator[Callable[..., str]]:
    """Makes a flavor of the test's own, or changes it; its name."""

    def make(**spec: Any) -> str:
        return apply_flavor(kubectl, namespace, **{"resources": RESOURCES, **spec})

    yield make
    kubectl("delete", "devserverflavor", namespace, "--ignore-not-found")


@pytest.fixture
def server(
    kubectl: Kubectl, namespace: str, images: dict[str, Image], flavor: Callable[..., str]
) -> Iterator[DevServer]:
    """A small server; it is applied by the test."""
    spec = {
        "owner": "alice@company.com",
        "flavor": flavor(),
        "image": images["base"].reference,
        "persistentHomeSize": "10Mi",
    }
    made = DevServer(kubectl, namespace, spec)
    yield made
    # Before its namespace and its flavor, so that the operator has nothing to retry.
    kubectl("-n", namespace, "delete", "devserver", "--all")


def test_it_becomes_ready_confined_and_with_shared_memory(
    server: DevServer, kubectl: Kubectl
) -> None:
    label = "pod-security.kubernetes.io/enforce=restricted"
    kubectl("label", "namespace", server.namespace, label)
    server.apply()
    server.wait("Ready")

    script = "id -u; df --output=fstype,size -B1M /dev/shm | tail -1; ls /run/secrets 2>&1 | wc -l"
    assert server.run(script).split()[:3] == ["1000", "tmpfs", "256"]
    assert server.run("ls /run/secrets/kubernetes.io 2>/dev/null | wc -l") == "0"
    assert server.run("grep -E '^(CapEff|NoNewPrivs)' /proc/self/status").split() == [
        "CapEff:",
        "0" * 16,
        "NoNewPrivs:",
        "1",
    ]
    assert set(server.uids()) == {
        "ConfigMap/lab-utilities",
        "PersistentVolumeClaim/home-lab-0",
        "Pod/lab-0",
        "Secret/lab-host-key",
        "Service/lab",
        "StatefulSet/lab",
    }
    assert server.status["phase"] == "Running"


def test_ranks_know_their_place_and_find_each_other(server: DevServer) -> None:
    settings = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": "a b'\"$(HOME) {{ 1 + 1 }}"}
    block = {"worldSize": 4, "nprocsPerNode": 2, "backend": "gloo", "ncclSettings": settings}
    server.apply(mode="distributed", distributed=block)
    server.wait("Ready")

    names = "$NODE_RANK $NNODES $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT"
    for rank in (0, 1):
        words = f"{names} $DEVCTL_BACKEND $NCCL_DEBUG"
        assert server.run(f"echo {words}", rank) == f"{rank} 2 4 2 lab-0.lab 29500 gloo INFO"
        assert server.run('printf %s "$NCCL_DEBUG_FILE"', rank) == settings["NCCL_DEBUG_FILE"]
    address = server.run("hostname -i")
    assert server.run("getent hosts lab-0.lab", 1).split()[0] == address
    nodes = {pod["spec"]["nodeName"] for pod in server.get("pods")}
    assert len(nodes) in {1, 2}


def test_files_survive_what_a_server_goes_through(server: DevServer, kubectl: Kubectl) -> None:
    server.apply()
    server.wait("Ready")
    server.run(KEEP)
    homes = server.uids("pvc")
    key = server.get("secret", "lab-host-key")[0]["data"]

    def files_are_there(what: str) -> None:
        assert server.run("cat /home/dev/file") == "kept", what
        assert server.uids("pvc").items() >= homes.items(), what

    kubectl("-n", server.namespace, "delete", "pod", "lab-0", "--grace-period=0", "--force")
    wait_until(lambda: server.status["phase"] != "Running", "the pod is gone")
    server.wait("Ready")
    files_are_there("a killed pod")

    server.stop()
    assert server.get("pods") == []
    server.start(**TWO_RANKS)
    files_are_there("stop, change of mode, start")
    server.run("echo two > /home/dev/file", 1)

    server.stop()
    server.start(mode="standalone", distributed=None)
    files_are_there("the way back")

    server.stop()
    server.start(**TWO_RANKS)
    assert server.run("cat /home/dev/file", 1) == "two"
    server.stop()
    server.start(mode="standalone", distributed=None)

    server.delete()
    wait_until(lambda: server.uids() == server.uids("pvc"), "nothing else is left")
    assert server.uids("pvc").items() >= homes.items()
    server.start()
    files_are_there("deletion and the same server again")
    assert server.get("secret", "lab-host-key")[0]["data"] != key


def test_a_change_waits_for_the_next_start_and_status_says_so(
    server: DevServer, images: dict[str, Image]
) -> None:
    server.apply()
    server.wait("Ready")
    server.run(KEEP)
    before = server.uids("pod,statefulset")

    server.apply(image=images["pause"].reference, **TWO_RANKS)
    told = server.wait("RestartRequired")
    assert "spec.image" in told["message"]
    assert "spec.mode" in told["message"]
    server.wait("Applied")
    assert server.uids("pod,statefulset") == before
    assert server.status["phase"] == "Running"

    server.apply(image=images["base"].reference)
    server.stop()
    server.start()
    server.wait("RestartRequired", "False")
    assert len(server.get("pods")) == 2
    assert server.run("cat /home/dev/file") == "kept"


@pytest.mark.parametrize(
    "change",
    [
        {"flavor": "none-of-that-name"},
        {"image": "localhost/none:1"},
        {"sharedVolumeClaimName": "none"},
    ],
    ids=["flavor", "image", "claim"],
)
def test_an_unsatisfiable_change_leaves_what_runs_alone(
    server: DevServer, change: dict[str, str]
) -> None:
    server.apply()
    server.wait("Ready")
    before = server.uids("pod")

    server.apply(**change)
    server.wait("RestartRequired")
    server.stop()
    server.apply(stopped=False)
    wait_until(
        lambda: server.condition("Ready").get("reason") not in {"Stopped", "NotApplied"},
        "it says why it does not start",
    )
    assert server.uids("pod") != before
    # Nothing has to be stopped to mend a mistake.
    server.apply(**{name: server.spec.get(name) for name in change})
    server.wait("Ready")


def test_a_changed_flavor_leaves_a_running_server_alone(
    server: DevServer, flavor: Callable[..., str]
) -> None:
    server.apply()
    server.wait("Ready")
    before = server.uids("pod")

    flavor(resources={"requests": {"cpu": "30m", "memory": "32Mi"}})
    server.wait("FlavorOutdated")
    server.apply(lifecycle={"timeToLive": "1d"})  # any change that makes the role run
    server.wait("Applied")
    assert server.uids("pod") == before

    server.stop()
    server.start()
    server.wait("FlavorOutdated", "False")
    requests = server.get("pods")[0]["spec"]["containers"][0]["resources"]["requests"]
    assert requests["cpu"] == "30m"


def test_a_server_comes_up_once_its_flavor_is_there(
    server: DevServer, kubectl: Kubectl, flavor: Callable[..., str]
) -> None:
    kubectl("delete", "devserverflavor", server.namespace)
    server.apply()
    assert "does not exist" in server.wait("Applied", "False")["message"]
    time.sleep(8)  # the operator's own attempts are minutes apart by now
    flavor()
    server.wait("Applied", seconds=30)
    server.wait("Ready")


def test_homes_grow_and_a_smaller_server_gets_the_home_that_is_there(server: DevServer) -> None:
    def size() -> str:
        requests: dict[str, str] = server.get("pvc")[0]["spec"]["resources"]["requests"]
        return requests["storage"]

    server.apply()
    server.wait("Ready")
    server.apply(persistentHomeSize="20Mi")
    wait_until(lambda: size() == "20Mi", "the claim grows")

    server.delete()
    server.apply(persistentHomeSize="10Mi")
    server.wait("Ready")
    assert size() == "20Mi"


def test_another_owner_does_not_get_the_files(server: DevServer) -> None:
    server.apply()
    server.wait("Ready")
    server.run(KEEP)
    server.delete()

    server.apply(owner="mallory@company.com")
    told = server.wait("Applied", "False")

    assert told["reason"] == "Conflict"
    assert "home-lab-0" in told["message"]
    assert server.get("pods") == []


@pytest.mark.parametrize("kind", ["service", "configmap", "secret", "pvc", "statefulset"])
def test_a_foreign_object_is_a_conflict_and_stays_as_it_is(
    server: DevServer, kubectl: Kubectl, kind: str
) -> None:
    name = {"configmap": "lab-utilities", "secret": "lab-host-key", "pvc": "home-lab-0"}
    specs: dict[str, dict[str, Any]] = {
        "service": {"spec": {"clusterIP": "None"}},
        "configmap": {"data": {"theirs": "yes"}},
        "secret": {"stringData": {"theirs": "yes"}},
        "pvc": {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Mi"}},
            }
        },
        "statefulset": {
            "spec": {
                "replicas": 0,
                "serviceName": "theirs",
                "selector": {"matchLabels": {"app": "theirs"}},
                "template": {
                    "metadata": {"labels": {"app": "theirs"}},
                    "spec": {"containers": [{"name": "main", "image": "none:1"}]},
                },
            }
        },
    }
    kinds = {"service": "Service", "configmap": "ConfigMap", "secret": "Secret"}
    manifest = {
        "apiVersion": "apps/v1" if kind == "statefulset" else "v1",
        "kind": kinds.get(kind, {"pvc": "PersistentVolumeClaim"}.get(kind, "StatefulSet")),
        "metadata": {"name": name.get(kind, "lab"), "namespace": server.namespace},
        **specs[kind],
    }
    kubectl("create", "-f", "-", input=json.dumps(manifest))
    theirs = server.uids()

    server.apply()
    told = server.wait("Applied", "False")

    assert told["reason"] == "Conflict"
    assert manifest["metadata"]["name"] in told["message"]
    wait_until(lambda: server.condition("Ready").get("reason") == "Conflict", "Ready says so too")
    assert server.uids() == theirs
    kubectl("-n", server.namespace, "delete", "devserver", "lab")
    assert server.uids() == theirs


def test_a_child_deleted_by_hand_comes_back(server: DevServer, kubectl: Kubectl) -> None:
    server.apply()
    server.wait("Ready")
    server.run(KEEP)
    before = server.uids()

    for child in ("service/lab", "configmap/lab-utilities", "secret/lab-host-key"):
        kubectl("-n", server.namespace, "delete", child)
    wait_until(lambda: server.uids().keys() == before.keys(), "the small ones come back")
    kubectl("-n", server.namespace, "delete", "statefulset/lab")
    wait_until(
        lambda: (
            server.uids().keys() == before.keys()
            and server.uids("pod") != {k: v for k, v in before.items() if k.startswith("Pod/")}
        ),
        "the StatefulSet and its pod come back",
    )
    server.wait("Ready")
    assert server.run("cat /home/dev/file") == "kept"

    server.stop()
    kubectl("-n", server.namespace, "delete", "pvc/home-lab-0")
    wait_until(lambda: len(server.get("pvc")) == 1, "an empty home comes back")


def test_deletion_during_creation_leaves_nothing_but_claims(server: DevServer) -> None:
    for pause in (0.0, 0.1, 0.2, 0.4, 0.8):
        server.apply()
        time.sleep(pause)
        server.delete()
        wait_until(
            lambda: all(name.startswith("PersistentVolumeClaim/") for name in server.uids()),
            f"nothing else is left after {pause} s",
        )


@pytest.mark.exclusive
def test_a_forced_second_run_writes_nothing(server: DevServer, kubectl: Kubectl) -> None:
    server.apply(**TWO_RANKS)
    server.wait("Ready")
    server.settle()
    before = server.versions()

    pods = ("-n", SYSTEM, "-l", "app.kubernetes.io/component=operator")
    kubectl("delete", "pod", *pods, "--grace-period=0", "--force")
    kubectl("rollout", "status", "deployment/devctl-operator", "-n", SYSTEM, "--timeout=60s")
    observer = ("-n", SYSTEM, "-l", "app.kubernetes.io/component=observer")
    kubectl("delete", "pod", *observer, "--grace-period=0", "--force")
    kubectl("rollout", "status", "deployment/devctl-observer", "-n", SYSTEM, "--timeout=60s")

    def runs() -> bool:
        """Whether the new operator's runner has run the role."""
        found = json.loads(kubectl("get", "pod", *pods, "-o", "json"))["items"]
        conditions = [c for pod in found for c in pod["status"].get("conditions", [])]
        ready = [c["status"] for c in conditions if c["type"] == "Ready"]
        if ready != ["True"]:
            return False
        name = found[0]["metadata"]["name"]
        path = f"/api/v1/namespaces/{SYSTEM}/pods/{name}:8082/proxy/metrics"
        return 'runs_total{role="devserver",result="ok"}' in kubectl("get", "--raw", path)

    wait_until(runs, "the new operator runs the role")
    time.sleep(5)
    assert server.versions() == before
    assert server.status["phase"] == "Running"
