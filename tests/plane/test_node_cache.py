"""Who may say what a node's cache has: the agent that runs on it, and nobody else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from devctl_cache_agent.agent import Board
from devctl_cache_agent.api import ApiError, ApiServer
from devctl_cache_agent.status import READY, Entry, stamped
from support.asked import create, label, patch
from support.plane.content import NODES
from support.plane.kept import KeptObserver
from support.plane.namespaces import ADDRESS
from support.plane.optional_part import installed_part
from support.plane.pki import PORT
from support.plane.tokens import write_account
from support.servers import wait_until
from support.tenants import ALICE, OBSERVER, OPERATOR, allowed, refusal
from support.vllm_runs import Run, offered

from devctl.api.applied import APPLIED
from devctl.api.conditions import find
from devctl.api.node_cache import (
    AGENT,
    AGENT_NAMESPACE,
    API_VERSION,
    CONTROLLER,
    KIND,
    PLAN_PLURAL,
    PLURAL,
    PREFIX,
    label_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

pytestmark = pytest.mark.usefixtures("part")

GROUP = API_VERSION.partition("/")[0]
RESOURCE = f"{PLURAL}.{GROUP}"
ACCOUNT = f"system:serviceaccount:{AGENT_NAMESPACE}:{AGENT}"
CONTROLLER_ACCOUNT = f"system:serviceaccount:{AGENT_NAMESPACE}:{CONTROLLER}"
HERE, THERE = NODES
ITEMS = [
    {"type": "image", "name": "vllm", "image": {"ref": "registry.example/vllm:1"}},
    {"type": "gitRepo", "name": "vllm", "gitRepo": {"url": "https://git.example/vllm.git"}},
    {"type": "model", "name": "opt", "model": {"repoId": "facebook/opt-125m"}},
]


@pytest.fixture(scope="module")
def part(
    kubectl: Kubectl,
    tmp_path_factory: pytest.TempPathFactory,
    installed: object,  # noqa: ARG001 - it comes first
) -> Iterator[None]:
    """The local cluster's part, but for its pods."""
    with installed_part(kubectl, tmp_path_factory.mktemp("part"), "cache"):
        account = ("serviceaccount", AGENT, AGENT_NAMESPACE)
        wait_until(lambda: kubectl.api.get(*account) is not None, "the account is there")
        wait_until(lambda: is_bound(kubectl), "the policies are in force")
        yield
        kubectl("delete", RESOURCE, "--all")


def is_bound(kubectl: Kubectl) -> bool:
    """Whether the API server knows what agents and the controller may not do."""
    foreign = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": THERE}}
    labelled = label(f"node/{HERE}", "a=b", dry=True)
    return "that node only" in refusal(
        kubectl, ACCOUNT, create(foreign, dry=True)
    ) and "nothing else" in refusal(kubectl, CONTROLLER_ACCOUNT, labelled)


@pytest.fixture(scope="module")
def server(
    kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory, part: None
) -> Callable[..., ApiServer]:
    """Makes connections with a token of the agent's account."""
    assert part is None

    def connect(*bound: str) -> ApiServer:
        folder = tmp_path_factory.mktemp("account")
        write_account(kubectl, folder, AGENT, AGENT_NAMESPACE, *bound)
        return ApiServer(ADDRESS, PORT, folder)

    return connect


@pytest.fixture(scope="module")
def own(kubectl: Kubectl, server: Callable[..., ApiServer]) -> Iterator[ApiServer]:
    """The connection of the agent on the first node."""
    name = "cache-agent-test"
    spec = {
        "nodeName": HERE,
        "serviceAccountName": AGENT,
        "containers": [{"name": "main", "image": "none:1"}],
    }
    metadata = {"name": name, "namespace": AGENT_NAMESPACE}
    kubectl.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    yield server("--bound-object-kind=Pod", f"--bound-object-name={name}")
    kubectl("delete", "pod", name, "-n", AGENT_NAMESPACE, "--grace-period=0", "--force")


def full() -> dict[str, Any]:
    """All fields of a status, with the longest values."""
    board = Board()
    items = [{**ITEMS[0], "name": f"i{number:03}"} for number in range(300)] + ITEMS[1:]
    for item in board.want({"spec": {"items": items}}, {}):
        board.tell(item, Entry(READY, True, "é" * 9999, 100, 1 << 62))  # noqa: FBT003
    board.tell_errors("x", [f"{number}{'y' * 600}" for number in range(40)])
    return stamped(board.content(), datetime.now(UTC))


