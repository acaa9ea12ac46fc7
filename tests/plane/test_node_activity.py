"""Who may report a node's activity: the agent that runs on it, and nobody else."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from devctl_node_agent.agent import Agent
from devctl_node_agent.api import ApiServer, ReportError
from devctl_node_agent.notices import Notices
from devctl_node_agent.sample import Counters, Sample
from devctl_node_agent.schedule import Answer
from support.plane.content import NODES
from support.plane.namespaces import ADDRESS
from support.plane.pki import PORT
from support.servers import wait_until
from support.tenants import ALICE, OBSERVER, OPERATOR, allowed

from devctl.api.node_activity import AGENT, AGENT_NAMESPACE, API_VERSION, KIND, PLURAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("enforced")

ACCOUNT = f"system:serviceaccount:{AGENT_NAMESPACE}:{AGENT}"
HERE, THERE = NODES
STATUS = {"instance": "test", "sequence": 1, "reportedAt": "2026-11-25T08:00:00Z", "pods": []}
RESOURCE = f"{PLURAL}.{API_VERSION.partition('/')[0]}"


@pytest.fixture(scope="module")
def objects(kubectl: Kubectl, installed: object) -> None:  # noqa: ARG001 - it comes first
    """What the observer creates for each node."""
    for node in NODES:
        manifest: dict[str, Any] = {"metadata": {"name": node}, "spec": {"pods": []}}
        text = json.dumps({"apiVersion": API_VERSION, "kind": KIND, **manifest})
        kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)


@pytest.fixture(scope="module")
def pod(kubectl: Kubectl, objects: None) -> Iterator[str]:  # noqa: ARG001
    """The name of a pod of the agent's on the first node."""
    name = "agent-test"
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": AGENT_NAMESPACE},
        "spec": {
            "nodeName": HERE,
            "serviceAccountName": AGENT,
            "containers": [{"name": "main", "image": "none:1"}],
        },
    }
    account = ("serviceaccount", AGENT, AGENT_NAMESPACE)
    wait_until(lambda: kubectl.api.get(*account) is not None, "the account is there")
    kubectl("create", "-f", "-", input=json.dumps(manifest))
    yield name
    kubectl("delete", "pod", name, "-n", AGENT_NAMESPACE, "--grace-period=0", "--force")


def api_server(kubectl: Kubectl, folder: Path, *bound: str) -> ApiServer:
    """The agent's connection, with a token of its account."""
    token = kubectl("create", "token", AGENT, "-n", AGENT_NAMESPACE, *bound)
    cluster = yaml.safe_load(kubectl.kubeconfig.read_text())["clusters"][0]["cluster"]
    (folder / "token").write_text(token)
    (folder / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    return ApiServer(ADDRESS, PORT, folder)


@pytest.fixture
def own(kubectl: Kubectl, pod: str, tmp_path: Path) -> ApiServer:
    """The connection of the agent on the first node."""
    (tmp_path / "own").mkdir()
    bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod}")
    return api_server(kubectl, tmp_path / "own", *bound)


def read(kubectl: Kubectl, node: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kubectl("get", f"{RESOURCE}/{node}", "-o", "json"))
    return found


def test_an_agent_reports_about_its_own_node_and_no_other(kubectl: Kubectl, own: ApiServer) -> None:
    answer = own.report(HERE, STATUS)
    assert answer["status"]["instance"] == "test"
    assert read(kubectl, HERE)["status"]["sequence"] == 1
    said = f"this agent runs on node `{HERE}` and reports about that node only"
    with pytest.raises(ReportError, match=said):
        own.report(THERE, STATUS)
    assert "status" not in read(kubectl, THERE) or (
        read(kubectl, THERE)["status"].get("instance") != "test"
    )


@pytest.mark.usefixtures("objects")
def test_a_token_without_a_node_reports_nothing(
    kubectl: Kubectl,
    tmp_path: Path,
) -> None:
    loose = api_server(kubectl, tmp_path)
    with pytest.raises(ReportError, match="reports about that node only"):
        loose.report(HERE, STATUS)


def test_a_node_without_an_object_is_tried_again(own: ApiServer) -> None:
    with pytest.raises(ReportError) as raised:
        own.report("no-such-node", STATUS)
    assert raised.value.answer is Answer.ABSENT


def test_what_the_agent_reports_fits_the_schema(kubectl: Kubectl, own: ApiServer) -> None:
    class One:
        def look(self, now: float) -> Mapping[str, Sample]:
            sample = Sample(Counters(now), working=("python (pid 7)",), problem="")
            return {"0f2c3a1e-0000-4000-8000-000000000001": sample}

    agent = Agent(
        HERE,
        "run",
        sampler=One(),
        api=own,
        notices=Notices(lambda _place, numbers, _line: set(numbers)),
        clock=lambda: 100.0,
        random=lambda: 0.5,
    )
    agent.step()
    assert agent.is_ready
    (pod,) = read(kubectl, HERE)["status"]["pods"]
    assert pod["idleSeconds"] == 0
    assert [signal["type"] for signal in pod["signals"]] == [
        "CPU",
        "Disk",
        "Network",
        "Process",
        "Terminal",
    ]


@pytest.mark.usefixtures("objects")
@pytest.mark.parametrize("account", [ALICE, OPERATOR])
def test_nobody_else_may_report(kubectl: Kubectl, account: str) -> None:
    for verb in ("patch", "update"):
        assert not allowed(kubectl, account, verb, f"{RESOURCE}/{HERE}", sub="status")
        assert not allowed(kubectl, account, verb, f"{RESOURCE}/{HERE}")
    assert not allowed(kubectl, account, "create", RESOURCE)
    assert not allowed(kubectl, OBSERVER, "patch", RESOURCE, sub="status")


def test_no_role_for_people_reaches_a_nodes_activity(kubectl: Kubectl) -> None:
    roles = json.loads(kubectl("get", "clusterroles", "-o", "json"))["items"]
    reaching = {
        role["metadata"]["name"]
        for role in roles
        for rule in role["rules"] or []
        if any(each.partition("/")[0] == PLURAL for each in rule.get("resources", []))
        and set(rule["verbs"]) & {"create", "update", "patch", "delete", "*"}
    }
    assert AGENT in reaching
    assert not reaching & {"devctl-user", "devctl-job-user"}


@pytest.mark.usefixtures("objects")
@pytest.mark.parametrize(
    ("verb", "what", "options"),
    [
        ("get", RESOURCE, {}),
        ("list", RESOURCE, {}),
        ("patch", RESOURCE, {}),
        ("create", RESOURCE, {}),
        ("delete", RESOURCE, {}),
        ("update", RESOURCE, {"sub": "status"}),
        ("list", "pods", {"namespace": ""}),
        ("get", "nodes", {}),
        ("get", "secrets", {"namespace": AGENT_NAMESPACE}),
        ("create", "serviceaccounts", {"sub": "token", "namespace": AGENT_NAMESPACE}),
        ("patch", "devservers.devops.yourcompany.com", {"namespace": ""}),
    ],
    ids=str,
)
def test_an_agent_may_do_nothing_else(
    kubectl: Kubectl,
    verb: str,
    what: str,
    options: dict[str, str],
) -> None:
    assert allowed(kubectl, ACCOUNT, "patch", RESOURCE, sub="status")
    assert not allowed(kubectl, ACCOUNT, verb, what, **options)
