"""A hundred pods that want GPUs by claim, of a plane whose kubelets are the tests' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl_dra_plugin.names import DRIVER
from support.plane.gpu_node import GPUS
from support.plane.kubelet_record import KUBELET, SECONDS
from support.plane.scenarios import END

if TYPE_CHECKING:
    import random

    from support.commands import Kubectl

Thing = dict[str, Any]
GROUP = "resource.k8s.io/v1"
KINDS = {"one": 35, "two": 15, "index": 15, "limit": 25, "limits": 10}
"""How many want one or two by a template, a certain one by a claim, and one or two by limits."""
MANY, FORCED = sum(KINDS.values()), 10


class Crowd:
    """Pods that want GPUs, each in one of five ways.

    Args:
        kubectl: As an administrator.
        namespace: Where.
        chance: What they want, for how long, and which are deleted by force.
    """

    def __init__(self, kubectl: Kubectl, namespace: str, chance: random.Random) -> None:
        self._api, self._kubectl, self._namespace = kubectl.api, kubectl, namespace
        self._chance = chance
        kinds = [kind for kind, count in KINDS.items() for _ in range(count)]
        chance.shuffle(kinds)
        self._wanted = {f"{kind}-{number}": kind for number, kind in enumerate(kinds)}
        # They have GPUs when they go, and the kubelet is the last to know.
        self._doomed = set(chance.sample(sorted(self._wanted), FORCED))
        self._hasty = set(sorted(self._doomed)[::2])  # while their claims are being prepared
        self.gone: set[str] = set()
        """Those that were deleted by force."""

    def come(self) -> None:
        """Create all of them."""
        for count in (1, 2):
            devices = {"devices": {"requests": [_request(count)]}}
            self._create(GROUP, "ResourceClaimTemplate", f"gpus-{count}", {"spec": devices})
        for name, kind in self._wanted.items():
            self._create("v1", "Pod", name, self._spec(name, kind), self._seconds(name))

    def look(self) -> set[str]:
        """Those that have not ended; those that are to go by force are deleted once it is time."""
        pods = {pod["metadata"]["name"]: pod for pod in self._api.list("pod", self._namespace)}
        phases = {name: pod["status"].get("phase") for name, pod in pods.items()}
        for name in sorted(self._doomed & pods.keys() - self.gone):
            is_placed = "nodeName" in pods[name]["spec"]
            if phases[name] == "Running" or (name in self._hasty and is_placed):
                where = ("-n", self._namespace, "--grace-period=0", "--force")
                self._kubectl("delete", "pod", name, *where)
                self.gone.add(name)
        return {n for n in self._wanted.keys() - self.gone if phases.get(n) != "Succeeded"}

    def _seconds(self, name: str) -> dict[str, str]:
        # Those that are to go by force do not end by themselves.
        seconds = 600.0 if name in self._doomed else self._chance.uniform(0.1, 0.6)
        return {END: KUBELET, SECONDS: f"{seconds:.2f}"}

    def _spec(self, name: str, kind: str) -> Thing:
        main: Thing = {"name": "main", "image": "made:1"}
        spec: Thing = {"restartPolicy": "Never", "containers": [main]}
        if kind.startswith("limit"):
            main["resources"] = {"limits": {f"{DRIVER}/gpu": "2" if kind == "limits" else "1"}}
            return spec
        claim = {
            "name": "gpu",
            "resourceClaimTemplateName": "gpus-2" if kind == "two" else "gpus-1",
        }
        if kind == "index":
            chosen = f"device.attributes['{DRIVER}'].index == {self._chance.randrange(GPUS)}"
            request = _request(1, {"cel": {"expression": chosen}})
            self._create(GROUP, "ResourceClaim", name, {"devices": {"requests": [request]}})
            claim = {"name": "gpu", "resourceClaimName": name}
        main["resources"] = {"claims": [{"name": "gpu"}]}
        return spec | {"resourceClaims": [claim]}

    def _create(
        self, version: str, kind: str, name: str, spec: Thing, notes: dict[str, str] | None = None
    ) -> None:
        metadata = {"name": name, "namespace": self._namespace, "annotations": notes or {}}
        self._api.create({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def _request(count: int, *selectors: Thing) -> Thing:
    wanted = {"deviceClassName": DRIVER, "count": count, "selectors": list(selectors)}
    return {"name": "gpu", "exactly": wanted}
