"""Agents, with the rights and tokens of their pods, a real API server and the gateway's program."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from devctl_gpu_worker_agent.agent import Agent
from devctl_gpu_worker_agent.cluster import ApiServer
from devctl_gpu_worker_agent.gateway import Gateway
from devctl_gpu_worker_agent.looking import Looking
from devctl_gpu_worker_agent.shelf import Shelf, tokens
from support.gateway_place import granted, serving, writer
from support.gateway_process import CONFIG, GatewayProcess
from support.plane.content import NODES
from support.plane.namespaces import ADDRESS
from support.plane.pki import PORT
from support.plane.tokens import write_account
from support.servers import wait_until
from support.tenants import allowed

from devctl.api.gpu_worker_job import APP, JOB_APP, NAMESPACE, SLOTS
from devctl.api.gpu_worker_node import GPU_MEMORY, STATE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.plane import Plane

HERE, THERE = NODES
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{APP}"
Thing = dict[str, Any]


@pytest.fixture(scope="module")
def gateway(
    kubectl: Kubectl, deployed: Plane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """The gateway, the writer of labels, and what agents may do."""
    folder = tmp_path_factory.mktemp("gateway")
    things = list(yaml.safe_load_all((CONFIG / "agent/rbac.yaml").read_text()))
    with granted(kubectl), writer(deployed):
        for each in things:
            kubectl.api.apply(each)
        with serving(deployed, folder, "sqlite") as one:
            yield one
        for each in things:
            metadata = each["metadata"]
            kubectl.api.delete(each["kind"].lower(), metadata["name"], metadata.get("namespace"))


@pytest.fixture(scope="module")
def pod(kubectl: Kubectl, gateway: GatewayProcess) -> Iterator[str]:
    """The pod of the agent on the first node, to which its tokens are bound."""
    assert gateway.port
    name = "agent-test"
    kubectl.api.create(a_pod(name, APP, serviceAccountName=APP))
    yield name
    kubectl("delete", "pod", name, "-n", NAMESPACE, "--grace-period=0", "--force")


def a_pod(name: str, app: str, cpu: str = "10m", **spec: Any) -> Thing:
    """A confined pod on the first node."""
    confined = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    resources = {"requests": {"cpu": cpu}}
    main = {"name": "main", "image": "none:1", "securityContext": confined, "resources": resources}
    context = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": app}},
        "spec": {"nodeName": HERE, "containers": [main], "securityContext": context} | spec,
    }


class Machine:
    """A node's agent, but for its process."""

    def __init__(self, kubectl: Kubectl, gateway: GatewayProcess, folder: Path, pod: str) -> None:
        bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod}")
        write_account(kubectl, folder, APP, NAMESPACE, *bound)
        command = ("create", "token", APP, "-n", NAMESPACE, "--audience=gpu-workers", *bound)
        (folder / "gateway-token").write_text(kubectl(*command))
        self._cluster = ApiServer(ADDRESS, PORT, folder)
        self._gateway, self._folder = Gateway(f"http://127.0.0.1:{gateway.port}"), folder

    def agent(self, node: str = HERE) -> Agent:
        return Agent(
            self._gateway,
            Looking(node, self._cluster, None, 16384).look,
            lambda: tokens([("service account", self._folder / "gateway-token")]),
            Shelf(self._folder / f"{node}.json"),
            version="0.1.0",
            most_jobs=0,
            clock=time.monotonic,
            random=lambda: 1.0,
        )


@pytest.fixture
def machine(kubectl: Kubectl, gateway: GatewayProcess, tmp_path: Path, pod: str) -> Machine:
    return Machine(kubectl, gateway, tmp_path, pod)


def registered(gateway: GatewayProcess, name: str = HERE) -> Thing:
    with gateway.client("keeper") as operator:
        items = operator.get("/nodes/").json()["items"]
    return next((item for item in items if item["node_name"] == name), {})


def test_a_node_registers_by_its_account_reports_and_takes_jobs(
    kubectl: Kubectl, gateway: GatewayProcess, machine: Machine
) -> None:
    agent = machine.agent()
    assert agent.step() == 5, "as the gateway asks for"
    assert agent.is_ready
    found = registered(gateway)
    assert found["state"] == "active"
    wanted = {"gpu_count": 4, "gpu_type": "made-up GPU", "gpu_memory_total": 16384}
    assert {name: found[name] for name in wanted} == wanted

    def marks() -> Thing:
        node = kubectl.api.get("node", HERE) or {}
        labels, has = node["metadata"]["labels"], node["status"]["allocatable"]
        return {STATE: labels.get(STATE), GPU_MEMORY: labels.get(GPU_MEMORY), SLOTS: has.get(SLOTS)}

    shown = {STATE: "active", GPU_MEMORY: "16384", SLOTS: "4"}
    wait_until(lambda: marks() == shown, lambda: f"its Node has {marks()}")


def test_what_pods_hold_is_reported(
    kubectl: Kubectl, gateway: GatewayProcess, machine: Machine
) -> None:
    agent = machine.agent()
    agent.step()
    node_id = registered(gateway)["id"]

    def reported() -> Thing:
        with gateway.client("keeper") as operator:
            return dict(operator.get(f"/nodes/{node_id}/stats").json()["reported"])

    before = reported()
    kubectl.api.create(a_pod("a-job", JOB_APP, cpu="1"))
    agent.step()
    after = reported()
    assert after["current_jobs"] == before["current_jobs"] + 1
    assert after["cpu_cores_available"] == before["cpu_cores_available"] - 1
    assert after["health_status"] == "healthy"
    kubectl("delete", "pod", "a-job", "-n", NAMESPACE, "--grace-period=0", "--force")


def test_a_node_whose_keys_were_ended_registers_again_as_the_same(
    gateway: GatewayProcess, machine: Machine
) -> None:
    agent = machine.agent()
    agent.step()
    node_id = registered(gateway)["id"]
    with gateway.client("keeper") as operator:
        assert operator.delete(f"/nodes/{node_id}").status_code == 204
    assert agent.step() == 1, "its key is refused"
    assert agent.step() == 5
    assert registered(gateway)["id"] == node_id
    with gateway.client("keeper") as operator:
        answer = operator.patch(f"/nodes/{node_id}", json={"maintenance": False})
    assert answer.json()["state"] == "active"


def test_an_agent_speaks_for_no_other_node(
    gateway: GatewayProcess, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    agent = machine.agent(THERE)
    agent.step()
    assert not agent.is_ready
    assert registered(gateway, THERE) == {}
    assert f"this token is of node `{HERE}`, not of `{THERE}`" in caplog.text


@pytest.mark.parametrize(
    ("verb", "what", "options"),
    [
        ("patch", "nodes", {}),
        ("patch", "nodes", {"sub": "status"}),
        ("list", "nodes", {}),
        ("create", "pods", {"namespace": NAMESPACE}),
        ("get", "pods", {"sub": "log", "namespace": NAMESPACE}),
        ("get", "secrets", {"namespace": NAMESPACE}),
        ("list", "gpuworkernodes.imagepod.dev", {}),
        ("create", "serviceaccounts", {"sub": "token", "namespace": NAMESPACE}),
    ],
    ids=str,
)
@pytest.mark.usefixtures("gateway")
def test_an_agent_may_do_nothing_else(
    kubectl: Kubectl, verb: str, what: str, options: dict[str, str]
) -> None:
    assert not allowed(kubectl, ACCOUNT, verb, what, **options)
