"""The cluster: copies of its objects, and the few requests that change something."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import httpx2
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import KubeConfig

from devctl.api.kinds import GPU_WORKER_JOB, GPU_WORKER_NODE
from devctl_gateway.cluster.copies import Copy
from devctl_gateway.cluster.node_facts import small_node
from devctl_gateway.cluster.objects import Thing
from devctl_gateway.cluster.queues import Queues
from devctl_gateway.cluster.refusals import WAIT, no_log, refused, translated
from devctl_gateway.cluster.usage import Usage, small_pod
from devctl_gateway.errors import ClusterError, ConflictError

MANAGER = "gpu-workers-gateway"
_LONGEST_LOG = 1 << 26
"""Bytes of a log that are sent at most."""
_GONE = frozenset({HTTPStatus.NOT_FOUND})
_THERE = frozenset({HTTPStatus.CONFLICT})


class Cluster:
    """The cluster as the gateway sees it.

    Args:
        http: The API server.
        streams: The same, for logs: however many are followed, connections are left for the rest.
        namespace: Where jobs run.
    """

    def __init__(
        self, http: httpx2.AsyncClient, streams: httpx2.AsyncClient, namespace: str
    ) -> None:
        """Know nothing yet."""
        self._http, self._streams, self._namespace = http, streams, namespace
        self.queues = Queues(http, namespace)
        """What Kueue says of those that wait."""
        usage = Usage()
        self._usage = usage.nodes
        self._jobs = Copy(http, GPU_WORKER_JOB.path(namespace))
        self._workers = Copy(http, GPU_WORKER_NODE.path())
        self._nodes = Copy(http, "api/v1/nodes", keep=small_node)
        self._pods = Copy(
            http, "api/v1/pods", keep=small_pod, changed=usage.changed, key=_namespaced
        )

    @property
    def _copies(self) -> tuple[Copy, ...]:
        return self._jobs, self._workers, self._nodes, self._pods

    @property
    def synced(self) -> bool:
        """Whether the copies are there, and have been current within the last minute."""
        return all(copy.current for copy in self._copies)

    @property
    def jobs(self) -> Mapping[str, Thing]:
        """GPUWorkerJobs by name, which is the job's ID."""
        return self._jobs.objects

    @property
    def workers(self) -> Mapping[str, Thing]:
        """GPUWorkerNodes by name, which is the node's ID."""
        return self._workers.objects

    @property
    def nodes(self) -> Mapping[str, Thing]:
        """Nodes by name, without what scheduling does not depend on."""
        return self._nodes.objects

    @property
    def requested(self) -> Mapping[str, Mapping[str, int]]:
        """What pods that have not ended hold of each node, by its name.

        cpu in thousandths, memory in bytes, nvidia.com/gpu and job slots in pieces.
        """
        return self._usage

    async def run(self) -> None:
        """Keep the copies current until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for copy in self._copies:
                tasks.create_task(copy.run())

    async def create_job(self, job: Thing) -> None:
        """Create a GPUWorkerJob; one that is there already stays as it is.

        Raises:
            RejectedError: It is invalid.
            ClusterError: The API server refuses it for another reason, or does not answer.
        """
        path, query = GPU_WORKER_JOB.path(self._namespace), {"fieldManager": MANAGER}
        await self._ask("POST", path, params=query, json=job, fine=_THERE)

    async def cancel_job(self, name: str) -> None:
        """Have a GPUWorkerJob end; nothing if it is not there.

        Raises:
            ClusterError: The API server refuses it, or does not answer.
        """
        await self._ask(
            "PATCH",
            GPU_WORKER_JOB.path(self._namespace, name),
            params={"fieldManager": MANAGER},
            headers={"Content-Type": "application/merge-patch+json"},
            json={"spec": {"cancelled": True}},
            fine=_GONE,
        )

    async def delete_job(self, name: str) -> None:
        """Delete a GPUWorkerJob, and what it owns; nothing if it is not there."""
        path, body = GPU_WORKER_JOB.path(self._namespace, name), {"propagationPolicy": "Background"}
        await self._ask("DELETE", path, json=body, fine=_GONE)

    async def apply_node(self, node: Thing) -> None:
        """Create a GPUWorkerNode, or change its spec."""
        await self._ask(
            "PATCH",
            GPU_WORKER_NODE.path(name=node["metadata"]["name"]),
            params={"fieldManager": MANAGER, "force": "true"},
            headers={"Content-Type": "application/apply-patch+yaml"},
            json=node,
        )

    async def delete_node(self, node: Thing) -> None:
        """Delete a GPUWorkerNode, unless it is another one or has changed since."""
        meta = node["metadata"]
        known = {name: meta[name] for name in ("uid", "resourceVersion")}
        path, body = GPU_WORKER_NODE.path(name=meta["name"]), {"preconditions": known}
        await self._ask("DELETE", path, json=body, fine=_GONE | {HTTPStatus.CONFLICT})

    async def review(self, token: str, audience: str) -> object:
        """The status of a TokenReview: whatever the API server says it is."""
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [audience]},
        }
        answer = await self._ask("POST", "apis/authentication.k8s.io/v1/tokenreviews", json=body)
        try:
            return answer.json()["status"]
        except (ValueError, KeyError, TypeError):
            raise ClusterError("the API server answers what is no TokenReview", WAIT) from None

    async def logs(self, job: str, *, follow: bool, tail: int | None) -> AsyncGenerator[bytes]:
        """What the last pod of a job has written.

        Raises:
            ConflictError: It has no pod, or that has not started yet.
            ClusterError: Its node does not answer.
        """
        pod = self.jobs.get(job, {}).get("status", {}).get("podName")
        if not pod:
            raise ConflictError("the job has no pod yet, or none any more", WAIT)
        query = {"container": "job", "follow": str(follow).lower(), "limitBytes": str(_LONGEST_LOG)}
        query |= {} if tail is None else {"tailLines": str(tail)}
        path = f"api/v1/namespaces/{self._namespace}/pods/{pod}/log"
        timeout = httpx2.Timeout(10, read=None if follow else 30)
        with translated():
            async with self._streams.stream("GET", path, params=query, timeout=timeout) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise no_log(answer)
                async for part in answer.aiter_bytes():
                    yield part

    async def _ask(
        self, method: str, path: str, *, fine: frozenset[int] = frozenset(), **options: Any
    ) -> httpx2.Response:
        with translated():
            answer = await self._http.request(method, path, **options)
        if not answer.is_success and answer.status_code not in fine:
            raise refused(answer)
        return answer


@asynccontextmanager
async def connected(kubeconfig: str, namespace: str) -> AsyncIterator[Cluster]:
    """The cluster of a kubeconfig, or the one around this pod; its copies are kept current."""
    found = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_service_account()
    parameters = client_adapter.ConnectionParams(timeout=httpx2.Timeout(10))
    config = found.get()
    if config is None:
        raise ValueError(f"kubeconfig `{kubeconfig}` has no current context: set one")
    async with (
        client_adapter.AsyncClient(config, parameters) as http,
        client_adapter.AsyncClient(config, parameters) as streams,
    ):
        cluster = Cluster(http, streams, namespace)
        task = asyncio.create_task(cluster.run())
        try:
            yield cluster
        finally:
            task.cancel()


def _namespaced(thing: Thing) -> str:
    return f"{thing['metadata']['namespace']}/{thing['metadata']['name']}"
