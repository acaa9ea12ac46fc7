"""VLLMRuns on a plane, and GPUs for them that no driver offers but the test."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from support.phased import Phased, Thing
from support.servers import wait_until

from devctl.api.kinds import VLLM_RUN
from devctl.api.vllm_run import DEVICE_CLASS, DRIVER, claim_name, pod_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.api import Api

PLURAL = f"{VLLM_RUN.plural}.{VLLM_RUN.group}"
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": DEVICE_CLASS},
    "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
}


class Run(Phased):
    """A run as its user sees it."""

    kind = VLLM_RUN

    def apply(self, **spec: Any) -> None:
        """Apply it with a spec; without a script it runs until it is ended."""
        given: Thing = {"command": ["vllm", "serve", "m"]}
        if "imageName" not in spec:
            given["image"] = "localhost/any:1"
        self.apply_spec(given | {"resources": {"cpu": "10m", "memory": "16Mi"}} | spec)

    @property
    def pod(self) -> Thing | None:
        """Its pod."""
        return self.api.get("pod", pod_name(self.name), self.namespace)

    @property
    def claim(self) -> Thing | None:
        """Its claim."""
        return self.api.get("resourceclaim", claim_name(self.name), self.namespace)

    def end(self, scenario: str = "succeed") -> None:
        """End its pod: `succeed` or `fail`."""
        wait_until(lambda: self.pod is not None, lambda: f"it has a pod: {self.status}")
        self.end_pod(pod_name(self.name), scenario)

    def delete(self) -> None:
        """Delete it, and wait until nothing is left of it."""
        self.api.delete(PLURAL, self.name, self.namespace)
        wait_until(lambda: not self.pod and not self.claim, "its pod and claim go with it")


@contextmanager
def offered(api: Api, nodes: Mapping[str, int]) -> Iterator[None]:
    """So many GPUs are offered on each node."""
    names = {node: f"{node}-{DRIVER}" for node in nodes}
    api.apply(CLASS)
    for node, count in nodes.items():
        devices = [
            {
                "name": f"gpu-{number}",
                "attributes": {
                    "index": {"int": number},
                    "uuid": {"string": f"GPU-{node}-{number}"},
                    "madeUp": {"bool": True},
                },
            }
            for number in range(count)
        ]
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        api.apply(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": names[node]},
                "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices},
            }
        )
    try:
        yield
    finally:
        for name in names.values():
            api.delete("resourceslice", name)
        api.delete("deviceclass", DEVICE_CLASS)
