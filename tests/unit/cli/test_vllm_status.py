"""`k8shazgpu status` and `k8shazgpu cache`."""

from __future__ import annotations

import doctest
import json
from typing import TYPE_CHECKING

import pytest

from devctl.api.vllm_run import RESERVED
from devctl.cli.vllm import status as module
from unit.cli.k8shazgpu_program import k8shazgpu
from unit.client.vllm_things import (
    CLAIMS,
    NODE_CACHES,
    PLANS,
    RUNS,
    SLICES,
    UNKNOWN_KIND,
    VLLM,
    cache_plan,
    gpu,
    gpu_claim,
    gpu_slice,
    node_cache,
    vllm_run,
)

if TYPE_CHECKING:
    from unit.cli.k8shazgpu_program import K8shazgpu
    from unit.client.fake_cluster import FakeApi

__all__ = ["k8shazgpu"]
REPO = {
    "type": "gitRepo",
    "name": "vllm-main",
    "scope": "nodeSelector",
    "nodeSelector": {"gpu": "h100"},
    "gitRepo": {"url": "https://host/vllm.git", "branch": "main"},
}


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.fixture
def gpus(api: FakeApi) -> None:
    sick = {"taints": [{"key": "canhazgpu.com/unhealthy", "effect": "NoSchedule"}]}
    taken = {"taints": [{"key": RESERVED, "value": "bob", "effect": "NoSchedule"}]}
    api.add(SLICES, gpu_slice("gpu-1", gpu(0), gpu(1), gpu(2, **sick), gpu(3, **taken)))
    api.add(CLAIMS, gpu_claim("my-demo", ("gpu-1", "gpu-1"), run=True))
    api.add(RUNS, vllm_run("my-demo", "Serving"))


@pytest.mark.usefixtures("gpus")
def test_status(k8shazgpu: K8shazgpu) -> None:
    found = k8shazgpu("status")
    assert found.stdout.splitlines() == [
        "NODE   GPU  STATE      HOLDER                 MEMORY  MODEL",
        "gpu-1  0    Free                              80Gi    H100 (made up)",
        "gpu-1  1    Claimed    run dev-alice/my-demo  80Gi    H100 (made up)",
        "gpu-1  2    Unhealthy                         80Gi    H100 (made up)",
        "gpu-1  3    Reserved   host bob               80Gi    H100 (made up)",
        "",
        "4 GPUs: 1 free, 1 claimed, 1 reserved, 1 unhealthy",
        "",
        "Runs:",
        "  NAME     PHASE    REASON  GPUS  NODE   AGE",
        "  my-demo  Serving          1     gpu-1  5m",
    ]
    assert found.stderr == ""
    assert "GPU-2" in k8shazgpu("status", "-o", "wide").stdout
    document = json.loads(k8shazgpu("status", "-o", "json").stdout)
    assert [each["state"] for each in document["gpus"]] == [
        "Free",
        "Claimed",
        "Unhealthy",
        "Reserved",
    ]
    assert document["complete"]
    assert document["runs"][0]["kind"] == "VLLMRun"
    assert k8shazgpu("status", "-o", "jsonpath={.gpus[0].node}").stdout == "gpu-1"


