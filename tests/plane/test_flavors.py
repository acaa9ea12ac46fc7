"""Flavors: the default one, two of them at once, what nodes could hold of one, and still can."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.servers import SMALL, apply_flavor, succeeds, wait_until
from support.tenants import ADMINISTRATOR, Tenants, server

from devctl.api.vllm_run import DRIVER, RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.user_place import UserPlace


# A default flavor is everybody's.
pytestmark = pytest.mark.exclusive


@pytest.fixture
def flavors(place: UserPlace, kubectl: Kubectl) -> Iterator[tuple[str, str]]:
    """The names of two flavors that the test makes."""
    names = (f"{place.name}-one", f"{place.name}-two")
    yield names
    kubectl("-n", place.name, "delete", "devserver", "--all")
    kubectl("delete", "devserverflavor", *names, "--ignore-not-found")


@pytest.fixture
def device(place: UserPlace, kubectl: Kubectl) -> Iterator[str]:
    """A device of which one node has three, and which nobody else asks for."""
    name = f"{place.name}.test/device"
    node = kubectl("get", "nodes", "-o", "name").split()[-1]

    def has(count: str | None) -> None:
        amounts = {part: {name: count} for part in ("capacity", "allocatable")}
        patch = json.dumps({"status": amounts})
        kubectl("patch", node, "--subresource=status", "--type=merge", "-p", patch)

    has("3")
    yield name
    has(None)


@pytest.fixture
def claimed(place: UserPlace, kubectl: Kubectl) -> Iterator[str]:
    """A resource of which one node offers three by claim, and which nobody else asks for."""
    resource = f"{place.name}.test/gpu"
    node = kubectl("get", "nodes", "-o", "name").split()[-1].removeprefix("node/")
    kubectl.api.apply(device_class(place.name, resource))
    kubectl.api.apply(gpu_slice(place.name, node))
    yield resource
    kubectl("delete", "resourceslice", place.name)
    kubectl("delete", "deviceclass", place.name)


def device_class(name: str, resource: str) -> dict[str, Any]:
    """All GPUs of our driver, as a resource."""
    about = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}}
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    return {**about, "spec": {"selectors": [selector], "extendedResourceName": resource}}


def gpu_slice(name: str, node: str, reserved: tuple[int, ...] = ()) -> dict[str, Any]:
    """Three GPUs of a node, some of them reserved on their host."""
    about = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    taint = {"key": RESERVED, "value": "alice", "effect": "NoSchedule"}
    devices = [
        {"name": f"gpu-{number}", **({"taints": [taint]} if number in reserved else {})}
        for number in range(3)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return {**about, "metadata": {"name": name}, "spec": spec}


def says(kubectl: Kubectl, flavor: str, kind: str, status: str) -> str | None:
    """The message of a flavor's condition once it has a status for the present spec."""
    found = json.loads(kubectl("get", "devserverflavor", flavor, "-o", "json"))
    for each in found.get("status", {}).get("conditions", []):
        current = each["observedGeneration"] == found["metadata"]["generation"]
        if (each["type"], each["status"]) == (kind, status) and current:
            return str(each["message"])
    return None


def test_who_names_no_flavor_gets_the_only_default(
    place: UserPlace, kubectl: Kubectl, flavors: tuple[str, str]
) -> None:
    one, two = flavors
    apply_flavor(kubectl, one, resources=SMALL, default=True)
    place.user.must("create", "box", "--home-size", "10Mi", "--no-wait")
    box = place.server("box")
    wait_until(lambda: bool(box.get("statefulset", "box")), "it is made")
    container = box.get("statefulset", "box")[0]["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"]["cpu"] == SMALL["requests"]["cpu"]
    assert any(
        row.split()[0] == one and " yes " in row for row in place.user.must("flavors").splitlines()
    )

    apply_flavor(kubectl, two, resources=SMALL, default=True)
    messages = [
        f"also the default: {name}; set spec.default on one flavor only" for name in flavors
    ]
    wait_until(
        lambda: [says(kubectl, n, "DefaultConflict", "True") for n in (two, one)] == messages,
        "both say so",
    )
    said = place.user.fails(2, "create", "other", "--no-wait")
    assert "error: no flavor is named, and 2 flavors are the default" in said
    found = place.user("doctor")
    assert f"`{one}` and `{two}` are all the default".encode() in found.stdout
    assert found.returncode == 1

    apply_flavor(kubectl, two, resources=SMALL, default=False)
    wait_until(lambda: says(kubectl, one, "DefaultConflict", "False") is not None, "one is left")
    place.user.must("create", "other", "--dry-run=server")


def test_a_flavor_says_whether_a_node_could_hold_it(
    kubectl: Kubectl, flavors: tuple[str, str]
) -> None:
    one, _ = flavors
    apply_flavor(kubectl, one, resources={"requests": {"cpu": "10m", "memory": "900Gi"}})
    wait_until(lambda: says(kubectl, one, "Schedulable", "False") is not None, "it is told")
    assert "memory" in (says(kubectl, one, "Schedulable", "False") or "")
    shown = ("get", "devserverflavor", one, "-o", "jsonpath={.status.schedulable}")
    assert kubectl(*shown) == "false"
    apply_flavor(kubectl, one, resources=SMALL)
    wait_until(lambda: kubectl(*shown) == "true", "a node can")


