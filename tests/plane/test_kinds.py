"""What the API server refuses of DevServers and flavors, and why."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from support.asked import Request, patch
from support.tenants import (
    ADMINISTRATOR,
    ALICE,
    BOB,
    Manifest,
    Tenants,
    flavor,
    server,
    until,
)

from devctl.api.labels import GROUP

if TYPE_CHECKING:
    from support.commands import Kubectl
    from support.plane.plane import Plane

pytestmark = pytest.mark.usefixtures("deployed")


def hooks(*changes: dict[str, Any]) -> dict[str, Any]:
    """A spec with hooks, each with these changes."""
    found = [{"name": f"h{n}", "script": "true", **c} for n, c in enumerate(changes)]
    return {"lifecycle": {"hooks": found}}


RUNS = {"command": ["true"]}


def probe(**fields: Any) -> dict[str, Any]:
    """A spec with an activity probe."""
    return {"lifecycle": {"activityProbe": fields}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mode": "distributed"}, "needs spec.distributed with a worldSize"),
        (
            {"mode": "distributed", "distributed": {"worldSize": 3, "nprocsPerNode": 2}},
            "worldSize must be a multiple of nprocsPerNode",
        ),
        (
            {"mode": "distributed", "distributed": {"worldSize": 1025}},
            "is the number of pods, and there can be 1024",
        ),
        ({"lifecycle": {"autoShutdown": True}}, "autoShutdown needs idleTimeout"),
        *(
            ({"lifecycle": {field: value}}, "a duration is from a minute to a year")
            for field in ("idleTimeout", "maxRuntime", "timeToLive", "deleteAfterStopped")
            for value in (0, 59, 31536001, "", "0s", "59s", "0d0h0m", "5x", "365d1s", "999d9999h")
        ),
        *(
            (hooks({"timeout": value}), "the timeout of a hook is from a second to ten minutes")
            for value in (0, 601, -1, "", "0s", "601s", "10m1s", "1h", "5x", "90")
        ),
        (hooks({"timeout": "10m"}, {"timeout": 301}), "can add up to 15 minutes at most"),
        (hooks(*[{}] * 9), "spec.lifecycle.hooks: Too many"),
        (hooks({"script": "x" * 16385}), "spec.lifecycle.hooks[0].script"),
        (hooks({"script": "é" * 8193}), "a script has at most 16 KiB"),
        (hooks({"script": ""}), "spec.lifecycle.hooks[0].script in body should be at least 1"),
        (hooks({"name": "a.b"}), "spec.lifecycle.hooks[0].name in body should match"),
        (hooks({"name": "a"}, {"name": "a"}), "Duplicate value"),
        (hooks({"on": "stop"}), 'unknown field "spec.lifecycle.hooks[0].on"'),
        (probe(), "an activity probe has either exec or httpGet"),
        (probe(exec=RUNS, httpGet={"port": 80}), "an activity probe has either exec or httpGet"),
        (probe(exec=RUNS, periodSeconds=15, timeoutSeconds=16), "as long as periodSeconds at most"),
        (probe(exec=RUNS, periodSeconds=14), "greater than or equal to 15"),
        (probe(exec=RUNS, periodSeconds=301), "less than or equal to 300"),
        (probe(exec={"command": []}), "spec.lifecycle.activityProbe.exec.command"),
        (probe(exec={"command": ["", "x"]}), "the command names no program"),
        (probe(exec={"command": ["x" * 513]}), "spec.lifecycle.activityProbe.exec.command[0]"),
        (probe(exec={"command": ["a\0b"]}), "spec.lifecycle.activityProbe.exec.command[0]"),
        (probe(httpGet={"port": 65536}), "spec.lifecycle.activityProbe.httpGet.port"),
        *(
            (probe(httpGet={"port": 80, "path": path}), "activityProbe.httpGet.path in body should")
            for path in ("", "busy", "//a b", "/a\n", "/ü")
        ),
        *(
            ({"persistentHomeSize": size}, "a home has 1Mi to 1Pi")
            for size in (100, "100", "0", "5x", "2Pi", "-1Gi", "1e12", "1e99999999")
        ),
        ({"sharedVolumeClaimName": "other/claim"}, "spec.sharedVolumeClaimName in body should"),
        ({"sharedVolumeClaimName": "home-bob-0"}, "a server's home (`home-...`) cannot be shared"),
        ({"sharedVolumeClaimName": "artifacts-scan"}, "a job's volume (`artifacts-...`) cannot be"),
        (
            {"sharedVolumeClaimName": "artifacts-scan.2"},
            "copy its files to a claim made for sharing",
        ),
        ({"mode": "gang"}, 'supported values: "standalone", "distributed"'),
        ({"image": "a\nprivileged: true"}, "spec.image"),
        ({"hostNetwork": True}, 'unknown field "spec.hostNetwork"'),
        ({"flavor": ""}, "spec.flavor in body should be at least 1 chars long"),
    ],
)
def test_a_wrong_server_is_refused(kubectl: Kubectl, changes: dict[str, Any], said: str) -> None:
    # An exponent once kept the API server busy until its timeout, of which it then spoke instead.
    assert said in Tenants(kubectl, "default").refused(ADMINISTRATOR, server(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"flavor": "gpu-large"},
        {"mode": "distributed", "distributed": {"worldSize": 4096, "nprocsPerNode": 4}},
        {"distributed": {"worldSize": 4}},
        {"lifecycle": {"idleTimeout": 3600, "autoShutdown": True}},
        {"lifecycle": {"idleTimeout": "60s", "timeToLive": "365d"}},
        {"lifecycle": {"idleTimeout": "0d1h0m", "timeToLive": "1d12h30m5s"}},
        hooks(*[{}] * 8),
        hooks({"timeout": "10m"}, {"timeout": "4m59s"}, {"timeout": 1}),
        hooks({"script": "#!/bin/sh\n" + "é" * 8000}),
        probe(exec=RUNS),
        probe(exec={"command": ["sh", "-c", "exit 1\n# ü", ""]}, periodSeconds=15),
        probe(httpGet={"port": 8080, "path": "/busy?a=[1]#'"}, timeoutSeconds=60),
        {"persistentHomeSize": "1.5Ti"},
        {"persistentHomeSize": 1073741824},
        {"sharedVolumeClaimName": "home-data"},
        {"sharedVolumeClaimName": "artifacts"},
        {"sharedVolumeClaimName": "our-artifacts-1"},
    ],
)
def test_a_right_server_is_accepted(kubectl: Kubectl, changes: dict[str, Any]) -> None:
    Tenants(kubectl, "default").create(ADMINISTRATOR, server(**changes))


GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("requests", "limits", "said"),
    [
        ({"cpu": 2}, {"cpu": "1500m"}, "no request can be larger than its limit"),
        ({"memory": "1Gi"}, {"memory": "1G"}, "no request can be larger than its limit"),
        ({GPU: 1}, {}, "they need a limit that equals the request"),
        ({"cpu": 1}, {GPU: 1}, "they need a limit that equals the request"),
        ({GPU: 1}, {GPU: 2}, "they need a limit that equals the request"),
        ({"hugepages-2Mi": "4Mi"}, {}, "they need a limit that equals the request"),
        ({GPU: "500m"}, {GPU: "500m"}, "are counted in whole numbers"),
        ({"gpu": 1}, {}, "a resource is cpu, memory, ephemeral-storage"),
        ({"": 1}, {}, "a resource is cpu, memory, ephemeral-storage"),
        ({"kubernetes.io/gpu": 1}, {"kubernetes.io/gpu": 1}, "a resource is cpu, memory"),
        ({"cpu": "1e99999999"}, {"cpu": 1}, "spec.resources.requests.cpu in body should match"),
    ],
)
def test_wrong_resources_are_refused(
    kubectl: Kubectl, requests: Manifest, limits: Manifest, said: str
) -> None:
    manifest = flavor(resources={"requests": requests, "limits": limits})
    assert said in Tenants(kubectl, "default").refused(ADMINISTRATOR, manifest)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nodeSelector": {"": "x"}}, "every name must be a label name"),
        ({"nodeSelector": {"a b": "x"}}, "every name must be a label name"),
        ({"tolerations": [{"operator": "Equal"}]}, "without a key needs operator `Exists`"),
        ({"tolerations": [{"operator": "Exists", "value": "x"}]}, "`Exists` has no value"),
        (
            {"tolerations": [{"key": "a", "tolerationSeconds": 3}]},
            "tolerationSeconds needs effect `NoExecute`",
        ),
    ],
)
def test_a_wrong_flavor_is_refused(kubectl: Kubectl, changes: dict[str, Any], said: str) -> None:
    assert said in Tenants(kubectl, "default").refused(ADMINISTRATOR, flavor(**changes))


def test_right_flavors_are_accepted(kubectl: Kubectl) -> None:
    requests = {"cpu": "1500m", "memory": "1G", GPU: 1, "ephemeral-storage": "1Gi"}
    limits = {"cpu": 2, "memory": "1Gi", GPU: "1"}
    taints = [{"key": "a/b", "effect": "NoExecute", "tolerationSeconds": 3}]
    whole = {"resources": {"requests": requests, "limits": limits}}
    selector = {"nodeSelector": {"topology.kubernetes.io/zone": "a", "instance-type": ""}}
    for changes in ({}, {"default": True}, {**whole, **selector, "tolerations": taints}):
        Tenants(kubectl, "default").create(ADMINISTRATOR, flavor(**changes))


def test_an_owner_stays_and_a_home_only_grows(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, server(), keep=True)

    def change(**spec: Any) -> Request:
        return patch("devserver/box", {"spec": spec}, dry=True)

    said = tenants.denied(ADMINISTRATOR, change(owner=BOB))
    assert "the owner of a server cannot change: create one with another name" in said
    for smaller in ("1023Mi", "1G", 1073741823):
        said = tenants.denied(ADMINISTRATOR, change(persistentHomeSize=smaller))
        assert "homes can only grow: for a smaller one, create a server with another name" in said
    for size in ("1024Mi", "1025Mi", 1073741824, "2Gi"):
        tenants.send(ALICE, change(persistentHomeSize=size))


def test_a_server_from_before_a_rule_can_be_changed_in_all_else(
    tenants: Tenants, plane: Plane
) -> None:
    """An earlier release let a server share the volume of a job."""
    spec = "versions/0/schema/openAPIV3Schema/properties/spec/properties"
    rules = f"/spec/{spec}/sharedVolumeClaimName/x-kubernetes-validations"

    def accepted(name: str, *, keep: bool = False) -> bool:
        manifest = server(name, sharedVolumeClaimName="artifacts-scan")
        with suppress(pytest.fail.Exception):
            return bool(tenants.create(ADMINISTRATOR, manifest, keep=keep))
        return False

    without = json.dumps([{"op": "remove", "path": rules}])
    tenants.kubectl("patch", "crd", f"devservers.{GROUP}", "--type=json", "-p", without)
    try:
        until(lambda: accepted("box", keep=True))
    finally:
        plane.install()
    until(lambda: not accepted("other"))
    tenants.send(ALICE, patch("devserver/box", {"spec": {"enableSSH": False}}))
    other = patch("devserver/box", {"spec": {"sharedVolumeClaimName": "artifacts-other"}})
    assert "a job's volume" in tenants.denied(ALICE, other)


def test_a_condition_says_why_and_since_when(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, server(), keep=True)

    def having(**changes: str) -> Request:
        status = {"conditions": [{"type": "Test", "status": "True", **changes}]}
        return patch("devserver/box", {"status": status}, sub="status", dry=True)

    when = "2026-01-01T00:00:00Z"
    right = having(reason="Tested", message="", lastTransitionTime=when)
    tenants.send(ADMINISTRATOR, right)
    said = tenants.denied(ADMINISTRATOR, having())
    for field in ("reason", "message", "lastTransitionTime"):
        assert f"status.conditions[0].{field}: Required value" in said
    wordy = having(reason="Two words", message="", lastTransitionTime=when)
    assert "conditions[0].reason in body should match" in tenants.denied(ADMINISTRATOR, wordy)


def test_a_list_fits_a_terminal_and_can_be_filtered(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, server("a-server-of-alice", flavor="gpu-large"), keep=True)
    header, line = tenants.run(ALICE, "get", "dsrv").splitlines()
    assert header.split() == ["NAME", "FLAVOR", "MODE", "PHASE", "READY", "REASON", "AGE"]
    assert max(len(header), len(line)) <= 80
    filters = f"spec.owner={ALICE},spec.flavor=gpu-large,spec.mode=standalone,spec.stopped=true"
    for selector, count in ((filters, 1), (f"spec.owner={BOB}", 0)):
        found = tenants.run(ALICE, "get", "dsrv", "--field-selector", selector, "-o", "name")
        assert len(found.split()) == count
    assert "a-server-of-alice" in tenants.run(ADMINISTRATOR, "get", "devctl", "-o", "name")
