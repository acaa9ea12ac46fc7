"""GPUs by claim, without containers: who may offer them, and what the scheduler makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin import slices
from devctl_dra_plugin.api import ApiError, ApiServer
from devctl_dra_plugin.claims import Claims
from devctl_dra_plugin.devices import made_up
from devctl_dra_plugin.messages import ClaimRef
from devctl_dra_plugin.names import AGENT, DRIVER
from devctl_dra_plugin.publisher import publish, read_node
from devctl_dra_plugin.reservations import NOTHING, View
from support.asked import create
from support.plane.content import NODES
from support.plane.namespaces import ADDRESS
from support.plane.optional_part import installed_part
from support.plane.pki import PORT
from support.plane.tokens import write_account
from support.servers import wait_until
from support.tenants import refusal

from devctl.local.part_manifests import password_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from devctl_dra_plugin.devices import Device
    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("part")

Thing = dict[str, Any]
SYSTEM = "canhazgpu-system"
HERE, THERE = NODES
DEVICES = made_up(HERE, 4)
RESOURCE = f"{DRIVER}/gpu"


@pytest.fixture(scope="module")
def part(
    kubectl: Kubectl,
    tmp_path_factory: pytest.TempPathFactory,
    installed: object,  # noqa: ARG001 - it comes first
) -> Iterator[None]:
    """The local cluster's part, but for its pods."""
    folder = tmp_path_factory.mktemp("part")
    with installed_part(kubectl, folder, "dra", [password_secret(folder)]):
        account = ("serviceaccount", AGENT, SYSTEM)
        wait_until(lambda: kubectl.api.get(*account) is not None, "the account is there")
        wait_until(lambda: is_bound(kubectl), "the policy is in force")
        yield
        kubectl("delete", "resourceslice", "--all")


def is_bound(kubectl: Kubectl) -> bool:
    """Whether the API server knows that a plugin offers the GPUs of its own node only."""
    foreign = slices.new_slice(THERE, "u", slices.spec(THERE, []))
    account = f"system:serviceaccount:{SYSTEM}:{AGENT}"
    said = refusal(kubectl, account, create(foreign, dry=True))
    return "offers the GPUs of that node only" in said


@pytest.fixture(scope="module")
def server(
    kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory, part: None
) -> Callable[..., ApiServer]:
    """Makes connections with a token of the plugin's account."""
    assert part is None

    def connect(*bound: str) -> ApiServer:
        folder = tmp_path_factory.mktemp("account")
        write_account(kubectl, folder, AGENT, SYSTEM, *bound)
        return ApiServer(ADDRESS, PORT, folder)

    return connect


@pytest.fixture(scope="module")
def own(kubectl: Kubectl, server: Callable[..., ApiServer]) -> Iterator[ApiServer]:
    """The connection of the plugin on the first node."""
    spec = {
        "nodeName": HERE,
        "serviceAccountName": AGENT,
        "containers": [{"name": "main", "image": "none:1"}],
    }
    name = "plugin-test"
    metadata = {"name": name, "namespace": SYSTEM}
    kubectl.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    yield server("--bound-object-kind=Pod", f"--bound-object-name={name}")
    kubectl("delete", "pod", name, "-n", SYSTEM, "--grace-period=0", "--force")


@pytest.fixture
def offered(own: ApiServer) -> ApiServer:
    """The first node's four GPUs are offered."""
    offer(own, DEVICES)
    return own


def offer(api: ApiServer, devices: list[Device], view: View = NOTHING) -> None:
    """Offer them on the first node, until there is nothing left to write."""

    def is_settled() -> bool:
        try:
            return not publish(api, read_node(api, HERE), devices, view)
        except ApiError:
            return False  # it has read from a cache that was late

    wait_until(is_settled, "they are offered")


def test_a_plugin_offers_the_gpus_of_its_own_node_and_of_no_other(
    kubectl: Kubectl, offered: ApiServer
) -> None:
    found = kubectl.api.get("resourceslice", slices.slice_name(HERE))
    assert found
    assert found["metadata"]["ownerReferences"][0]["name"] == HERE
    said = f"this plugin runs on node `{HERE}` and offers the GPUs of that node only"
    with pytest.raises(ApiError, match=said):
        publish(offered, read_node(offered, THERE), made_up(THERE, 1))
    foreign = slices.new_slice(HERE, found["metadata"]["uid"], slices.spec(HERE, DEVICES))
    foreign["metadata"] = {"name": "foreign"}
    foreign["spec"] |= {"driver": "gpu.example.com"}
    with pytest.raises(ApiError, match=said):
        offered.create(slices.PATH, foreign)


def test_a_token_without_a_node_offers_nothing(server: Callable[..., ApiServer]) -> None:
    loose = server()
    with pytest.raises(ApiError, match="offers the GPUs of that node only"):
        loose.create(slices.PATH, slices.new_slice(THERE, "u", slices.spec(THERE, [])))


def test_what_has_not_changed_is_not_written(kubectl: Kubectl, offered: ApiServer) -> None:
    node = read_node(offered, HERE)
    sick = [replace(DEVICES[0], problem="lost"), *DEVICES[1:]]
    assert publish(offered, node, sick)
    # The API server has added when that was.
    offer(offered, sick)
    found = kubectl.api.get("resourceslice", slices.slice_name(HERE))
    assert found
    assert "timeAdded" in found["spec"]["devices"][0]["taints"][0]
    assert not publish(offered, node, sick)


