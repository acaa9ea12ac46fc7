"""Causes for a VLLMRun: one that is served from a checkout, ends and expires, by the CachePlan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.plane.content import NODES
from support.servers import wait_until
from support.vllm_runs import Run, offered

from devctl.api.kinds import CACHE_PLAN
from devctl.api.vllm_run import checkout_name, service_name

if TYPE_CHECKING:
    from support.causes import Scene

DAY = 86400


def cause(scene: Scene) -> None:
    api, one = scene.kubectl.api, Run(scene.kubectl.api, scene.namespace, "vllm")
    items = [
        {"type": "image", "name": "any", "image": {"ref": "localhost/any:1"}},
        {"type": "gitRepo", "name": "main", "gitRepo": {"url": "https://git.example/x.git"}},
    ]
    plan = {
        "apiVersion": CACHE_PLAN.api_version,
        "kind": CACHE_PLAN.name,
        "metadata": {"name": "default"},
        "spec": {"items": items},
    }
    with offered(api, {NODES[0]: 1}):
        checkout = {"commit": "1f" * 20}
        one.apply(
            imageName="any", repoName="main", checkout=checkout, ttlSecondsAfterFinished=DAY // 2
        )
        one.wait("Pending", "Invalid")
        api.apply(plan)
        one.wait("Serving")
        service = service_name(one.name)
        api.delete("service", service, one.namespace)
        wait_until(lambda: api.get("service", service, one.namespace) is not None, "it is back")
        one.end()
        one.wait("Succeeded")
        wait_until(lambda: not one.claim, "its GPU is given back")
        program = checkout_name(one.name)
        wait_until(
            lambda: not api.get("configmap", program, one.namespace), "the program is removed"
        )
        scene.clocks(DAY, DAY)
        wait_until(lambda: not one.pod, "its pod expires")
        scene.clocks(0, 0)
        one.delete()
        api.delete(f"{CACHE_PLAN.plural}.{CACHE_PLAN.group}", "default")
