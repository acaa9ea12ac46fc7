"""Each thing that can be wrong is found, and its fix is named."""

from __future__ import annotations

import doctest
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from devctl.client import doctor
from devctl.client.doctor import HOME_CLASS, NEEDS, SHARED_CLASS, compare_clocks, examine
from devctl.client.findings import Finding, State
from devctl.errors import DevctlError
from unit.client.objects import FLAVORS, NAMESPACE, flavor, settings
from unit.client.vllm_things import gpu_slice

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.client.fake_cluster import FakeApi

SERVED = {
    "apis/devops.yourcompany.com/v1": ["devservers", "devserverflavors"],
    "apis/gpu.yourdomain.io/v1alpha1": ["ephemeralaccelerationjobs"],
}


def deployment(name: str, ready: int = 1, replicas: int = 1, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": f"devctl-{name}", "namespace": "devctl-system"},
        "spec": {
            "replicas": replicas,
            "template": {"spec": {"containers": [{"image": f"devctl/{name}:1"}]}},
        },
        "status": {"readyReplicas": ready} | status,
    }


def serve(api: FakeApi, path: str, names: list[str]) -> None:
    resources = [{"name": name} for name in names]
    api.answers[path] = httpx2.Response(200, json={"resources": resources})


def says(api: FakeApi, when: datetime, version: str = "v1.34.0") -> None:
    date = {"Date": when.strftime("%a, %d %b %Y %H:%M:%S GMT")}
    api.answers["version"] = httpx2.Response(200, json={"gitVersion": version}, headers=date)


@pytest.fixture
def well(api: FakeApi) -> FakeApi:
    """A cluster in which all is well."""
    for path, names in SERVED.items():
        serve(api, path, names)
    says(api, datetime.now(UTC))
    api.add("deployments", deployment("operator"), deployment("observer"))
    api.add("storageclasses", *({"metadata": {"name": n}} for n in (HOME_CLASS, SHARED_CLASS)))
    api.add(FLAVORS, flavor(default=True), flavor("gpu"))
    api.add("configmaps", settings(image="torch:1"))
    api.add("namespaces", {"metadata": {"name": NAMESPACE}})
    api.add("pods", agent("node-1"))
    return api


def agent(node: str, ready: str = "True") -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"kube-router-{node}",
            "namespace": "kube-system",
            "labels": {"k8s-app": "kube-router"},
        },
        "spec": {"nodeName": node},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def found(api: FakeApi) -> dict[str, Finding]:
    return {each.check: each for each in examine(api.cluster)}


def test_examples() -> None:
    assert doctest.testmod(doctor).failed == 0


def test_all_is_well(well: FakeApi) -> None:
    seen = found(well)
    assert {name: each.found for name, each in seen.items() if each.state is not State.OK} == {}
    assert list(seen) == [
        *("programs", "kubeconfig", "reachability", "credentials", "versions", "clock", "kinds"),
        *("rights", "operator", "observer", "storage", "flavor", "image", "queues", "network"),
        "gpus",
    ]
    assert "alice@company.com" in seen["credentials"].found
    assert not any(each.fix for each in seen.values())


def test_no_kubeconfig_leaves_the_rest_alone() -> None:
    def connect() -> Any:
        raise DevctlError("there is no kubeconfig", "name one")

    seen = {each.check: each for each in examine(connect)}
    assert (seen["kubeconfig"].state, seen["kubeconfig"].fix) == (State.FAILED, "name one")
    states = {each.state for name, each in seen.items() if name not in {"kubeconfig", "programs"}}
    assert states == {State.SKIPPED}


def test_an_api_server_that_does_not_answer(well: FakeApi) -> None:
    well.refusals["GET", "version"] = (503, "not now")
    seen = found(well)
    assert seen["reachability"].state is State.FAILED
    assert seen["reachability"].fix
    assert seen["operator"].state is State.SKIPPED


def test_expired_credentials_are_not_an_unreachable_server(well: FakeApi) -> None:
    for request in (("GET", "version"), ("POST", "selfsubjectreviews")):
        well.refusals[request] = (401, "Unauthorized")
    seen = found(well)
    assert seen["reachability"].state is State.OK
    assert seen["credentials"].state is State.FAILED
    assert "log in" in seen["credentials"].fix
    assert {seen[name].state for name in ("versions", "operator", "image")} == {State.SKIPPED}


def test_nobody_in_particular(well: FakeApi) -> None:
    well.user = "system:anonymous"
    seen = found(well)
    assert seen["credentials"].state is State.FAILED
    assert "kubeconfig" in seen["credentials"].fix
    assert seen["rights"].state is State.SKIPPED