def pod(namespace: str, name: str, container: Thing, **spec: Any) -> Thing:
    main = {"name": "main", "image": "none:1"} | container
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [main]} | spec,
    }


def allocated(kubectl: Kubectl, namespace: str) -> dict[str, list[str]]:
    """The devices of each claim."""
    return {
        claim["metadata"]["name"]: sorted(
            each["device"] for each in claim["status"]["allocation"]["devices"]["results"]
        )
        for claim in kubectl.api.list("resourceclaim", namespace)
        if "allocation" in claim.get("status", {})
    }


def test_an_index_is_chosen_and_handed_out(
    kubectl: Kubectl, offered: ApiServer, namespace: str, tmp_path: Path
) -> None:
    chosen = f"device.attributes['{DRIVER}'].index == 2"
    exactly = {"deviceClassName": DRIVER, "selectors": [{"cel": {"expression": chosen}}]}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "mine", "namespace": namespace},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }
    made = kubectl.api.create(claim)
    uses = {"resources": {"claims": [{"name": "gpu"}]}}
    claims = [{"name": "gpu", "resourceClaimName": "mine"}]
    kubectl.api.create(pod(namespace, "user", uses, resourceClaims=claims))
    wait_until(lambda: allocated(kubectl, namespace) == {"mine": ["gpu-2"]}, "it is allocated")

    (tmp_path / "cdi").mkdir()
    plugin = Claims(HERE, offered, tmp_path / "checkpoint.json", tmp_path / "cdi")
    plugin.know(DEVICES)
    wanted = ClaimRef(namespace, made["metadata"]["uid"], "mine")
    (answer,) = plugin.prepare([wanted]).values()
    assert [each.device for each in answer.devices] == ["gpu-2"]
    # A node that has lost everything finds it again.
    for file in (tmp_path / "checkpoint.json", *(tmp_path / "cdi").iterdir()):
        file.unlink()
    plugin = Claims(HERE, offered, tmp_path / "checkpoint.json", tmp_path / "cdi")
    plugin.know(DEVICES)
    plugin.complete()
    assert len(list((tmp_path / "cdi").iterdir())) == 1
    kubectl("-n", namespace, "delete", "pod", "user", "--grace-period=0", "--force")


def test_a_gpu_that_the_host_has_reserved_is_given_to_nobody_new(
    kubectl: Kubectl, own: ApiServer, namespace: str
) -> None:
    offer(own, DEVICES, View({0: "alice", 1: "Ann Example (root)"}))
    found = kubectl.api.get("resourceslice", slices.slice_name(HERE))
    assert found
    taints = [each.get("taints", [{}])[0].get("value") for each in found["spec"]["devices"]]
    assert taints == ["alice", "Ann-Example-root", None, None]
    kubectl.api.create(pod(namespace, "two", {"resources": {"limits": {RESOURCE: "2"}}}))
    wait_until(
        lambda: list(allocated(kubectl, namespace).values()) == [["gpu-2", "gpu-3"]],
        "others are allocated",
    )
    kubectl.api.create(pod(namespace, "late", {"resources": {"limits": {RESOURCE: "1"}}}))
    wait_until(lambda: waits(kubectl, namespace, "late"), "the others are reserved")
    offer(own, DEVICES)
    wait_until(lambda: len(allocated(kubectl, namespace)) == 2, "one was released")
    kubectl("-n", namespace, "delete", "pod", "--all", "--grace-period=0", "--force")


def test_while_reservations_are_unknown_nobody_new_gets_a_gpu(
    kubectl: Kubectl, own: ApiServer, namespace: str
) -> None:
    offer(own, DEVICES, View(problem="Redis: away"))
    kubectl.api.create(pod(namespace, "late", {"resources": {"limits": {RESOURCE: "1"}}}))
    wait_until(lambda: waits(kubectl, namespace, "late"), "nobody knows")
    offer(own, DEVICES)
    wait_until(lambda: len(allocated(kubectl, namespace)) == 1, "somebody does")
    kubectl("-n", namespace, "delete", "pod", "--all", "--grace-period=0", "--force")


def waits(kubectl: Kubectl, namespace: str, name: str) -> bool:
    """Whether the scheduler has found no node for a pod."""
    (found,) = kubectl.api.list("pod", namespace, fields=f"metadata.name={name}")
    conditions = found.get("status", {}).get("conditions", [])
    return any(each.get("reason") == "Unschedulable" for each in conditions)


def test_limits_alone_are_enough_and_unhealthy_gpus_are_left_out(
    kubectl: Kubectl, own: ApiServer, namespace: str
) -> None:
    offer(own, [replace(DEVICES[0], problem="lost"), *DEVICES[1:]])
    for name, count in (("three", 3), ("one", 1)):
        limits = {"resources": {"limits": {RESOURCE: str(count)}}}
        kubectl.api.create(pod(namespace, name, limits))
        if name == "three":
            wait_until(lambda: bool(allocated(kubectl, namespace)), "it is allocated")
    (devices,) = allocated(kubectl, namespace).values()
    assert devices == ["gpu-1", "gpu-2", "gpu-3"]
    wait_until(lambda: waits(kubectl, namespace, "one"), "the last one has a problem")
    offer(own, DEVICES)
    wait_until(lambda: ["gpu-0"] in allocated(kubectl, namespace).values(), "it is well again")
    kubectl("-n", namespace, "delete", "pod", "--all", "--grace-period=0", "--force")
