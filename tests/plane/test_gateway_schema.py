"""Requests made from the description of the API, valid and not: schemathesis finds nothing.

The gateway's own program answers them, on a real API server, with each store. Nobody runs the jobs
that are submitted: the operator is away. What the description leaves out are itself and /metrics,
Prometheus's text: API9 of the table in `tests/unit/gateway/owasp` shows that it is no more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.gateway_bodies import JOB
from support.gateway_document import operations
from support.gateway_place import STORES, Agent, granted, serving
from support.plane.content import NODES
from support.servers import wait_until

from devctl.api.gpu_worker_job import GROUP, NAMESPACE
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.gateway_process import GatewayProcess
    from support.plane.plane import Plane

Thing = dict[str, Any]
MANY, FILE = 10**6, "kept.txt"
CALLERS = {
    "node": ("agents", "jobs", "nodes"),
    "ada": ("accounts", "billing", "costs", "jobs", "keys"),
    "keeper": ("keys", "nodes", "registration tokens"),
    "boss": (),
}
"""Who asks, and the tags of what they may use: the table of rights has the rest. An administrator
is last, who retires nodes and ends keys, and tries each boundary of each field of all."""
OF_NODES = {
    "POST /agents/register",
    "POST /jobs/{job_id}/status",
    "POST /nodes/{node_id}/heartbeat",
}
NOWHERE = {"GET /jobs/{job_id}/logs"}
"""What is never answered well here, as no kubelet has logs; unit tests show that it can be."""


@pytest.fixture(scope="module")
def place(operator_away: Plane) -> Iterator[Plane]:
    with granted(operator_away.kubectl):
        yield operator_away


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What stands for the volume."""
    return tmp_path_factory.mktemp("artifacts")


@pytest.fixture(scope="module", params=STORES)
def gateway(
    request: pytest.FixtureRequest,
    place: Plane,
    artifacts: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("gateway")
    files = {"artifacts_claim": "kept", "artifacts_folder": str(artifacts)}
    with serving(place, folder, request.param, failures_per_minute=MANY, **files) as one:
        yield one


@pytest.fixture(scope="module")
def agents(gateway: GatewayProcess) -> dict[str, Agent]:
    """Of the node that reports, and of one that may be retired."""
    return dict(zip(("node", "boss"), (Agent(gateway, name) for name in NODES), strict=True))


@pytest.fixture(scope="module")
def known(
    gateway: GatewayProcess, agents: dict[str, Agent], place: Plane, artifacts: Path
) -> dict[str, str]:
    """IDs of what is there: Ada's, and a job of hers on the node that reports, with a file."""
    with gateway.client("ada") as ada, gateway.client("keeper") as keeper:
        token = keeper.post("/registration-tokens/").json()
        job_id = ada.post("/jobs/", json=JOB).json()["job_id"]
        account = ada.get("/accounts/me").json()
    body = {"node_id": agents["node"].node_id}
    with gateway.client(bearer=agents["node"].key) as node:
        agent = node.post("/agents/register", json=body).json()
    api, kind = place.kubectl.api, f"gpuworkerjobs.{GROUP}"
    wait_until(lambda: api.get(kind, job_id, NAMESPACE) is not None, "the job is there")
    api.patch(kind, job_id, {"status": {"node": agents["node"].node}}, NAMESPACE, "status")
    with gateway.client("ada") as ada:
        there = lambda: ada.get(f"/jobs/{job_id}").json()["node_name"] is not None  # noqa: E731
        wait_until(there, "the job is on the node")
    (artifacts / job_id).mkdir()
    (artifacts / job_id / FILE).write_text("kept")
    ids = {"job_id": job_id, "account_id": account["id"], "agent_id": agent["id"]}
    return ids | {"token_id": token["id"], "path": FILE}


@pytest.mark.parametrize("caller", CALLERS)
def test_every_answer_is_as_described(
    gateway: GatewayProcess,
    agents: dict[str, Agent],
    known: dict[str, str],
    tmp_path: Path,
    caller: str,
) -> None:
    agent = agents.get(caller, agents["boss"])
    with gateway.client("ada") as ada:  # each caller may end one
        key = ada.post("/keys/", json={"name": "a script's"}).json()
        doomed = ada.post("/jobs/", json=JOB).json()
    ends = {"key_id": key["id"], "doomed_job_id": doomed["job_id"]}
    report = checked(gateway, tmp_path, caller, agent, known | ends)
    assert report["operations"]["tested"] == report["operations"]["selected"]
    rates = report["valid_rates"]
    accepted = {
        name.replace("/gpu-workers", "")
        for name, phases in rates.items()
        if any(phase["accepted"] for phase in phases.values())
    }
    whole = {str(each) for each in operations()} - NOWHERE
    if caller == "boss":
        assert whole - OF_NODES <= accepted
        assert report["operations"]["tested"] == len(operations())
    elif caller == "node":
        assert accepted >= OF_NODES


def checked(
    gateway: GatewayProcess,
    folder: Path,
    caller: str,
    agent: Agent,
    known: Mapping[str, str],
) -> Thing:
    """What schemathesis reports, which must be no failure."""
    with gateway.client(bearer=agent.key) if caller == "node" else gateway.client(caller) as one:
        shown = one.headers["authorization"]
        url = str(one.base_url)
    command = [
        *(str(Path(sys.executable).with_name("st")), "run", f"{url}openapi.json"),
        *("--checks=all", "--max-examples=1", "--generation-deterministic", "--no-color"),
        *("--report=json", f"--report-json-path={folder / 'report.json'}"),
        f"--header=Authorization: {shown}",
        *(f"--include-tag={tag}" for tag in CALLERS[caller]),
        *(["--phases=fuzzing"] if CALLERS[caller] else []),
    ]
    own = {
        "GATEWAY_KNOWN": json.dumps({**known, "node_id": agent.node_id}),
        "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'tests'}:{REPOSITORY / 'images' / 'gateway'}",
        "SCHEMATHESIS_HOOKS": "support.gateway_generation",
    }
    done = subprocess.run(
        command, env=os.environ | own, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report: Thing = json.loads((folder / "report.json").read_text())
    assert report["complete"]
    return report
