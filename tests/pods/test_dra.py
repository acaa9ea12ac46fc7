"""GPUs by claim, handed out by the real kubelets, scheduler and container runtime."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from support.servers import wait_until

from devctl.local.namespaces import enter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

DRIVER, SYSTEM = "canhazgpu.com", "canhazgpu-system"
RESOURCE = f"{DRIVER}/gpu"
EACH = 4
SHOWS = ["sh", "-c", "env | grep -E 'GPU|NVIDIA'; trap 'exit 0' TERM; sleep 3600 & wait"]
FILES = f"/var/run/cdi/{DRIVER}-gpu_*.json"
RECORD = f"/var/lib/kubelet/plugins/{DRIVER}/checkpoint.json"


class Place:
    """A namespace, and the last node, on which its pods run."""

    def __init__(self, kubectl: Kubectl, namespace: str, image: str, node: str) -> None:
        self.kubectl, self.namespace, self.image, self.node = kubectl, namespace, image, node

    def start(self, name: str, *selectors: str, limit: int = 0) -> None:
        """A pod with a GPU of a claim of its own, or with some by its limits."""
        main: dict[str, Any] = {"name": "main", "image": self.image, "command": SHOWS}
        spec: dict[str, Any] = {
            "nodeSelector": {"kubernetes.io/hostname": self.node},
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 0,
            "containers": [main],
        }
        if limit:
            main["resources"] = {"limits": {RESOURCE: str(limit)}}
        else:
            cel = [{"cel": {"expression": each}} for each in selectors]
            exactly = {"deviceClassName": DRIVER, "selectors": cel}
            devices = {"requests": [{"name": "gpu", "exactly": exactly}]}
            self._create("resource.k8s.io/v1", "ResourceClaim", name, {"devices": devices})
            main["resources"] = {"claims": [{"name": "gpu"}]}
            spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
        self._create("v1", "Pod", name, spec)

    def _create(self, version: str, kind: str, name: str, spec: dict[str, Any]) -> None:
        metadata = {"name": name, "namespace": self.namespace}
        self.kubectl.api.create(
            {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
        )

    def stop(self, name: str) -> None:
        self.kubectl("-n", self.namespace, "delete", "pod", name, "--timeout=60s")

    def restart(self, name: str) -> None:
        """Let a pod's container end, so that the runtime makes another one."""
        before = self.container(name)
        # After the command has answered: the end of the container would cut it off.
        kill = "(sleep 1; kill 1) > /dev/null 2>&1 &"
        self.kubectl("-n", self.namespace, "exec", name, "--", "sh", "-c", kill)
        wait_until(lambda: self.container(name) not in {before, ""}, "it is another one", 120)

    def container(self, name: str) -> str:
        """The ID of a pod's running container."""
        pod = self.kubectl.api.get("pod", name, self.namespace)
        (status,) = (pod or {}).get("status", {}).get("containerStatuses", [{}])
        return str(status.get("containerID", "")) if "running" in status.get("state", {}) else ""

    def running(self) -> set[str]:
        return {
            pod["metadata"]["name"]
            for pod in self.kubectl.api.list("pod", self.namespace)
            if pod["status"].get("phase") == "Running"
        }

    def gpus(self, name: str) -> dict[str, str]:
        """The variables about GPUs that a running container was given."""
        said: list[str] = []

        def shown() -> bool:
            said[:] = self.kubectl("-n", self.namespace, "logs", name).split()
            return any(line.startswith("CANHAZGPU_DEVICES=") for line in said)

        wait_until(lambda: name in self.running() and shown(), f"{name} has GPUs", 180)
        return dict(line.split("=", 1) for line in said)

    def wait_running(self, *names: str) -> None:
        wait_until(lambda: self.running() == set(names), lambda: f"{self.running()} run", 180)


@pytest.fixture
def on_node(cluster: ClusterSettings, paths: ClusterPaths) -> Callable[[str], str]:
    """Runs a shell command on the last node."""

    def run(script: str) -> str:
        command = [*enter(paths.node(cluster.nodes[-1].name)), "sh", "-c", script]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture
def place(
    kubectl: Kubectl, namespace: str, images: dict[str, Image], cluster: ClusterSettings
) -> Iterator[Place]:
    assert "dra" in cluster.parts
    node = cluster.nodes[-1].name
    wait_until(lambda: len(devices(kubectl, node)) == EACH, "its GPUs are offered")
    yield Place(kubectl, namespace, images["base"].reference, node)
    kubectl("annotate", "node", node, f"{DRIVER}/unhealthy-gpus-")
    kubectl("-n", namespace, "delete", "pod", "--all", "--timeout=60s")


