"""`Client.workers` and `devctl workers` against the gateway's own program."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.gateway_app import claims, signed
from support.gateway_place import Agent, granted, registered, serving, writer
from support.gpu_worker_jobs import WorkerJob
from support.plane.content import NODES
from support.servers import wait_until

from devctl.api.gpu_worker_job import NAMESPACE
from devctl.client.async_workers import AsyncWorkers
from devctl.client.workers.generated import models as gpu_workers
from devctl.client.workers.jobs import NewWorkerJob
from devctl.client.workers.workers import Workers
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl
    from support.gateway_process import GatewayProcess
    from support.plane.plane import Plane

NEW = NewWorkerJob(
    "localhost/any:1", "A job", gpu_memory=8192, memory=64, input={"epochs": 3}, env={"A": "b"}
)
NOWHERE = NewWorkerJob("localhost/any:1", "Too much", gpu_memory=40000)


@pytest.fixture(scope="module")
def gateway(
    kubectl: Kubectl, deployed: Plane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("gateway")
    with granted(kubectl), writer(deployed), serving(deployed, folder, "sqlite") as one:
        yield one


@pytest.fixture(scope="module")
def agents(gateway: GatewayProcess, kubectl: Kubectl) -> list[Agent]:
    return registered(gateway, kubectl, NODES)


def url(gateway: GatewayProcess) -> str:
    return f"http://127.0.0.1:{gateway.port}"


@pytest.fixture
def as_user(gateway: GatewayProcess, agents: list[Agent]) -> Callable[[str], Workers]:
    for agent in agents:
        agent.report(gateway)
    return lambda who: Workers(url(gateway), signed(claims(sub=who, groups=[])))


@pytest.fixture
def ada(as_user: Callable[[str], Workers]) -> Iterator[Workers]:
    with as_user("ada") as workers:
        yield workers


def test_a_job_is_submitted_followed_and_paid(ada: Workers, kubectl: Kubectl) -> None:
    submitted = ada.jobs.submit(NEW, key="once")
    assert ada.jobs.submit(NEW, key="once").job_id == submitted.job_id
    job_id = submitted.job_id
    wait_until(lambda: ada.jobs.get(job_id).state == "running", lambda: str(ada.jobs.get(job_id)))
    assert not ada.jobs.cost(job_id).final
    WorkerJob(kubectl.api, NAMESPACE, job_id).end("succeed")
    ended = ada.jobs.wait(job_id, timeout=90)
    assert (ended.state, ended.exit_code, ended.node_name in NODES) == ("completed", 0, True)
    wait_until(lambda: ada.jobs.cost(job_id).final, lambda: str(ada.jobs.cost(job_id)))
    cost = ada.jobs.cost(job_id)
    assert {line.kind for line in cost.lines} == {"gpu", "core", "gigabyte"}
    month = f"{ended.created_at:%Y-%m}"
    assert job_id in {line.job_id for line in ada.invoice(month).lines}
    assert ada.invoice_csv(month).startswith("job_id,kind,quantity,price,amount,currency\n")
    # It may have taken less than a second.
    assert ada.balance().settled.lstrip("-") == cost.amount
    with pytest.raises(DevctlError, match="has ended: it is completed") as refused:
        ada.jobs.cancel(job_id)
    assert refused.value.reason == "Conflict"


def test_a_cancelled_job_ends_and_lists_have_it(ada: Workers) -> None:
    made = [ada.jobs.submit(NOWHERE).job_id for _ in range(3)]
    assert [job.job_id for job in ada.jobs.list(name="Too much")] == made[::-1]
    with pytest.raises(DevctlError, match="no pod"):
        list(ada.jobs.logs(made[0]))
    for job_id in made:
        ada.jobs.cancel(job_id)
        assert ada.jobs.wait(job_id, timeout=90).state == "cancelled"


def test_nodes_and_what_fits(ada: Workers) -> None:
    assert {node.node_name for node in ada.nodes.list()} == {*NODES}
    assert ada.nodes.available(gpu_memory=4096).items[0].price_per_gpu_hour == "1.20"
    none = ada.nodes.available(gpu_memory=40000)
    assert none.items == []
    assert "GPU memory (MB): 40000 wanted" in none.reason


def test_a_key_stands_for_its_account_until_it_is_revoked(
    ada: Workers, gateway: GatewayProcess
) -> None:
    made = ada.keys.create("ci", seconds=3600)
    with Workers(url(gateway), made.key) as program:
        assert [key.id for key in program.keys.list()] == [made.id]
        with pytest.raises(DeniedError, match="cannot make others"):
            program.keys.create("more")
        ada.keys.revoke(made.id)
        with pytest.raises(DeniedError):
            list(program.jobs.list())


def test_the_whole_api_answers_what_its_document_says(
    ada: Workers, gateway: GatewayProcess
) -> None:
    me = ada.api.my_account()
    with Workers(url(gateway), signed(claims(sub="boss", groups=["gpu-admins"]))) as boss:
        assert me.id in {account.id for account in boss.api.list_accounts(name=me.name)}
        assert boss.api.get_account(me.id).subject == "ada"
        change = gpu_workers.AccountChange(prepaid=False)
        assert not boss.api.change_account(me.id, change).prepaid
        given = boss.api.give_credit(me.id, gpu_workers.NewCredit(amount="5"), key="once")
        assert boss.api.give_credit(me.id, gpu_workers.NewCredit(amount="5"), key="once") == given
        assert given.id in {entry.id for entry in ada.api.list_ledger_entries()}
        made = boss.api.create_registration_token()
        assert made.id in {token.id for token in boss.api.list_registration_tokens()}
        boss.api.revoke_registration_token(made.id)
        changes = [entry.action for entry in boss.api.list_audit_entries(target=me.id)]
        assert changes == ["account.credit"]
        node = next(ada.nodes.list(state="active"))
        priced = boss.api.change_node(node.id, gpu_workers.NodeChange(max_concurrent_jobs=2))
        assert priced.max_concurrent_jobs == 2
    assert ada.api.get_node_stats(node.id).free.job_slots <= 2
    assert (ada.api.healthz().status, ada.api.readyz().status) == ("ok", "ok")


def test_an_agent_speaks_for_its_node(gateway: GatewayProcess, agents: list[Agent]) -> None:
    node = agents[0].node_id
    beat = gpu_workers.Heartbeat(
        node_id=node, gpu_memory_available=4096, cpu_cores_available=2, current_jobs=0
    )
    with Workers(url(gateway), agents[0].key) as workers:
        assert workers.api.report_heartbeat(node, beat).state == "active"
        new = workers.api.register_agent(gpu_workers.NewAgent(node_id=node, agent_version="2"))
        assert workers.api.get_agent(new.agent_id) == new
        reported = workers.api.get_node_stats(node).reported
        assert reported
        assert (reported.gpu_memory_available, reported.health_status) == (4096, "healthy")
        with pytest.raises(NotFoundError):
            workers.api.report_heartbeat(agents[1].node_id, beat)


def test_asyncio_has_the_same(ada: Workers) -> None:
    async def look() -> tuple[str, set[str]]:
        both = AsyncWorkers(ada)
        me = await both.api.my_account()
        return me.name, {node.node_name async for node in both.api.list_nodes()}

    assert asyncio.run(look()) == (ada.api.my_account().name, {*NODES})


def test_errors_are_devctls_own(ada: Workers, as_user: Callable[[str], Workers]) -> None:
    job_id = ada.jobs.submit(NOWHERE).job_id
    with as_user("bob") as bob, pytest.raises(NotFoundError, match=job_id):
        bob.jobs.get(job_id)
    ada.jobs.cancel(job_id)
    with pytest.raises(UsageError, match="docker_image"):
        ada.jobs.submit(NewWorkerJob("a/UPPER", "A job"))


def test_the_commands_speak_to_it(
    gateway: GatewayProcess, as_user: Callable[[str], Workers]
) -> None:
    as_user("eve").close()
    own = {"DEVCTL_WORKERS_URL": url(gateway)}
    own |= {"DEVCTL_WORKERS_TOKEN": signed(claims(sub="eve", groups=[])), "KUBECONFIG": "/none"}

    def devctl(*line: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "devctl", "workers", *line]
        return subprocess.run(
            command, env=os.environ | own, capture_output=True, text=True, check=False
        )

    submitted = devctl("submit", "localhost/any:1", "--gpu-memory", "64Gi", "-o", "name")
    assert submitted.returncode == 0, submitted.stderr
    job_id = submitted.stdout.strip().removeprefix("workerjob/")
    assert json.loads(devctl("show", job_id, "-o", "json").stdout)["gpu_memory_required"] == 65536
    fits = devctl("nodes", "--gpu-memory", "64Gi")
    assert (fits.returncode, "fits nowhere now" in fits.stderr) == (3, True)
    assert devctl("cost", job_id).stdout == "until now: 0.00 USD\n"
    assert devctl("cancel", job_id).stdout == f"workerjob/{job_id} cancelled\n"
    wait_until(
        lambda: devctl("show", job_id, "-o", "jsonpath={.state}").stdout == "cancelled",
        lambda: devctl("show", job_id).stdout,
    )
