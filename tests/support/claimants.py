"""Pods of a real cluster that hold GPUs by claim, and show if they ever share one.

Each locks a file of its node for every GPU that it was given. The kernel keeps the lock until the
last process of the container has ended, whatever kubelet and plugin believe.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.servers import wait_until

from devctl.local.namespaces import enter

if TYPE_CHECKING:
    from support.fault_day import Day

Thing = dict[str, Any]
DRIVER = "canhazgpu.com"
EACH = 4
"""GPUs of a node."""
_RECORD = f"/var/lib/kubelet/plugins/{DRIVER}/checkpoint.json"
_FILES = f"/var/run/cdi/{DRIVER}-gpu_*.json"
_KEYS = "".join(f"GET {DRIVER.removesuffix('.com')}:gpu:{index}\\r\\n" for index in range(EACH))
_USERS = (
    f"exec 3<>/dev/tcp/127.0.0.1/6379; printf '{_KEYS}QUIT\\r\\n' >&3; cat <&3 | grep '^{{' || :"
)
_LOCKS = """
trap 'exit 0' TERM
for gpu in ${CANHAZGPU_DEVICES//,/ }; do
  exec {lock}>>/locks/$gpu
  flock --nonblock $lock || echo "GPU $gpu: $HOSTNAME" >>/locks/twice
done
sleep 3600 &
wait
"""


@dataclass(frozen=True)
class Claimants:
    """Pods of one node, in the namespace of a day's jobs.

    Attributes:
        day: The cluster.
        number: Of the node.
        image: What the pods run; it has bash.
    """

    day: Day
    number: int
    image: str

    @property
    def node(self) -> str:
        """The node's name."""
        return self.day.cluster.nodes[self.number].name

    @property
    def group(self) -> str:
        """The node's control group."""
        return self.day.group(self.number)

    def start(self, name: str, gpus: int, **spec: Any) -> None:
        """Create a pod."""
        main: Thing = {
            "name": "main",
            "image": self.image,
            "command": ["bash", "-c", _LOCKS],
            "securityContext": {"runAsUser": 0},
            "resources": {"limits": {f"{DRIVER}/gpu": str(gpus)}},
            "volumeMounts": [{"name": "locks", "mountPath": "/locks"}],
        }
        locks = {"path": self._locks, "type": "DirectoryOrCreate"}
        made: Thing = {
            "nodeSelector": {"kubernetes.io/hostname": self.node},
            "terminationGracePeriodSeconds": 1,
            "containers": [main],
            "volumes": [{"name": "locks", "hostPath": locks}],
        }
        metadata = {"name": name, "namespace": self.day.jobs}
        self.day.kubectl.api.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made | spec}
        )

    def remove(self, *names: str) -> None:
        """Delete pods, and wait until they have gone."""
        self.day.kubectl("-n", self.day.jobs, "delete", "pod", *names, "--timeout=60s")

    def remove_by_force(self, name: str) -> None:
        """Delete a pod without asking its node."""
        where = ("-n", self.day.jobs, "--grace-period=0", "--force")
        self.day.kubectl("delete", "pod", name, *where)

    def await_running(self, *names: str) -> None:
        """Wait for pods: a kubelet that was refused asks again a minute later."""
        wait_until(
            lambda: all(self.container(name) for name in names), lambda: self._said(names), 180
        )

    def await_allocated(self, name: str) -> None:
        """Wait until the scheduler has chosen the GPUs of a pod."""

        def is_bound() -> bool:
            pod = self.day.kubectl.api.get("pod", name, self.day.jobs)
            return bool(pod and pod["spec"].get("nodeName"))

        wait_until(is_bound, lambda: self._said((name,)))

    def container(self, name: str) -> str:
        """The ID of a pod's running container; empty while there is none."""
        pod = self.day.kubectl.api.get("pod", name, self.day.jobs) or {}
        (status,) = pod.get("status", {}).get("containerStatuses") or [{}]
        return str(status.get("containerID", "")) if "running" in status.get("state", {}) else ""

    def offered(self) -> int:
        """How many of the node's GPUs anybody new could get."""
        devices = self._slice().get("spec", {}).get("devices", [])
        return sum("taints" not in each for each in devices)

    def offer(self) -> str:
        """The UID of the node's slice, which a kubelet that starts deletes; empty without one."""
        return str(self._slice().get("metadata", {}).get("uid", ""))

    def users(self) -> list[str]:
        """Who has a GPU of the node, as its Redis says; nobody while it is away."""
        try:
            said = self._run(f"bash -c {_quoted(_USERS)}")
        except subprocess.CalledProcessError:
            return []
        users = (json.loads(line).get("user") for line in said.splitlines())
        return sorted(f"{user}".partition("/")[0] for user in users if user)

    def recorded(self) -> int:
        """How many claims the plugin's record has."""
        return len(json.loads(self._run(f"cat {_RECORD}"))["claims"])

    def described(self) -> str:
        """The claims' CDI files."""
        return self._run(f"ls {_FILES} 2>/dev/null || :").strip()

    def twice(self) -> str:
        """Which GPU was given to a pod while another one had it."""
        return self._run(f"cat {self._locks}/twice 2>/dev/null || :").strip()

    def clean(self) -> None:
        """Remove the locks."""
        self._run(f"rm -rf {self._locks}")

    def locked(self) -> list[str]:
        """Which GPUs have ever been given to a pod."""
        return self._run(f"ls {self._locks}").split()

    @property
    def _locks(self) -> str:
        return f"/var/tmp/{self.day.jobs}-locks"  # noqa: S108 - of the node's, where no user is

    def _slice(self) -> Thing:
        return self.day.kubectl.api.get("resourceslice", f"{self.node}-{DRIVER}") or {}

    def _run(self, script: str) -> str:
        command = [*enter(self.day.paths.node(self.node)), "sh", "-c", script]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def _said(self, names: tuple[str, ...]) -> str:
        events = self.day.kubectl.api.list("event", self.day.jobs)
        return "\n".join(
            f"{each['involvedObject']['name']}: {each.get('message', '')}"
            for each in events
            if each["involvedObject"]["name"] in names
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