def test_an_agent_creates_and_writes_its_own_nodes_report_in_the_bounds_of_the_kind(
    kubectl: Kubectl, own: ApiServer
) -> None:
    node = own.node(HERE)
    own.report(node, full())
    own.report(node, {"images": [], "gitRepos": [], "models": [], "errors": []})
    own.report(node, full())
    found = json.loads(kubectl("get", f"{RESOURCE}/{HERE}", "-o", "json"))
    assert len(found["status"]["images"]) == 256
    assert len(found["status"]["errors"]) == 16
    (owner,) = found["metadata"]["ownerReferences"]
    assert owner["uid"] == node["metadata"]["uid"], "it goes with its node"


def test_an_agent_writes_no_other_nodes_report(own: ApiServer) -> None:
    said = f"this agent runs on node `{HERE}` and reports about that node only"
    with pytest.raises(ApiError, match=said):
        own.report(own.node(THERE), {"errors": []})


def test_a_token_without_a_node_reports_nothing(server: Callable[..., ApiServer]) -> None:
    loose = server()
    with pytest.raises(ApiError, match="reports about that node only"):
        loose.report(loose.node(HERE), {"errors": []})


def test_an_agent_sees_the_plan_and_that_it_changes(kubectl: Kubectl, own: ApiServer) -> None:
    thing = {"apiVersion": API_VERSION, "kind": "CachePlan", "metadata": {"name": "default"}}
    kubectl.api.apply({**thing, "spec": {"items": ITEMS}})
    plan, version = own.plan()
    board = Board()
    assert len(board.want(plan, {})) == len(ITEMS)
    kubectl.api.apply({**thing, "spec": {"items": ITEMS[:1]}})
    own.wait_for_plan(version, 60)
    assert len(board.want(own.plan()[0], {})) == 1
    kubectl("delete", f"{PLAN_PLURAL}.{GROUP}", "default")
    assert own.plan()[0] is None


@pytest.mark.parametrize("account", [ALICE, OPERATOR, OBSERVER])
def test_nobody_else_writes_reports_and_all_may_read_them(kubectl: Kubectl, account: str) -> None:
    for verb in ("patch", "update"):
        assert not allowed(kubectl, account, verb, RESOURCE, sub="status")
    for verb in ("create", "patch", "delete"):
        assert not allowed(kubectl, account, verb, RESOURCE)
    assert allowed(kubectl, account, "list", RESOURCE)


@pytest.mark.parametrize(
    ("verb", "what", "options"),
    [
        ("delete", RESOURCE, {}),
        ("patch", RESOURCE, {}),
        ("update", RESOURCE, {"sub": "status"}),
        ("patch", f"{PLAN_PLURAL}.{GROUP}", {}),
        ("list", "nodes", {}),
        ("patch", "nodes", {}),
        ("list", "pods", {"namespace": ""}),
        ("get", "secrets", {"namespace": AGENT_NAMESPACE}),
        ("create", "serviceaccounts", {"sub": "token", "namespace": AGENT_NAMESPACE}),
    ],
    ids=str,
)
def test_an_agent_may_do_nothing_else(
    kubectl: Kubectl, verb: str, what: str, options: dict[str, str]
) -> None:
    assert not allowed(kubectl, ACCOUNT, verb, what, **options)


@pytest.fixture(scope="module")
def controller(plane: Plane, part: None) -> Iterator[KeptObserver]:
    """The writer of labels, as its Deployment starts it."""
    assert part is None
    process = KeptObserver(
        plane.account(CONTROLLER, AGENT_NAMESPACE),
        plane.folder,
        CONTROLLER,
        6795,
        more={
            "POD_NAMESPACE": AGENT_NAMESPACE,
            "DEVCTL_OBSERVER_KIND": "node_cache",
            "DEVCTL_OBSERVER_LEASE": CONTROLLER,
        },
    )
    process.start()
    yield process
    process.stop()


def labels(kubectl: Kubectl, node: str = HERE) -> set[str]:
    """What a node says that its cache has."""
    found = kubectl.api.get("node", node)
    assert found
    return {
        key.removeprefix(PREFIX)
        for key, value in found["metadata"]["labels"].items()
        if key.startswith(PREFIX) and value == "ready"
    }


