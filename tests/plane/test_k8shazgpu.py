"""`k8shazgpu` as a user types it, where no container runs: runs, GPUs, and the CachePlan."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.command_line import PROGRAM, CommandLine
from support.plane.content import NODES
from support.servers import wait_until
from support.tenants import ALICE, user_kubeconfig
from support.vllm_runs import PLURAL, offered

from devctl.api.kinds import CACHE_PLAN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.plane import Plane

HERE, THERE = NODES
RUN = ("vllm", "run", "--image", "localhost/any:1", "--cpu", "10m", "--memory", "16Mi")
SERVE = ("--", "vllm", "serve", "m")


@pytest.fixture
def alice(
    deployed: Plane, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> Iterator[CommandLine]:
    """A user with GPUs to claim: two on one node, one on the other."""
    where = ("-n", namespace, "--clusterrole=devctl-user", f"--user={ALICE}")
    kubectl("create", "rolebinding", "runs", *where)
    kubeconfig = user_kubeconfig(kubectl, deployed.kubeconfig, ALICE, tmp_path)
    with offered(kubectl.api, {HERE: 2, THERE: 1}):
        made = CommandLine(kubeconfig, namespace, tmp_path, {}, PROGRAM.with_name("k8shazgpu"))
        yield made
        made("cleanup", "--all", "--wait")


@pytest.fixture
def root(alice: CommandLine, deployed: Plane) -> CommandLine:
    """An administrator in the same namespace."""
    return replace(alice, kubeconfig=deployed.kubeconfig)


def gpus(line: CommandLine) -> dict[str, str]:
    found = json.loads(line.must("status", "-o", "json"))["gpus"]
    return {f"{gpu['node']}/{gpu['index']}": gpu["state"] for gpu in found}


def test_a_run_holds_its_gpus_until_it_is_cleaned_up(
    alice: CommandLine, root: CommandLine, kubectl: Kubectl
) -> None:
    said = alice.must(*RUN, "--name", "my-demo", "--gpu-ids", "0,1", "--wait", *SERVE)
    assert said == "vllmrun/my-demo created\n"
    held = {f"{HERE}/0": "Claimed", f"{HERE}/1": "Claimed"}
    # Who may not see the claims of others cannot tell what is free.
    assert gpus(alice) == {**held, f"{THERE}/0": "Unknown"}
    assert gpus(root) == {**held, f"{THERE}/0": "Free"}
    assert f"run {alice.namespace}/my-demo" in alice.must("status")
    assert "my-demo" in alice.must("vllm", "list")
    assert f"Node:         {HERE}\n" in alice.must("vllm", "describe", "my-demo")
    assert alice.must("cleanup", "--all", "--wait") == "vllmrun/my-demo deleted\n"
    assert set(gpus(root).values()) == {"Free"}
    assert not kubectl.api.get(PLURAL, "my-demo", alice.namespace)


def test_what_no_node_has_ends_by_its_timeout(alice: CommandLine) -> None:
    line = (*RUN, "--name", "large", "--gpus", "3", "--timeout", "3s", "--wait", *SERVE)
    assert "run `large` has failed: TimedOut" in alice.fails(1, *line)


def test_administrators_change_the_plan_and_users_read_it(
    alice: CommandLine, root: CommandLine, kubectl: Kubectl
) -> None:
    try:
        root.must("cache", "add", "image", "localhost/any:1", "--name", "vllm")
        root.must("cache", "add", "model", "facebook/opt-125m")
        root.must("cache", "plan", "update", "opt-125m", "--revision", "v1")
        assert "localhost/any:1" in alice.must("cache", "plan", "show")
        assert "may not patch" in alice.fails(5, "cache", "add", "image", "nginx:latest")
        small = ("--cpu", "10m", "--memory", "16Mi")
        alice.must("vllm", "run", "--name", "usual", *small, "--wait", *SERVE)
        root.must("cache", "plan", "remove", "model/opt-125m")
        plan = json.loads(alice.must("cache", "plan", "show", "-o", "json"))
        assert [item["name"] for item in plan["spec"]["items"]] == ["vllm"]
        # The kind knows what no repository may be.
        root.fails(2, "cache", "add", "gitrepo", "ext::sh -c id", "--name", "evil")
    finally:
        kubectl.api.delete(f"{CACHE_PLAN.plural}.{CACHE_PLAN.group}", "default")


def test_edits_at_the_same_time_lose_nothing(root: CommandLine, kubectl: Kubectl) -> None:
    try:
        names = [f"item-{number}" for number in range(6)]
        started = [
            root.start("cache", "add", "image", "nginx:latest", "--name", name) for name in names
        ]
        wait_until(
            lambda: all(each.poll() is not None for each in started), "all of them have ended"
        )
        assert [each.returncode for each in started] == [0] * len(names)
        plan = json.loads(root.must("cache", "plan", "show", "-o", "json"))
        assert sorted(item["name"] for item in plan["spec"]["items"]) == names
    finally:
        kubectl.api.delete(f"{CACHE_PLAN.plural}.{CACHE_PLAN.group}", "default")