def test_the_fix_is_not_what_was_just_done(well: FakeApi) -> None:
    well.refusals["GET", "version"] = (404, "the server could not find the requested resource")
    assert all("devctl doctor" not in each.fix for each in found(well).values())


def drop(plural: str, name: str) -> Callable[[FakeApi], object]:
    return lambda api: api.drop(plural, name)


def add(plural: str, thing: dict[str, Any]) -> Callable[[FakeApi], object]:
    return lambda api: api.add(plural, thing)


def older(api: FakeApi) -> None:
    says(api, datetime.now(UTC), "v1.30.9")


def odd(api: FakeApi) -> None:
    says(api, datetime.now(UTC), "custom")


def behind(api: FakeApi) -> None:
    says(api, datetime.now(UTC) + timedelta(hours=1))


def somewhat_ahead(api: FakeApi) -> None:
    says(api, datetime.now(UTC) - timedelta(minutes=2))


def timeless(api: FakeApi) -> None:
    api.answers["version"] = httpx2.Response(200, json={"gitVersion": "v1.34.0"})


def no_kinds(api: FakeApi) -> None:
    serve(api, "apis/devops.yourcompany.com/v1", ["devservers"])


def no_jobs(api: FakeApi) -> None:
    serve(api, "apis/gpu.yourdomain.io/v1alpha1", [])


def no_exec(api: FakeApi) -> None:
    api.denied = {("create", "pods/exec"), ("get", "secrets")}


def no_list(api: FakeApi) -> None:
    api.denied = {("list", "devservers")}


def no_rights(api: FakeApi) -> None:
    api.denied = {
        (right.verb, f"{right.resource}/{right.subresource}".rstrip("/")) for right, *_ in NEEDS
    }


def gpus_offered_twice(api: FakeApi) -> None:
    status = {"capacity": {"nvidia.com/gpu": "1"}, "allocatable": {"nvidia.com/gpu": "1"}}
    api.add("nodes", {"metadata": {"name": "gpu-1"}, "status": status})
    real: dict[str, Any] = {"name": "gpu-0", "attributes": {"uuid": {"string": "GPU-0"}}}
    api.add("resourceslices", gpu_slice("gpu-1", real))


NOT_READY = deployment(
    "operator", 0, conditions=[{"status": "False", "message": "no image", "type": "Available"}]
)


