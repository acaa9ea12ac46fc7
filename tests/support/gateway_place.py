"""All of the GPU workers API on a plane: what its manifests grant, its processes, and its nodes."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import httpx2
import yaml
from support.gateway_bodies import FACTS, JOB, PRICES
from support.gateway_process import CONFIG, GatewayProcess
from support.gateway_store import sqlite_url
from support.gpu_worker_jobs import WorkerJob
from support.plane.kept import KeptObserver
from support.postgres_process import PostgresProcess
from support.servers import wait_until

from devctl.api.gpu_worker_job import GROUP, NAMESPACE
from devctl.api.gpu_worker_node import CONTROLLER, PLURAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.plane import Plane

Thing = dict[str, Any]
STORES = ("sqlite", "postgresql")


@contextmanager
def granted(kubectl: Kubectl) -> Iterator[None]:
    """The manifests of config/gateway, but for what needs a container."""
    space = yaml.safe_load((CONFIG / "namespace.yaml").read_text())
    things = list(yaml.safe_load_all((CONFIG / "rbac.yaml").read_text()))
    built = yaml.safe_load_all(kubectl("kustomize", str(CONFIG / "nodes")))
    things += [thing for thing in built if thing["kind"] != "Deployment"]
    kubectl.api.apply(space)
    for each in things:
        kubectl.api.apply(each)
    try:
        yield
    finally:
        kubectl("-n", NAMESPACE, "delete", f"gpuworkerjobs.{GROUP}", "--all")
        kubectl("delete", f"{PLURAL}.{GROUP}", "--all")
        for each in [*things, space]:
            metadata = each["metadata"]
            kubectl.api.delete(each["kind"].lower(), metadata["name"], metadata.get("namespace"))
        gone = f"namespace {NAMESPACE} is gone"
        wait_until(lambda: kubectl.api.get("namespace", NAMESPACE) is None, gone, 120)


@contextmanager
def writer(plane: Plane) -> Iterator[KeptObserver]:
    """The writer of Nodes' labels and job slots."""
    own = {
        "POD_NAMESPACE": NAMESPACE,
        "DEVCTL_OBSERVER_KIND": "gpu_worker_node",
        "DEVCTL_OBSERVER_LEASE": CONTROLLER,
    }
    account = plane.account(CONTROLLER, NAMESPACE)
    process = KeptObserver(account, plane.folder, f"{CONTROLLER}-beside", 6797, more=own)
    process.start()
    try:
        yield process
    finally:
        withdrawn(plane.kubectl)
        process.stop()


def withdrawn(kubectl: Kubectl) -> None:
    """Have the writer, which runs, make all nodes as they were: other tests place pods there."""
    kubectl("delete", f"{PLURAL}.{GROUP}", "--all")

    def labels() -> list[str]:
        found = kubectl.api.list("node")
        return [name for node in found for name in node["metadata"]["labels"] if GROUP in name]

    wait_until(lambda: not labels(), lambda: f"nodes have no labels of ours: {labels()}")


@contextmanager
def serving(plane: Plane, folder: Path, store: str, **settings: Any) -> Iterator[GatewayProcess]:
    """A gateway whose store is empty, and of the sort that STORES names."""
    server = PostgresProcess() if store == "postgresql" else None
    if server:
        server.start()
    try:
        url = server.database() if server else sqlite_url(folder)
        made = GatewayProcess(plane, folder, url, **settings)
        migrated = made.run("migrate")
        assert migrated.returncode == 0, migrated.stderr
        made.start()
        try:
            yield made
        finally:
            made.stop()
            # Of two that name one Node, the older one wins.
            plane.kubectl("delete", f"{PLURAL}.{GROUP}", "--all")
    finally:
        if server:
            server.remove()


class Agent:
    """What the agent of a node does, as the test says.

    Args:
        gateway: Where it reports.
        node: Its node.
    """

    def __init__(self, gateway: GatewayProcess, node: str) -> None:
        """Register the node with a token of an operator's."""
        with gateway.client("keeper") as operator:
            token = operator.post("/registration-tokens/").json()["token"]
        with gateway.client(bearer=token) as joining:
            answer = joining.post("/nodes/register", json={"node_name": node, **FACTS})
        assert answer.status_code == 201, answer.text
        self.node, self.node_id = node, str(answer.json()["node_id"])
        self.key = str(answer.json()["api_key"])
        with gateway.client("keeper") as operator:
            assert operator.patch(f"/nodes/{self.node_id}", json=PRICES).status_code == 200

    def report(self, gateway: GatewayProcess, **changes: Any) -> httpx2.Response:
        """Send a heartbeat."""
        body = {
            "node_id": self.node_id,
            "gpu_memory_available": 20000,
            "cpu_cores_available": 14,
            "current_jobs": 1,
            "health_status": "healthy",
        }
        with gateway.client(bearer=self.key) as client:
            return client.post(f"/nodes/{self.node_id}/heartbeat", json=body | changes)


def registered(gateway: GatewayProcess, kubectl: Kubectl, nodes: Sequence[str]) -> list[Agent]:
    """Nodes that take jobs."""
    agents = [Agent(gateway, node) for node in nodes]
    for agent in agents:
        assert agent.report(gateway).status_code == 200

    def label(node: str) -> str:
        found = kubectl.api.get("node", node)
        labels: dict[str, str] = (found or {})["metadata"].get("labels", {})
        return labels.get(f"{GROUP}/worker", "")

    wait_until(lambda: all(label(node) == "active" for node in nodes), "nodes take jobs")
    return agents


@contextmanager
def reporting(gateway: GatewayProcess, agents: list[Agent]) -> Iterator[None]:
    """Agents report as often as they are to, however long the test takes."""
    ended = Event()

    def report() -> None:
        while not ended.wait(2):
            for agent in agents:
                # The gateway may be away.
                with suppress(httpx2.HTTPError):
                    agent.report(gateway)

    for agent in agents:
        agent.report(gateway)
    thread = Thread(target=report)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(60)


def submitted(client: httpx2.Client, **changes: Any) -> str:
    """The ID of a job that is submitted."""
    answer = client.post("/jobs/", json=JOB | changes)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/gpu-workers/jobs/{answer.json()['job_id']}"
    return str(answer.json()["job_id"])


def wait_for(client: httpx2.Client, job_id: str, state: str) -> Thing:
    """A job once it is in a state."""
    found: Thing = {}

    def so() -> bool:
        found.update(client.get(f"/jobs/{job_id}").json())
        return bool(found["state"] == state)

    wait_until(so, lambda: f"{job_id} is {state}: {found}")
    return found


def end(kubectl: Kubectl, job_id: str, scenario: str = "succeed") -> None:
    """End the program of a job."""
    WorkerJob(kubectl.api, NAMESPACE, job_id).end(scenario)
