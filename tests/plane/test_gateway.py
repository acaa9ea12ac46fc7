"""The GPU workers API: its own program, on a real API server, with operator and observer."""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from support.gateway_bodies import JOB
from support.gateway_place import (
    STORES,
    Agent,
    end,
    granted,
    registered,
    reporting,
    serving,
    submitted,
    wait_for,
    writer,
)
from support.gpu_worker_jobs import rejecting
from support.plane.content import NODES
from support.servers import wait_until

from devctl.api.gpu_worker_job import NAMESPACE
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2
    from support.commands import Kubectl
    from support.gateway_process import GatewayProcess
    from support.plane.plane import Plane

Thing = dict[str, Any]
SHOWN = {"job_id": "JOB_ID", "node_id": "NODE_ID", "api_key": "KEY", "agent_id": "AGENT_ID"}
"""Fields of answers, and what the documentation calls them from then on."""


@pytest.fixture(scope="module")
def place(kubectl: Kubectl, deployed: Plane) -> Iterator[Plane]:
    with granted(kubectl), writer(deployed):
        yield deployed


@pytest.fixture(scope="module", params=STORES)
def gateway(
    request: pytest.FixtureRequest, place: Plane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    # As deployed with each of them.
    processes = 2 if request.param == "postgresql" else 1
    folder = tmp_path_factory.mktemp("gateway")
    with serving(place, folder, request.param, processes=processes) as one:
        yield one


@pytest.fixture(scope="module")
def agents(gateway: GatewayProcess, kubectl: Kubectl) -> list[Agent]:
    return registered(gateway, kubectl, NODES)


@pytest.fixture
def ada(gateway: GatewayProcess, agents: list[Agent]) -> Iterator[httpx2.Client]:
    """A user, while all agents report."""
    with reporting(gateway, agents), gateway.client("ada") as client:
        yield client


def test_a_job_runs_on_a_registered_node_and_is_billed_for_it(
    ada: httpx2.Client, kubectl: Kubectl, gateway: GatewayProcess
) -> None:
    job_id = submitted(ada)
    running = wait_for(ada, job_id, "running")
    assert running["node_name"] in NODES
    end(kubectl, job_id)
    done = wait_for(ada, job_id, "completed")
    assert done["exit_code"] == 0
    wait_until(lambda: bool(ada.get(f"/jobs/{job_id}/cost").json()["final"]), "it is charged")
    cost = ada.get(f"/jobs/{job_id}/cost").json()
    job = kubectl.api.get("gpuworkerjobs.imagepod.dev", job_id, NAMESPACE)
    assert job
    (run,) = job["status"]["runs"]
    times = [datetime.fromisoformat(run[name]) for name in ("startedAt", "finishedAt")]
    seconds = int((times[1] - times[0]).total_seconds())
    held = {"gpu": seconds, "core": seconds, "gigabyte": 64 * seconds}
    assert {line["kind"]: line["quantity"] for line in cost["lines"]} == held
    reconciled = gateway.run("reconcile")
    assert reconciled.returncode == 0, reconciled.stdout + reconciled.stderr


def test_a_failure_and_a_cancellation_are_told(ada: httpx2.Client, kubectl: Kubectl) -> None:
    failing, cancelled = submitted(ada), submitted(ada)
    wait_for(ada, failing, "running")
    end(kubectl, failing, "fail")
    failed = wait_for(ada, failing, "failed")
    assert (failed["exit_code"], failed["reason"]) == (7, "NonZeroExit")
    wait_for(ada, cancelled, "running")
    assert ada.post(f"/jobs/{cancelled}/cancel").status_code == 202
    assert ada.post(f"/jobs/{cancelled}/cancel").status_code == 202
    wait_for(ada, cancelled, "cancelled")
    refused = ada.post(f"/jobs/{failing}/cancel")
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"


def test_a_job_that_fits_nowhere_says_what_binds(ada: httpx2.Client) -> None:
    job_id = submitted(ada, gpu_memory_required=40000)

    def why() -> str:
        found = ada.get(f"/jobs/{job_id}").json()
        return f"{found['state']} {found['reason']}: {found['message']}"

    wait_until(lambda: why().startswith("pending NoNode: it needs 40000"), why)
    query = {"gpu_memory_required": 40000}
    none = ada.get("/available-nodes/", params=query).json()
    assert none["items"] == []
    assert "2 of 2 nodes: GPU memory (MB): 40000 wanted, 24576 free" in none["reason"]
    ada.post(f"/jobs/{job_id}/cancel")
    wait_for(ada, job_id, "cancelled")


def test_available_nodes_are_those_that_have_room(ada: httpx2.Client) -> None:
    found = ada.get("/available-nodes/", params={"gpu_memory_required": 4096}).json()
    assert {node["node_name"] for node in found["items"]} == {*NODES}
    assert all(node["free"]["gpus"] > 0 for node in found["items"])
    assert found["items"][0]["price_per_gpu_hour"] == "1.20"


def test_what_is_somebody_elses_is_not_there(
    ada: httpx2.Client, gateway: GatewayProcess, agents: list[Agent]
) -> None:
    job_id = submitted(ada)
    asks = [
        *(("GET", f"/jobs/{job_id}{more}") for more in ("", "/cost", "/logs")),
        ("POST", f"/jobs/{job_id}/cancel"),
    ]
    for who in ("bob", "eve", "keeper"):
        with gateway.client(who) as other:
            for method, path in asks:
                assert other.request(method, path).status_code == 404, (who, method, path)
            assert other.get("/jobs/").json()["items"] == []
    with gateway.client("boss") as admin:
        assert admin.get(f"/jobs/{job_id}").status_code == 200
    one, two = agents
    with gateway.client(bearer=one.key) as node:
        body = {"node_id": two.node_id, "gpu_memory_available": 0, "cpu_cores_available": 0}
        for path in (two.node_id, one.node_id):
            lie = node.post(f"/nodes/{path}/heartbeat", json=body | {"current_jobs": 0})
            assert lie.status_code == 404
        assert node.get(f"/nodes/{two.node_id}").status_code == 404
        report = {"status": "completed"}
        assert node.post(f"/jobs/{job_id}x/status", json=report).status_code == 404
    ada.post(f"/jobs/{job_id}/cancel")
    wait_for(ada, job_id, "cancelled")


def test_an_answer_has_what_was_asked_for_and_lists_can_be_of_a_time(ada: httpx2.Client) -> None:
    asked = {
        "gpu_memory_required": 40000,
        "docker_image": "r.example:5000/team/train",
        "docker_tag": "sha256:" + "a" * 64,
        "command": ["python"],
        "args": ["-V"],
        "env": [{"name": "A", "value": "b"}],
        "priority": "low",
        "retries": 2,
        "timeout_seconds": 60,
        "scheduling_strategy": "packed",
    }
    job_id = submitted(ada, **asked)
    found = ada.get(f"/jobs/{job_id}").json()
    assert {name: found[name] for name in asked} == asked

    def listed(**times: str) -> bool:
        answer = ada.get("/jobs/", params=times)
        assert answer.status_code == 200, answer.text
        return job_id in [each["job_id"] for each in answer.json()["items"]]

    at = found["created_at"]
    assert listed(created_from=at)
    assert listed(created_from=at, created_before="9999-12-31T23:59:59Z")
    assert not listed(created_before=at)
    for wrong in ("2026-05-01T00:00:00", "0001-01-01T00:00:00+14:00", "today", "1700000000"):
        assert ada.get("/jobs/", params={"created_from": wrong}).status_code == 422
    ada.post(f"/jobs/{job_id}/cancel")
    wait_for(ada, job_id, "cancelled")


def test_a_job_that_the_cluster_rejects_has_failed_and_says_why(
    ada: httpx2.Client, kubectl: Kubectl
) -> None:
    with rejecting(kubectl.api, NAMESPACE, "Not here"):
        job_id = submitted(ada, job_name="Not here")
        failed = wait_for(ada, job_id, "failed")
    assert failed["reason"] == "Rejected"
    assert "no such jobs" in failed["message"]
    assert ada.get(f"/jobs/{job_id}/cost").json()["final"]
    assert ada.post(f"/jobs/{job_id}/cancel").status_code == 409
    assert kubectl.api.get("gpuworkerjobs.imagepod.dev", job_id, NAMESPACE) is None


def test_a_prepaid_account_needs_credit(gateway: GatewayProcess, agents: list[Agent]) -> None:
    assert agents
    with gateway.client("eve") as eve, gateway.client("boss") as admin:
        account = eve.get("/accounts/me").json()["id"]
        assert admin.patch(f"/accounts/{account}", json={"prepaid": True}).status_code == 200
        refused = eve.post("/jobs/", json=JOB)
        assert refused.status_code == 402
        assert refused.json()["type"].endswith("no-credit-left")
        credit = {"amount": "1.00", "note": "a start"}
        assert admin.post(f"/accounts/{account}/credit", json=credit).status_code == 201
        job_id = submitted(eve, gpu_memory_required=40000)
        assert eve.post(f"/jobs/{job_id}/cancel").status_code == 202
        wait_for(eve, job_id, "cancelled")
        admin.patch(f"/accounts/{account}", json={"prepaid": False})


def test_a_repeated_submission_is_one_job(ada: httpx2.Client, kubectl: Kubectl) -> None:
    name = {"Idempotency-Key": f"once-{ada.base_url}"}
    first = ada.post("/jobs/", json=JOB, headers=name)
    again = ada.post("/jobs/", json=JOB, headers=name)
    assert first.json() == again.json()
    other = ada.post("/jobs/", json=JOB | {"job_name": "Other"}, headers=name)
    assert other.status_code == 422
    job_id = first.json()["job_id"]
    ada.post(f"/jobs/{job_id}/cancel")
    wait_for(ada, job_id, "cancelled")
    named = [job["metadata"]["name"] for job in kubectl.api.list("gpuworkerjobs", NAMESPACE)]
    assert named.count(job_id) == 1


def test_a_gateway_that_is_killed_loses_and_doubles_no_job(
    ada: httpx2.Client, gateway: GatewayProcess, kubectl: Kubectl
) -> None:
    made = [submitted(ada, gpu_memory_required=40000, job_name=f"job {n}") for n in range(10)]
    gateway.kill()
    gateway.start()

    def there() -> set[str]:
        found = kubectl.api.list("gpuworkerjobs", NAMESPACE)
        return {job["metadata"]["name"] for job in found}

    wait_until(lambda: {*made} <= there(), lambda: f"all are there: {there()}")
    for job_id in made:
        assert ada.post(f"/jobs/{job_id}/cancel").status_code == 202
    for job_id in made:
        wait_for(ada, job_id, "cancelled")


def test_without_the_api_server_jobs_wait_and_none_is_lost(
    ada: httpx2.Client, place: Plane, kubectl: Kubectl
) -> None:
    place.control.api_server.kill()
    try:
        job_id = submitted(ada)
        assert ada.get(f"/jobs/{job_id}").json()["state"] == "pending"
    finally:
        place.control.api_server.start()
        place.control.api_server.await_so(place.control.answers, "it answers")
    wait_for(ada, job_id, "running")
    end(kubectl, job_id)
    wait_for(ada, job_id, "completed")


def test_logs_of_a_job_without_a_pod_are_a_clear_problem(ada: httpx2.Client) -> None:
    job_id = submitted(ada, gpu_memory_required=40000)
    said = ada.get(f"/jobs/{job_id}/logs")
    assert said.status_code == 409
    assert "no pod" in said.json()["detail"]
    ada.post(f"/jobs/{job_id}/cancel")
    wait_for(ada, job_id, "cancelled")


def test_a_silent_node_is_inactive_and_a_maintained_one_gets_nothing_new(
    gateway: GatewayProcess, agents: list[Agent]
) -> None:
    (one, two), ada = agents, gateway.client("ada")

    def state(agent: Agent) -> str:
        return str(ada.get(f"/nodes/{agent.node_id}").json()["state"])

    with gateway.client("keeper") as operator:
        changed = operator.patch(f"/nodes/{one.node_id}", json={"maintenance": True})
        assert changed.json()["state"] == "maintenance"
        assert ada.patch(f"/nodes/{one.node_id}", json={"maintenance": False}).status_code == 403
        wait_until(lambda: state(two) == "inactive", lambda: f"it is {state(two)}")
        reason = ada.get("/available-nodes/").json()["reason"]
        assert "it is maintenance" in reason
        assert "it is inactive" in reason
        two.report(gateway, health_status="unhealthy")
        assert state(two) == "error"
        two.report(gateway)
        assert state(two) == "active"
        operator.patch(f"/nodes/{one.node_id}", json={"maintenance": False})
    ada.close()


def test_the_calls_of_the_documentation_work_as_they_are_written(
    gateway: GatewayProcess, agents: list[Agent]
) -> None:
    assert agents
    page = (REPOSITORY / "docs/workers.md").read_text()
    calls = re.findall(r"^curl .*(?:\n(?!curl |```).*)*", page, re.MULTILINE)
    with gateway.client("keeper") as keeper:
        known = {"TOKEN": keeper.headers["authorization"].removeprefix("Bearer ")}
    for call in calls:
        line = call.replace("http://localhost:8000", f"http://127.0.0.1:{gateway.port}")
        line = line.replace("curl ", "curl --silent --show-error --fail-with-body ", 1)
        done = subprocess.run(
            ["bash", "-euc", line],
            env=os.environ | known,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{call}\n{done.stdout}{done.stderr}"
        said = json.loads(done.stdout)
        known |= {
            variable: said[name]
            for name, variable in SHOWN.items()
            if isinstance(said.get(name), str)
        }
    assert {*known} == {"TOKEN", *SHOWN.values()}
    assert len(calls) == 11