def test_who_may_only_read_flavors_sees_how_many_are_free(
    place: UserPlace, kubectl: Kubectl, flavors: tuple[str, str], device: str
) -> None:
    one, _ = flavors
    resources = {part: {**amounts, device: "1"} for part, amounts in SMALL.items()}
    apply_flavor(kubectl, one, resources=resources)

    def shows(free: int, total: int) -> bool:
        rows = [row.split() for row in place.user.must("flavors").splitlines()]
        return [one, "20m", "32Mi", str(free), str(total)] in [row[:5] for row in rows]

    wait_until(lambda: shows(3, 3), "it is counted")
    place.user.must("create", "counted", "--flavor", one, "--home-size", "10Mi", "--no-wait")
    wait_until(lambda: shows(2, 3), "one of them is in use")
    place.user.must("stop", "counted")
    wait_until(lambda: shows(3, 3), "it is free again")
    (row,) = kubectl("get", "devserverflavor", one, "--no-headers").splitlines()
    assert row.split()[3:5] == ["3", "3"]


def cordon(place: UserPlace, flavor: str, *new: str) -> str:
    """Cordon a flavor; what the API server says to a new server of it, created with options."""
    place.administrator.must("admin", "flavor", "cordon", flavor)
    command = ("create", "new", *new, "--dry-run=server")
    # The API server takes a moment to see the change.
    wait_until(lambda: place.user(*command).returncode == 5, f"{flavor} is cordoned")
    return place.user.fails(5, *command)


def uncordon(place: UserPlace, flavor: str, *new: str) -> None:
    place.administrator.must("admin", "flavor", "uncordon", flavor)
    command = ("create", "new", *new, "--dry-run=server")
    wait_until(lambda: place.user(*command).returncode == 0, f"{flavor} is uncordoned")


@pytest.mark.usefixtures("enforced")
def test_a_cordoned_flavor_takes_no_new_servers_and_keeps_those_it_has(
    place: UserPlace, kubectl: Kubectl, flavors: tuple[str, str]
) -> None:
    one, two = flavors
    for name in flavors:
        apply_flavor(kubectl, name, resources=SMALL)
    place.user.must("create", "kept", "--flavor", one, "--home-size", "10Mi", "--wait")
    place.user.must("create", "other", "--flavor", two, "--home-size", "10Mi", "--no-wait")
    assert "devserverflavors" in place.user.fails(5, "admin", "flavor", "cordon", one)
    said = cordon(place, one, "--flavor", one)
    assert f"flavor `{one}` is cordoned: it takes no new servers" in said
    assert "`devctl flavors` lists" in said
    place.user.must("create", "new", "--flavor", two, "--dry-run=server")
    said = place.user.fails(5, "update", "other", "--flavor", one)
    assert f"flavor `{one}` is cordoned: no server can change to it" in said
    # Those that have it notice nothing.
    kept = place.server("kept")
    assert kept.condition("FlavorOutdated")["status"] == "False"
    place.user.must("update", "kept", "--backend", "gloo", "--replicas", "2")
    place.user.must("stop", "kept", "--wait")
    place.user.must("start", "kept", "--wait")
    assert kept.condition("FlavorOutdated")["status"] == "False"
    row = next(row for row in place.user.must("flavors").splitlines() if row.startswith(one))
    assert " cordoned " in row

    # The default of a user's namespace is no way around it.
    annotation = f"devops.yourcompany.com/default-flavor={one}"
    kubectl("annotate", "namespace", place.name, annotation)
    try:
        command = ("create", "new", "--dry-run=server")
        wait_until(lambda: place.user(*command).returncode == 5, "it is filled in")
        assert f"flavor `{one}` is cordoned" in place.user.fails(5, *command)
        uncordon(place, one)
    finally:
        kubectl("annotate", "namespace", place.name, annotation.partition("=")[0] + "-")
    place.user.must("update", "other", "--flavor", one)


@pytest.mark.usefixtures("enforced")
def test_a_cordoned_default_is_kept_and_given_to_nobody_else(
    place: UserPlace, kubectl: Kubectl, flavors: tuple[str, str]
) -> None:
    one, two = flavors
    apply_flavor(kubectl, one, resources=SMALL, default=True)
    place.user.must("create", "box", "--home-size", "10Mi", "--wait")
    said = cordon(place, one)
    assert f"flavor `{one}`, the default, is cordoned: it takes no new servers" in said
    assert f"`{one}` is cordoned".encode() in place.user("doctor").stdout
    box = place.server("box", flavor=None)
    place.user.must("stop", "box", "--wait")
    place.user.must("start", "box", "--wait")

    # Another flavor becomes the default: what runs is left alone, and does not move to it later.
    apply_flavor(kubectl, one, resources=SMALL, default=False)
    apply_flavor(kubectl, two, resources=SMALL, default=True, cordoned=True)
    problem = f"the server names no flavor and the default, `{two}`, is cordoned"
    wait_until(lambda: problem in box.condition("FlavorOutdated")["message"], "it is told")
    assert box.condition("Ready")["status"] == "True"
    place.user.must("stop", "box", "--wait")
    place.user.must("start", "box", "--no-wait")
    wait_until(lambda: box.condition("Ready")["reason"] == "InvalidFlavor", "it does not start")
    assert problem in box.condition("Ready")["message"]
    assert problem in box.wait("Applied", "False")["message"]
    uncordon(place, two)
    box.follow(lambda found: found["status"]["phase"] == "Running", "it starts")