def devices(kubectl: Kubectl, node: str) -> list[dict[str, Any]]:
    """What a node offers."""
    found = kubectl.api.get("resourceslice", f"{node}-{DRIVER}")
    offered: list[dict[str, Any]] = found["spec"].get("devices", []) if found else []
    return offered


def restart_plugin(kubectl: Kubectl) -> None:
    """End it on every node, and wait for the next ones."""
    which = ("daemonset/canhazgpu-kubeletplugin", "-n", SYSTEM)
    kubectl("rollout", "restart", *which)
    kubectl("rollout", "status", *which, "--timeout=180s")


def test_four_pods_have_four_gpus_and_a_fifth_waits(place: Place) -> None:
    names = [f"pod-{number}" for number in range(EACH)]
    for name in names:
        place.start(name)
    found = [place.gpus(name) for name in names]
    assert sorted(each["CANHAZGPU_DEVICES"] for each in found) == ["0", "1", "2", "3"]
    uuids = {each["NVIDIA_VISIBLE_DEVICES"] for each in found}
    assert len(uuids) == EACH
    assert all(each["DEVCTL_FAKE_GPUS"] == each["NVIDIA_VISIBLE_DEVICES"] for each in found)
    place.start("late")

    def why() -> str:
        pod = place.kubectl.api.get("pod", "late", place.namespace)
        return " ".join(
            each.get("message", "") for each in (pod or {})["status"].get("conditions", [])
        )

    wait_until(lambda: "cannot allocate all claims" in why(), why)
    place.stop("pod-0")
    place.wait_running("late", *names[1:])
    assert place.gpus("late")["CANHAZGPU_DEVICES"] == found[0]["CANHAZGPU_DEVICES"]


def test_an_index_or_a_number_is_asked_for(place: Place) -> None:
    place.start("third", f"device.attributes['{DRIVER}'].index == 2")
    place.start("two", limit=2)
    assert place.gpus("third")["CANHAZGPU_DEVICES"] == "2"
    two = place.gpus("two")
    indexes = two["CANHAZGPU_DEVICES"].split(",")
    assert len(indexes) == 2
    assert "2" not in indexes
    uuids = [two[f"CANHAZGPU_GPU_{index}"] for index in indexes]
    assert two["NVIDIA_VISIBLE_DEVICES"].split(",") == uuids


def test_restarts_and_lost_files_take_nobodys_gpus(
    place: Place, on_node: Callable[[str], str]
) -> None:
    place.start("first")
    had = place.gpus("first")
    container = place.container("first")
    restart_plugin(place.kubectl)
    assert place.container("first") == container, "who runs goes on"

    # As after a restart of the node: their folder is on a tmpfs.
    before = on_node(f"cat {FILES}")
    on_node(f"rm {FILES}")
    wait_until(lambda: on_node(f"cat {FILES} 2>/dev/null || :") == before, "they are made again")
    place.restart("first")
    assert place.gpus("first") == had

    # Without its record, the plugin finds the claims at the API server.
    on_node(f"rm {FILES} {RECORD}")
    restart_plugin(place.kubectl)
    wait_until(lambda: "first" in on_node(f"cat {RECORD} 2>/dev/null || :"), "it is found")
    wait_until(lambda: on_node(f"cat {FILES} 2>/dev/null || :") == before, "they are made again")

    place.stop("first")
    wait_until(lambda: on_node(f"ls {FILES} 2>/dev/null || :") == "", "nothing is left")
    place.start("all", limit=EACH)
    assert place.gpus("all")["CANHAZGPU_DEVICES"] == "0,1,2,3"


def test_an_unhealthy_gpu_is_given_to_nobody_new_and_its_pod_says_so(place: Place) -> None:
    place.start("first", f"device.attributes['{DRIVER}'].index == 1")
    place.gpus("first")
    place.kubectl("annotate", "node", place.node, f"{DRIVER}/unhealthy-gpus=1")

    def tainted() -> list[str]:
        return [d["name"] for d in devices(place.kubectl, place.node) if "taints" in d]

    wait_until(lambda: tainted() == ["gpu-1"], lambda: f"tainted: {tainted()}")

    def said() -> str:
        pod = place.kubectl.api.get("pod", "first", place.namespace)
        (status,) = (pod or {})["status"]["containerStatuses"]
        return json.dumps(status.get("allocatedResourcesStatus"))

    wait_until(lambda: '"Unhealthy"' in said(), said)
    place.stop("first")
    place.start("rest", limit=EACH - 1)
    assert place.gpus("rest")["CANHAZGPU_DEVICES"] == "0,2,3"