@pytest.mark.parametrize(
    ("wrong", "check", "state", "said", "fix"),
    [
        (older, "versions", State.FAILED, "v1.30.9, devctl", "1.31 or newer"),
        (odd, "versions", State.WARNING, "`custom`", "kubectl version"),
        (behind, "clock", State.FAILED, "behind the API server", "NTP"),
        (somewhat_ahead, "clock", State.WARNING, "ahead of the API server", "NTP"),
        (timeless, "clock", State.WARNING, "have no time", "proxy"),
        (no_kinds, "kinds", State.FAILED, "`devserverflavors.devops", "make deploy"),
        (no_jobs, "kinds", State.WARNING, "`egpu` cannot work", "make deploy"),
        (no_exec, "rights", State.WARNING, "create pods/exec", "`devctl-user`"),
        (no_list, "rights", State.FAILED, "list devservers", "-n"),
        (no_rights, "rights", State.FAILED, "you have no rights", "`devctl-user`"),
        (drop("namespaces", NAMESPACE), "rights", State.FAILED, "there is no namespace", "-n"),
        (drop("deployments", "devctl-operator"), "operator", State.FAILED, "no Deployment", "make"),
        (add("deployments", NOT_READY), "operator", State.FAILED, "(no image)", "kubectl"),
        (add("deployments", deployment("observer", 0, 0)), "observer", State.FAILED,
         "scaled to 0", "--replicas=1"),
        (drop("storageclasses", HOME_CLASS), "storage", State.FAILED, "no home", "config/eks"),
        (drop("storageclasses", SHARED_CLASS), "storage", State.WARNING, "no shared", "config/eks"),
        (drop(FLAVORS, "cpu-small"), "flavor", State.WARNING, "none of 1", "--flavor: `gpu`"),
        (add(FLAVORS, flavor("gpu", default=True)), "flavor", State.FAILED, "all the default",
         "default: false"),
        (add(FLAVORS, flavor(default=True) | {"status": {"schedulable": False}}), "flavor",
         State.WARNING, "no node can hold", "devctl flavors"),
        (add(FLAVORS, flavor(default=True, cordoned=True)), "flavor", State.WARNING,
         "`cpu-small` is cordoned", "--flavor: `gpu`"),
        (gpus_offered_twice, "gpus", State.WARNING, "offers GPUs both as", "device plugin"),
        (drop("configmaps", "devctl-settings"), "image", State.WARNING, "no image", "DEVCTL_IMAGE"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(  # noqa: PLR0913, PLR0917 - a row of the table
    well: FakeApi,
    wrong: Callable[[FakeApi], object],
    check: str,
    state: State,
    said: str,
    fix: str,
) -> None:
    wrong(well)
    seen = found(well)
    assert seen[check].state is state
    assert said in seen[check].found
    assert fix in seen[check].fix
    # And nothing else is.
    assert {each.check for each in seen.values() if each.state is not State.OK} == {check}


def test_no_flavor_takes_new_servers(well: FakeApi) -> None:
    well.add(FLAVORS, flavor(default=True, cordoned=True), flavor("gpu", cordoned=True))
    assert "devctl admin flavor uncordon" in found(well)["flavor"].fix


def test_no_flavors_at_all(well: FakeApi) -> None:
    for name in well.names(FLAVORS):
        well.drop(FLAVORS, name)
    assert found(well)["flavor"].state is State.FAILED


def test_what_a_user_may_not_see_is_no_failure(well: FakeApi) -> None:
    for what in ("deployments", "storageclasses", "namespaces", "nodes"):
        well.refusals["GET", what] = (403, f"{what} is forbidden")
    seen = found(well)
    hidden = ("operator", "observer", "storage", "gpus")
    assert {seen[name].state for name in hidden} == {State.SKIPPED}
    assert seen["rights"].state is State.OK


def test_the_image_of_ones_own(well: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVCTL_IMAGE", "mine:1")
    assert "mine:1" in found(well)["image"].found


def test_a_machine_without_ssh(
    well: FakeApi, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    seen = found(well)["programs"]
    assert seen.state is State.WARNING
    assert "`ssh` and `ssh-keygen`" in seen.found


def test_a_slow_answer_does_not_make_a_clock_wrong() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    found = compare_clocks(now + timedelta(seconds=20), now, now + timedelta(seconds=40))
    assert found.state is State.OK


def test_a_slow_api_server(well: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_SLOW", -1)
    assert found(well)["reachability"].state is State.WARNING


def test_rights_are_named_once() -> None:
    assert len({need.right for need in NEEDS}) == len(NEEDS)


KUEUE = "apis/kueue.x-k8s.io/v1beta2"
VISIBILITY = "apis/visibility.kueue.x-k8s.io/v1beta2"


def in_team(api: FakeApi) -> None:
    team = {"devops.yourcompany.com/team": "vision"}
    api.add("namespaces", {"metadata": {"name": NAMESPACE, "annotations": team}})


def test_without_kueue_there_are_no_queues(well: FakeApi) -> None:
    well.refusals["GET", KUEUE] = (404, "404 page not found")
    seen = found(well)["queues"]
    assert (seen.state, seen.found) == (
        State.OK,
        "Kueue is not installed: servers start without queues",
    )
    in_team(well)
    seen = found(well)["queues"]
    assert seen.state is State.WARNING
    assert "nothing enforces the quota of team `vision`" in seen.found


def test_kueue_runs_or_does_not(well: FakeApi) -> None:
    serve(well, KUEUE, ["clusterqueues", "workloads"])
    in_team(well)
    assert found(well)["queues"].found == "Kueue runs, you are in team `vision`"
    well.refusals["GET", VISIBILITY] = (503, "service unavailable")
    seen = found(well)["queues"]
    assert seen.state is State.WARNING
    assert "running servers continue, new ones of teams do not start" in seen.found


def test_the_network_plugin_is_ready_on_every_node(well: FakeApi) -> None:
    well.add("pods", agent("node-2"), {"metadata": {"name": "other", "namespace": "kube-system"}})
    assert found(well)["network"].found == "`kube-router` is ready on 2 nodes"
    well.add("pods", agent("node-2", ready="False"))
    seen = found(well)["network"]
    assert seen.state is State.WARNING
    assert "`kube-router` is not ready on `node-2`" in seen.found
    assert seen.fix == "see `kubectl describe pods -A -l k8s-app=kube-router`"


def test_the_network_plugin_is_for_administrators(well: FakeApi) -> None:
    well.refusals["GET", "pods"] = (403, "forbidden")
    assert found(well)["network"].state is State.SKIPPED


def test_a_network_plugin_may_be_missing(well: FakeApi) -> None:
    well.drop("pods", "kube-router-node-1")
    assert found(well)["network"].state is State.SKIPPED