PROBE = {"activityProbe": {"exec": {"command": ["true"]}}}
IDLE = {"idleTimeout": "2h"}


@pytest.mark.usefixtures("enforced")
def test_a_flavor_may_require_or_refuse_an_activity_probe(
    place: UserPlace, kubectl: Kubectl, flavors: tuple[str, str]
) -> None:
    one, two = flavors
    for name in flavors:
        apply_flavor(kubectl, name, resources=SMALL)
    tenants = Tenants(kubectl, place.name)

    def asked(flavor: str, **lifecycle: Any) -> dict[str, Any]:
        return server("new", flavor=flavor, lifecycle=lifecycle)

    for lifecycle in ({}, IDLE, PROBE, IDLE | PROBE):
        tenants.create(ADMINISTRATOR, asked(one, **lifecycle))
    kept = server("kept", flavor=one, lifecycle=IDLE)
    tenants.create(ADMINISTRATOR, kept, keep=True)

    apply_flavor(kubectl, one, resources=SMALL, activityProbe="Required")
    apply_flavor(kubectl, two, resources=SMALL, activityProbe="Refused")
    # The API server takes a moment to see the change.
    for wrong in (asked(one, **IDLE), asked(two, **PROBE)):
        wait_until(
            lambda wrong=wrong: not succeeds(lambda: tenants.create(ADMINISTRATOR, wrong)),  # type: ignore[misc]
            "the flavor has its rule",
        )

    said = tenants.refused(ADMINISTRATOR, asked(one, **IDLE))
    assert f"flavor `{one}` requires an activity probe of servers with an idleTimeout" in said
    assert "add spec.lifecycle.activityProbe, or remove idleTimeout" in said
    for lifecycle in ({}, PROBE, IDLE | PROBE):
        tenants.create(ADMINISTRATOR, asked(one, **lifecycle))
    said = tenants.refused(ADMINISTRATOR, asked(two, **IDLE, **PROBE))
    assert f"flavor `{two}` refuses activity probes: remove spec.lifecycle.activityProbe" in said
    for lifecycle in ({}, IDLE):
        tenants.create(ADMINISTRATOR, asked(two, **lifecycle))

    # A server that was there before can change otherwise, but not in this respect.
    def change(**spec: Any) -> None:
        kubectl.api.patch("devserver", "kept", {"spec": spec}, place.name)

    change(stopped=True, lifecycle={"idleTimeout": "3h", "autoShutdown": True})
    change(lifecycle={"idleTimeout": None, "autoShutdown": None})
    for wrong in ({"lifecycle": IDLE}, {"flavor": two, "lifecycle": PROBE}):
        assert not succeeds(lambda wrong=wrong: change(**wrong))  # type: ignore[misc]
    change(flavor=two, lifecycle=IDLE)
    # The flavor that pods were made from is the same as before.
    apply_flavor(kubectl, two, resources=SMALL)
    wait_until(lambda: succeeds(lambda: change(lifecycle=PROBE)), "the flavor has no rule")


def test_gpus_by_claim_are_counted_as_they_are_taken(
    place: UserPlace, kubectl: Kubectl, flavors: tuple[str, str], claimed: str
) -> None:
    """The scheduler takes them from a slice, for what a server's pod requests of no node."""
    one, _ = flavors
    resources = {part: {**amounts, claimed: "1"} for part, amounts in SMALL.items()}
    apply_flavor(kubectl, one, resources=resources)

    def counts(free: int) -> bool:
        path = "jsonpath={.status.schedulable} {.status.free} {.status.total}"
        return kubectl("get", "devserverflavor", one, "-o", path) == f"true {free} 3"

    wait_until(lambda: counts(3), "all are free")
    place.user.must("create", "claims", "--flavor", one, "--home-size", "10Mi", "--no-wait")
    wait_until(lambda: counts(2), "the scheduler has claimed one")
    (claim,) = json.loads(kubectl("-n", place.name, "get", "resourceclaims", "-o", "json"))["items"]
    (held,) = claim["status"]["allocation"]["devices"]["results"]
    others = [number for number in range(3) if held["device"] != f"gpu-{number}"]
    kubectl.api.apply(gpu_slice(place.name, held["pool"], reserved=(others[0],)))
    wait_until(lambda: counts(1), "one is reserved on its host")
    kubectl.api.apply(gpu_slice(place.name, held["pool"]))
    place.user.must("stop", "claims")
    wait_until(lambda: counts(3), "it is free again")