def entry(name: str, status: str = "ready") -> dict[str, Any]:
    return {"name": name, "status": status, "present": status == "ready", "message": ""}


@pytest.mark.usefixtures("controller")
def test_labels_follow_the_report_and_leave_the_others_alone(
    kubectl: Kubectl, own: ApiServer
) -> None:
    kubectl("label", "node", HERE, "mine=1", f"{PREFIX}git.stale=ready")
    node, long = own.node(HERE), "m" * 99
    report: dict[str, Any] = {"gitRepos": [], "errors": []}
    images = [entry("vllm"), entry("late", "pulling")]
    own.report(node, report | {"images": images, "models": [entry(long), entry("opt")]})
    wanted = {"image.vllm", "model.opt", label_of("model", long).removeprefix(PREFIX)}
    wait_until(lambda: labels(kubectl) == wanted, lambda: f"labels are {labels(kubectl)}")
    # Somebody else's hand is corrected.
    kubectl("label", "node", HERE, f"{PREFIX}image.vllm-", f"{PREFIX}image.no=ready")
    wait_until(lambda: labels(kubectl) == wanted, lambda: f"labels are {labels(kubectl)}")
    own.report(node, report | {"images": [entry("vllm", "failed")], "models": [entry("opt")]})
    wait_until(lambda: labels(kubectl) == {"model.opt"}, lambda: f"labels are {labels(kubectl)}")
    kubectl("delete", RESOURCE, HERE)
    wait_until(lambda: not labels(kubectl), lambda: f"labels are {labels(kubectl)}")
    found = kubectl.api.get("node", HERE)
    assert found
    assert found["metadata"]["labels"]["mine"] == "1"
    assert labels(kubectl, THERE) == set()
    kubectl("label", "node", HERE, "mine-")


@pytest.mark.usefixtures("controller")
def test_pods_go_where_their_image_is(
    kubectl: Kubectl, own: ApiServer, deployed: Plane, namespace: str
) -> None:
    assert deployed.observer.is_running
    plan = {"apiVersion": API_VERSION, "kind": "CachePlan", "metadata": {"name": "default"}}
    image = {"type": "image", "name": "cached", "image": {"ref": "localhost/cached:1"}}
    kubectl.api.apply({**plan, "spec": {"items": [image]}})
    own.report(own.node(HERE), {"images": [entry("cached")], "errors": []})
    wait_until(lambda: labels(kubectl) == {"image.cached"}, "the node is labelled")
    flavor = "cached-here"
    kubectl.api.apply(
        {
            "apiVersion": "devops.yourcompany.com/v1",
            "kind": "DevServerFlavor",
            "metadata": {"name": flavor},
            "spec": {"resources": {"requests": {"cpu": "10m", "memory": "8Mi"}}},
        }
    )
    name = "cached"
    server: dict[str, Any] = {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServer",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"flavor": flavor, "image": "localhost/cached:1", "owner": "alice@company.com"},
    }
    kubectl.api.apply(server)
    wait_until(lambda: node_of(kubectl, name, namespace) == HERE, "its pod is on that node")
    before = kubectl.api.get("pod", f"{name}-0", namespace)
    assert before
    assert f"{PREFIX}image.cached" in json.dumps(before["spec"]["affinity"])
    sets = kubectl.api.get("statefulset", name, namespace)
    wait_until(lambda: is_running(kubectl, name, namespace), "it runs")
    # Without the plan, the role of the running server changes nothing.
    kubectl("delete", f"{PLAN_PLURAL}.{GROUP}", "default")
    server["spec"]["lifecycle"] = {"autoShutdown": False}
    kubectl.api.apply(server)
    wait_until(lambda: is_applied(kubectl, name, namespace, 2), "its role has run again")
    after = kubectl.api.get("statefulset", name, namespace)
    assert sets
    assert after
    assert after["spec"]["template"] == sets["spec"]["template"]
    now = kubectl.api.get("pod", f"{name}-0", namespace)
    assert now
    assert now["metadata"]["uid"] == before["metadata"]["uid"]
    kubectl("delete", "devserverflavor", flavor)