@pytest.mark.usefixtures("gpus")
def test_status_counts_what_caches_have(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    states = [{"name": f"i{n}", "status": s} for n, s in enumerate(["ready", "ready", "pulling"])]
    failed = [{"name": "m", "status": "failed"}]
    api.add(NODE_CACHES, node_cache("b"), node_cache("a", images=states, models=failed))
    found = k8shazgpu("status")
    assert found.stdout.splitlines()[-4:] == [
        "Caches:",
        "  NODE  READY  PULLING  FAILED  UPDATED",
        "  a     2      1        1       60s",
        "  b     0      0        0       60s",
    ]
    caches = json.loads(k8shazgpu("status", "-o", "json").stdout)["caches"]
    assert caches[0] == {"node": "a", "ready": 2, "pulling": 1, "failed": 1}
    api.refusals["GET", NODE_CACHES] = (403, "nodecachestatuses is forbidden")
    assert "Caches:" not in k8shazgpu("status").stdout


@pytest.mark.usefixtures("gpus")
def test_who_may_not_see_claims_is_told(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.refusals["GET", CLAIMS] = (403, "resourceclaims is forbidden")
    api.refusals["GET", RUNS] = (403, "vllmruns is forbidden")
    found = k8shazgpu("status")
    assert "4 GPUs: 1 reserved, 1 unhealthy, 2 unknown" in found.stdout
    assert "GPUs that are `Unknown` may be held there" in found.stderr
    api.refusals["GET", SLICES] = (403, "resourceslices is forbidden")
    found = k8shazgpu("status")
    assert (found.code, found.stdout) == (0, "")
    assert "you may not see what nodes offer" in found.stderr


def test_a_plan_is_shown_and_changed(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.add(PLANS, cache_plan(VLLM, REPO))
    assert k8shazgpu("cache", "plan", "show").stdout.splitlines() == [
        "TYPE     NAME       WHAT                   VERSION  NODES",
        "image    vllm       vllm/openai:v1                  all",
        "gitrepo  vllm-main  https://host/vllm.git  main     gpu=h100",
    ]
    assert (
        json.loads(k8shazgpu("cache", "plan", "show", "-o", "json").stdout)["kind"] == "CachePlan"
    )
    line = ("cache", "plan", "update", "vllm-main", "--branch", "dev", "--all-nodes")
    assert k8shazgpu(*line).stdout == "cacheplan/default has vllm-main changed\n"
    assert k8shazgpu(*line).stdout == "cacheplan/default has vllm-main so already\n"
    item = api.get(PLANS, "default")["spec"]["items"][1]
    assert (item["gitRepo"]["branch"], item["scope"]) == ("dev", "allNodes")
    said = k8shazgpu("cache", "plan", "remove", "vllm", "vllm-main").stdout
    assert said == "cacheplan/default has vllm, vllm-main no longer\n"
    assert api.get(PLANS, "default")["spec"]["items"] == []


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("cache plan update vllm", 2, "nothing is to be changed"),
        ("cache plan update vllm --branch x", 2, "`vllm` is of type image"),
        ("cache plan update vllm --all-nodes --node-selector a=b", 2, "contradict each other"),
        ("cache plan update no --image x", 3, "has no item `no`"),
        ("cache plan remove no", 3, "`devctl cache plan show`"),
        ("cache add image other:1 --name vllm", 1, "there is an item `vllm` already"),
        ("cache add image x --node-selector a", 2, "written as `NAME=VALUE`"),
        ("cache add image x --name -x-", 2, "cannot be an item's name"),
    ],
)
def test_what_is_refused(
    line: str, code: int, said: str, api: FakeApi, k8shazgpu: K8shazgpu
) -> None:
    api.add(PLANS, cache_plan(VLLM))
    found = k8shazgpu(*line.split())
    assert (found.code, said in found.stderr) == (code, True), found.stderr
    assert api.get(PLANS, "default")["spec"]["items"] == [VLLM]


def test_no_plan_is_no_document(k8shazgpu: K8shazgpu) -> None:
    found = k8shazgpu("cache", "plan", "show", "-o", "yaml")
    assert (found.code, found.stdout) == (3, "")


def test_an_item_for_some_nodes(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    label = ("--node-selector", "gpu=h100")
    assert k8shazgpu("cache", "add", "model", "a/b", *label).code == 0
    assert api.get(PLANS, "default")["spec"]["items"] == [
        {
            "type": "model",
            "name": "b",
            "scope": "nodeSelector",
            "nodeSelector": {"gpu": "h100"},
            "model": {"repoId": "a/b"},
        }
    ]
    again = k8shazgpu("cache", "add", "model", "a/b", *label)
    assert (again.code, again.stdout) == (0, "cacheplan/default has model/b already\n")


def test_without_an_agent_nothing_is_cached(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.add(PLANS, cache_plan(VLLM))
    api.refusals["GET", NODE_CACHES] = UNKNOWN_KIND
    said = "no cache agent runs on the nodes: images are pulled when a run needs them\n"
    assert k8shazgpu("cache", "status") == (0, "", said)
    found = k8shazgpu("cache", "list")
    assert found.stderr == said
    assert found.stdout.splitlines()[1].endswith("?")
    assert json.loads(k8shazgpu("cache", "status", "-o", "json").stdout)["items"] == []


def test_what_nodes_have(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.add(PLANS, cache_plan(VLLM, REPO))
    pulling = {"name": "vllm", "status": "pulling", "percent": 40, "bytes": 2048, "present": True}
    failed = {"name": "vllm-main", "status": "failed", "message": "no such branch"}
    api.add(
        NODE_CACHES,
        node_cache("a", images=[pulling], gitRepos=[failed], errors=("the disk is full",)),
        node_cache("b", images=[{"name": "vllm", "status": "ready", "bytes": 5 << 30}]),
    )
    found = k8shazgpu("cache", "status")
    assert found.stdout.splitlines() == [
        "NODE  TYPE     NAME       STATUS   DONE  SIZE  MESSAGE",
        "a     image    vllm       pulling  40%   2Ki   an older version is there",
        "a     gitrepo  vllm-main  failed               no such branch",
        "b     image    vllm       ready          5Gi",
    ]
    assert found.stderr == "warning: node a, 60s ago: the disk is full\n"
    listed = k8shazgpu("cache", "list").stdout.splitlines()
    assert [line.split("  ")[-1].strip() for line in listed] == ["READY ON", "1 node", "0 nodes"]
    items = json.loads(k8shazgpu("cache", "list", "-o", "json").stdout)["items"]
    assert [each["nodesReady"] for each in items] == [1, 0]
