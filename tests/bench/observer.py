"""What the observer needs for 1,000 pods, and how soon a change of one is in a server's status.

Prints figures and asserts none. Works in a namespace of its own, which it deletes, in the cluster
of KUBECONFIG, where an observer is deployed and the operator is away: it would run its role again
and again, as the servers have no flavor. Pods get no node: no scheduler has their name.

usage: observer.py [--pods 1000] [--servers 100]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lightkube import ApiError, AsyncClient
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import Namespace, Pod
from lightkube.types import PatchType

from devctl.api.labels import DEVSERVER, GROUP, MANAGED_BY, MANAGER, VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

DevServer = create_namespaced_resource(GROUP, VERSION, "DevServer", "devservers")
# Short, because a bench that waits for ever says nothing.
PATIENCE = 30.0


def pod(namespace: str, server: str) -> Pod:
    """A pod as a role makes it, which no scheduler will look at."""
    environment = [{"name": f"NAME_{number}", "value": "x" * 20} for number in range(10)]
    ports = [{"name": f"torch-{port}", "containerPort": port} for port in range(29500, 29511)]
    container = {"name": "server", "image": "none", "env": environment, "ports": ports}
    labels = {MANAGED_BY: MANAGER, DEVSERVER: server}
    metadata = {"name": f"{server}-0", "namespace": namespace, "labels": labels}
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    spec = {
        "schedulerName": "none",
        "terminationGracePeriodSeconds": 0,
        "containers": [container | {"securityContext": security}],
    }
    made: Any = Pod.from_dict({"metadata": metadata, "spec": spec})
    found: Pod = made
    return found


async def gather(calls: Iterable[Awaitable[Any]], at_once: int = 8) -> None:
    """Await all of them, a few at a time."""
    slots = asyncio.Semaphore(at_once)

    async def one(call: Awaitable[Any]) -> None:
        async with slots:
            await call

    await asyncio.gather(*(one(call) for call in calls))


async def latencies(
    client: AsyncClient, namespace: str, servers: list[str], pause: float = 0
) -> list[float]:
    """Seconds from a pod's new condition to its server's status, for each server.

    Args:
        client: Of the API server.
        namespace: Where they are.
        servers: Their names; each has a pod.
        pause: Seconds from one change to the next; 0 for all at once.
    """
    changed: dict[str, float] = {}
    seen: dict[str, float] = {}
    everything = asyncio.Event()

    async def watch() -> None:
        async for _, server in client.watch(DevServer, namespace=namespace):
            name = str(server["metadata"]["name"])
            entries = server.get("status", {}).get("replicaStatuses") or [{}]
            if entries[0].get("reason") == "Unschedulable" and name not in seen:
                seen[name] = time.monotonic()
            if len(seen) == len(servers):
                everything.set()

    async def change(server: str) -> None:
        message = "0/1 nodes are available: 1 Insufficient cpu."
        scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        body = {"status": {"conditions": [scheduled | {"message": message}]}}
        name = f"{server}-0"
        changed[server] = time.monotonic()
        await client.patch(
            Pod.Status, name, body, namespace=namespace, patch_type=PatchType.STRATEGIC
        )

    task = asyncio.ensure_future(watch())
    if pause:
        for server in servers:
            await change(server)
            await asyncio.sleep(pause)
    else:
        await gather(change(server) for server in servers)
    try:
        async with asyncio.timeout(PATIENCE):
            await everything.wait()
    except TimeoutError:
        print(f"{len(servers) - len(seen)} statuses were not there after {PATIENCE:.0f} s")
    task.cancel()
    return sorted(seen[name] - changed[name] for name in seen)


async def settle(client: AsyncClient, namespace: str) -> None:
    """Wait until the operator and the observer have said what they have to say of the servers."""
    before: dict[str, str] = {}
    for _ in range(int(PATIENCE)):
        await asyncio.sleep(3)
        servers = [server async for server in client.list(DevServer, namespace=namespace)]
        now = {str(s["metadata"]["name"]): str(s["metadata"]["resourceVersion"]) for s in servers}
        if now == before:
            return
        before = now


async def bench(pods: int, servers: int) -> None:
    """Make everything, measure, delete it."""
    client = AsyncClient(field_manager="devctl-bench")
    namespace = f"bench-observer-{uuid4().hex[:6]}"
    made: Any = Namespace.from_dict({"metadata": {"name": namespace}})
    await client.create(made)
    names = [f"server-{number}" for number in range(servers)]
    try:
        started = time.monotonic()
        spec = {"owner": "bench", "flavor": "none", "image": "none", "persistentHomeSize": "1Gi"}
        manifests = [
            DevServer.from_dict({"metadata": {"name": name, "namespace": namespace}, "spec": spec})
            for name in names
        ]
        await gather(client.create(manifest) for manifest in manifests)
        every = [*names, *(f"other-{number}" for number in range(pods - servers))]
        await gather(client.create(pod(namespace, name)) for name in every)
        print(f"{servers} servers and {pods} pods made in {time.monotonic() - started:.0f} s")
        await settle(client, namespace)
        found = await latencies(client, namespace, names)
        if found:
            middle, late = found[len(found) // 2], found[int(len(found) * 0.99) - 1]
            print(f"change to status: p50 {middle * 1000:.0f} ms, p99 {late * 1000:.0f} ms")
        print("memory now: kubectl top pod -n devctl-system")
    finally:
        try:
            await client.delete(Namespace, namespace)
        except ApiError as error:
            print(f"namespace `{namespace}` is left: {error}")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description="Measure the observer.")
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--servers", type=int, default=100)
    options = parser.parse_args()
    asyncio.run(bench(options.pods, options.servers))


if __name__ == "__main__":
    main()