@pytest.mark.usefixtures("controller", "deployed")
def test_a_run_goes_where_its_image_is_and_says_what_that_saved(
    kubectl: Kubectl, own: ApiServer, namespace: str
) -> None:
    plan = {"apiVersion": API_VERSION, "kind": "CachePlan", "metadata": {"name": "default"}}
    image = {"type": "image", "name": "cached", "image": {"ref": "localhost/cached:1"}}
    repo = {"type": "gitRepo", "name": "main", "gitRepo": {"url": "https://git.example/vllm"}}
    kubectl.api.apply({**plan, "spec": {"items": [image, repo]}})
    node = own.node(HERE)
    own.report(node, {"images": [entry("cached") | {"fetchSeconds": 42}], "errors": []})
    wait_until(lambda: labels(kubectl) == {"image.cached"}, "the node is labelled")
    with offered(kubectl.api, {HERE: 2, THERE: 2}):
        run = Run(kubectl.api, namespace, "cached")
        run.apply(imageName="cached", repoName="main", port=0)
        running = run.wait("Running")
        assert running["node"] == HERE
        assert running["cache"] == {"image": "ready", "repository": "absent", "savedSeconds": 42}
        own.report(node, {"images": [], "gitRepos": [entry("main")], "errors": []})
        wait_until(lambda: labels(kubectl) == {"git.main"}, "the node is labelled anew")
        run.end()
        assert run.wait("Succeeded")["cache"] == running["cache"]
        run.delete()
    kubectl("delete", f"{PLAN_PLURAL}.{GROUP}", "default")


def node_of(kubectl: Kubectl, name: str, namespace: str) -> str:
    pod = kubectl.api.get("pod", f"{name}-0", namespace)
    return str(pod["spec"].get("nodeName", "")) if pod else ""


def is_running(kubectl: Kubectl, name: str, namespace: str) -> bool:
    server = kubectl.api.get("devserver", name, namespace)
    return bool(server) and server is not None and server["status"].get("phase") == "Running"


def is_applied(kubectl: Kubectl, name: str, namespace: str, generation: int) -> bool:
    server = kubectl.api.get("devserver", name, namespace) or {}
    found = find(server.get("status", {}), APPLIED)
    return found.get("status") == "True" and found.get("observedGeneration", 0) >= generation


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"mine": "1"}}},
        {"metadata": {"labels": {"kubernetes.io/os": None}}},
        {"metadata": {"labels": {"cache.canhazgpu.dev.example/image.x": "ready"}}},
        {"metadata": {"labels": {f"{PREFIX}image.x": "soon"}}},
        {"metadata": {"annotations": {f"{PREFIX}image.x": "ready"}}},
        {"metadata": {"finalizers": ["example.com/x"]}},
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}},
        {"metadata": {"labels": {f"{PREFIX}image.x": "ready"}}, "spec": {"unschedulable": True}},
    ],
    ids=str,
)
def test_the_controller_changes_nothing_else_of_a_node(
    kubectl: Kubectl, change: dict[str, Any]
) -> None:
    asked = patch(f"node/{HERE}", change, dry=True)
    assert "and nothing else" in refusal(kubectl, CONTROLLER_ACCOUNT, asked)
    # The administrator may, so that it is no fault of the change itself.
    assert refusal(kubectl, "admin", asked, "system:masters") == ""


def test_the_controller_writes_its_labels_and_removes_them(kubectl: Kubectl) -> None:
    for value in ("ready", None):
        change = {"metadata": {"labels": {f"{PREFIX}image.x": value}}}
        asked = patch(f"node/{HERE}", change, dry=True)
        assert refusal(kubectl, CONTROLLER_ACCOUNT, asked) == ""


@pytest.mark.parametrize(
    ("verb", "what", "options"),
    [
        ("patch", RESOURCE, {}),
        ("patch", RESOURCE, {"sub": "status"}),
        ("patch", "nodes", {"sub": "status"}),
        ("update", "nodes", {}),
        ("delete", "nodes", {}),
        ("create", "nodes", {}),
        ("list", "pods", {"namespace": ""}),
        ("get", "secrets", {"namespace": AGENT_NAMESPACE}),
        ("update", "leases/other", {"namespace": AGENT_NAMESPACE}),
        ("create", "leases", {"namespace": "devctl-system"}),
    ],
    ids=str,
)
def test_the_controller_may_do_nothing_else(
    kubectl: Kubectl, verb: str, what: str, options: dict[str, str]
) -> None:
    assert not allowed(kubectl, CONTROLLER_ACCOUNT, verb, what, **options)
