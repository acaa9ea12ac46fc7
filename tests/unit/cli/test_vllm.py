"""`k8shazgpu vllm` and `k8shazgpu cleanup`: what is created, what is shown, and how it ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from devctl.cli.vllm import attend, cleanup
from unit.cli.k8shazgpu_program import k8shazgpu
from unit.client.objects import NAMESPACE, PODS
from unit.client.vllm_things import (
    CLAIMS,
    NODE_CACHES,
    PLANS,
    RUNS,
    VLLM,
    cache_plan,
    gpu_claim,
    node_cache,
    run_pod,
    vllm_run,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.cli.conftest import Devctl
    from unit.cli.k8shazgpu_program import K8shazgpu
    from unit.client.fake_cluster import FakeApi

__all__ = ["k8shazgpu"]
KEY = (RUNS, NAMESPACE, "my-demo")
RUN = ("vllm", "run", "--name", "my-demo", "--image", "vllm:1")
SERVE = ("--", "vllm", "serve", "m")


def becomes(api: FakeApi, phase: str, **status: Any) -> Callable[[], None]:
    def change() -> None:
        api.things[KEY]["status"] = vllm_run("my-demo", phase, **status)["status"]

    return change


def follows(api: FakeApi, *steps: Callable[[], object], log: str = "one\ntwo\n") -> None:
    """What becomes of a run as soon as it is followed."""
    api.add(PODS, run_pod(log))
    api.then = list(steps)


def interrupts() -> None:
    raise KeyboardInterrupt


def test_a_run_is_followed_to_its_end(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    waits = becomes(api, "Pending", reason="GPUsTaken", message="held by run `x`")
    follows(api, waits, becomes(api, "Serving"), becomes(api, "Succeeded", exitCode=0))
    result = k8shazgpu(*RUN, "--follow", *SERVE)
    assert (result.code, result.stdout) == (0, "one\ntwo\n")
    assert "vllmrun/my-demo created" in result.stderr
    assert "my-demo: Pending (GPUsTaken): held by run `x`" in result.stderr


@pytest.mark.parametrize(("code", "expected"), [({"exitCode": 7}, 7), ({}, 1)])
def test_its_exit_code_is_the_programs(
    code: dict[str, int], expected: int, api: FakeApi, k8shazgpu: K8shazgpu
) -> None:
    failed = becomes(api, "Failed", reason="NonZeroExit", message="exit code 7: no GPU", **code)
    follows(api, failed)
    result = k8shazgpu(*RUN, "--follow", *SERVE)
    assert (result.code, result.stdout) == (expected, "one\ntwo\n")
    assert "run `my-demo` has failed: NonZeroExit: exit code 7: no GPU" in result.stderr
    assert "`k8shazgpu vllm describe my-demo`" in result.stderr


def test_the_end_of_one_without_a_pod_is_told(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.then = [becomes(api, "Failed", reason="TimedOut", message="not up after 5m")]
    result = k8shazgpu(*RUN, "--follow", "--timeout", "5m", *SERVE)
    assert (result.code, result.stdout) == (1, "")
    assert "TimedOut: not up after 5m" in result.stderr


def test_without_a_terminal_ctrl_c_leaves_it_running(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    follows(api, becomes(api, "Pending"), interrupts)
    result = k8shazgpu(*RUN, "--follow", *SERVE)
    assert result.code == 130
    follow, end = "k8shazgpu vllm logs -f my-demo", "k8shazgpu vllm cleanup --name my-demo"
    assert f"`my-demo` continues: `{follow}` follows it, `{end}` deletes it" in result.stderr
    assert api.names(RUNS) == ["my-demo"]


@pytest.mark.parametrize("typed", ["y\n", "n\n", "\n"])
def test_on_a_terminal_ctrl_c_asks(
    typed: str, api: FakeApi, k8shazgpu: K8shazgpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attend, "somebody_is_here", lambda: True)
    follows(api, becomes(api, "Pending"), interrupts)
    result = k8shazgpu(*RUN, "--follow", *SERVE, typed=typed)
    assert result.code == 130
    assert "Stop and delete `my-demo`? Otherwise, it continues" in result.stderr
    assert api.names(RUNS) == ([] if typed == "y\n" else ["my-demo"])


def test_waiting_ends_when_it_is_served(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.then = [becomes(api, "Starting", reason="Pulling"), becomes(api, "Serving")]
    result = k8shazgpu(*RUN, "--wait", *SERVE)
    assert (result.code, result.stdout) == (0, "vllmrun/my-demo created\n")
    url = "http://my-demo-vllm.dev-alice.svc:8000"
    assert f"`my-demo` is served at {url} within the cluster" in result.stderr
    assert "`kubectl port-forward my-demo-vllm-pod 8000:8000`" in result.stderr


def test_waiting_ends_when_it_fails(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.then = [becomes(api, "Failed", reason="ImagePullFailed", message="no such image")]
    result = k8shazgpu(*RUN, "--wait", *SERVE)
    assert result.code == 1
    assert "ImagePullFailed: no such image" in result.stderr


def test_waiting_ends_with_what_is_over_soon(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.then = [becomes(api, "Succeeded", exitCode=0)]
    result = k8shazgpu(*RUN, "--port", "0", "--wait", *SERVE)
    assert result.code == 0
    assert "`my-demo` has ended: `k8shazgpu vllm logs my-demo` prints" in result.stderr
    api.drop(RUNS, "my-demo")
    api.then = [becomes(api, "Running")]
    result = k8shazgpu(*RUN, "--port", "0", "--wait", *SERVE)
    assert "`k8shazgpu vllm logs -f my-demo` follows it" in result.stderr


def test_documents_for_programs(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    assert k8shazgpu(*RUN, "-o", "name", *SERVE).stdout == "vllmrun/my-demo\n"
    api.drop(RUNS, "my-demo")
    made = k8shazgpu(*RUN, "-o", "json", *SERVE)
    assert json.loads(made.stdout)["spec"]["image"] == "vllm:1"
    assert made.stderr == ""
    for dry in ("client", "server"):
        api.drop(RUNS, "my-demo")
        assert "dry run)" in k8shazgpu(*RUN, "--dry-run", dry, *SERVE).stdout
        assert api.names(RUNS) == []


def test_all_that_can_be_asked_for(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    more = ("--cpu", "4", "--memory", "16Gi", "--env", "A=b", "--secret", "hf:token=HF", "--ttl")
    assert k8shazgpu(*RUN, *more, "1h", "vllm", "serve", "--port", "x").code == 0
    spec = api.get(RUNS, "my-demo")["spec"]
    # Even without `--`, what follows the program is for the program.
    assert spec["command"] == ["vllm", "serve", "--port", "x"]
    assert spec["resources"] == {"cpu": "4", "memory": "16Gi"}
    assert spec["env"] == [{"name": "A", "value": "b"}]
    assert spec["secrets"] == [{"name": "hf", "key": "token", "env": "HF"}]
    assert spec["ttlSecondsAfterFinished"] == 3600
    assert k8shazgpu("vllm", "run", "--image", "x", *SERVE).code == 0
    assert api.names(RUNS)[1].startswith("vllm-")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (RUN, 2, "there is nothing to run"),
        ((*RUN, "-o", "json", "--follow", *SERVE), 2, "-o and --follow both print"),
        ((*RUN, "--image-name", "x", *SERVE), 2, "--image and --image-name both name an image"),
        ((*RUN, "--gpu-ids", "0,x", *SERVE), 2, "`0,x` are no numbers of GPUs"),
        ((*RUN, "--gpus", "1", "--gpu-ids", "0,2", *SERVE), 2, "leave out --gpus"),
        ((*RUN, "--gpus", "17", *SERVE), 2, "17 is not in the range"),
        ((*RUN, "--timeout", "x", *SERVE), 2, "--timeout"),
        (("vllm", "run", *SERVE), 2, "the CachePlan has none called `vllm`"),
        (("vllm", "run", "--image-name", "x", *SERVE), 3, "the CachePlan has no image `x`"),
        ((*RUN, "--repo-name", "x", *SERVE), 3, "the CachePlan has no repository `x`"),
    ],
)
def test_what_is_refused_creates_nothing(
    words: tuple[str, ...], code: int, said: str, api: FakeApi, k8shazgpu: K8shazgpu
) -> None:
    result = k8shazgpu(*words)
    assert (result.code, said in result.stderr) == (code, True), result.stderr
    assert api.names(RUNS) == []


def test_the_usual_image_is_that_of_the_plan(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.add(PLANS, cache_plan(VLLM))
    api.add(NODE_CACHES, node_cache("gpu-1", images=[{"name": "vllm", "status": "pulling"}]))
    result = k8shazgpu("vllm", "run", "--name", "my-demo", *SERVE)
    assert "image: `vllm` of the CachePlan, vllm/openai:v1" in result.stderr
    assert "no node has `vllm` ready yet: the start takes longer" in result.stderr
    assert api.get(RUNS, "my-demo")["spec"]["imageName"] == "vllm"
    api.add(NODE_CACHES, node_cache("gpu-1", images=[{"name": "vllm", "status": "ready"}]))
    assert "no node has" not in k8shazgpu("vllm", "run", *SERVE).stderr


def test_a_skipped_check_asks_nothing_of_caches(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    line = ("vllm", "run", "--image-name", "x", "--repo-name", "y", "--skip-cache-check", *SERVE)
    assert k8shazgpu(*line).code == 0
    assert api.requests == ["POST vllmruns"]


def test_lists(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.add(RUNS, vllm_run("a", "Serving"), vllm_run("b", "Pending", reason="GPUsTaken"))
    assert k8shazgpu("vllm", "list").stdout.splitlines() == [
        "NAME  PHASE    REASON     GPUS  NODE   AGE",
        "a     Serving             1     gpu-1  5m",
        "b     Pending  GPUsTaken  1            5m",
    ]
    assert k8shazgpu("vllm", "list", "-o", "name").stdout == "vllmrun/a\nvllmrun/b\n"
    assert k8shazgpu("vllm", "list", "-n", "x").stderr == "no runs in namespace `x`\n"


def test_a_page(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.add(RUNS, vllm_run("my-demo", "Serving"))
    page = k8shazgpu("vllm", "describe", "my-demo").stdout
    for line in (
        "Phase:        Serving",
        "URL:          http://my-demo-vllm.dev-alice.svc:8000",
        "Command:      vllm serve facebook/opt-125m",
        "Node:         gpu-1",
        "Use:          `kubectl port-forward my-demo-vllm-pod 8000:8000`",
    ):
        assert f"{line}\n" in page
    assert "GPUs:\n  GPU  MODEL  UUID   HEALTH\n  0    H100   GPU-0\n" in page
    assert k8shazgpu("vllm", "describe", "my-demo", "-o", "name").stdout == "vllmrun/my-demo\n"
    api.add(
        RUNS,
        vllm_run(
            "done", "Failed", reason="NonZeroExit", exitCode=3, spec={"gpuIds": [0], "port": 0}
        ),
    )
    page = k8shazgpu("vllm", "describe", "done").stdout
    assert "Exit code:    3\n" in page
    assert "GPUs:         1: 0\n" in page
    assert "Use:          `k8shazgpu vllm logs done`\n" in page


def test_logs(api: FakeApi, k8shazgpu: K8shazgpu, devctl: Devctl) -> None:
    api.add(RUNS, vllm_run("my-demo", "Serving"))
    api.add(PODS, run_pod("one\ntwo\n"))
    assert k8shazgpu("vllm", "logs", "--tail", "1", "my-demo").stdout == "two\n"
    api.then = [becomes(api, "Succeeded")]
    assert devctl("vllm", "logs", "-f", "my-demo").stdout == "one\ntwo\n"


def test_cleanup_of_one(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.add(RUNS, vllm_run("my-demo"), vllm_run("other"))
    found = k8shazgpu("cleanup", "--name", "my-demo")
    assert (found.code, found.stdout) == (0, "vllmrun/my-demo deleted\n")
    assert api.names(RUNS) == ["other"]
    assert k8shazgpu("cleanup", "--name", "my-demo").code == 3


def test_cleanup_waits_until_the_gpus_are_free(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.add(RUNS, vllm_run("my-demo"))
    api.add(CLAIMS, gpu_claim("my-demo", ("gpu-1", "gpu-0"), run=True))
    found = k8shazgpu("cleanup", "--name", "my-demo", "--wait", "--timeout", "0s")
    assert found.code == 4
    assert "its claim still exists" in found.stderr


def test_cleanup_of_all_leaves_those_of_others(api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    api.add(RUNS, vllm_run("a"), vllm_run("b"), vllm_run("theirs", spec={"owner": "bob"}))
    found = k8shazgpu("cleanup", "--all")
    assert (found.code, found.stdout) == (0, "vllmrun/a deleted\nvllmrun/b deleted\n")
    assert api.names(RUNS) == ["theirs"]


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 130)])
def test_cleanup_of_all_asks_on_a_terminal(
    typed: str, code: int, api: FakeApi, k8shazgpu: K8shazgpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup, "somebody_is_here", lambda: True)
    api.add(RUNS, vllm_run("a"))
    found = k8shazgpu("cleanup", "--all", typed=typed)
    assert (found.code, bool(api.names(RUNS))) == (code, code == 130)
    assert "This deletes `a`. Continue?" in found.stderr
    api.add(RUNS, vllm_run("a"))
    assert k8shazgpu("cleanup", "--all", "--yes").stdout == "vllmrun/a deleted\n"


@pytest.mark.parametrize("words", [(), ("--all", "--name", "a")])
def test_cleanup_needs_to_know_what(words: tuple[str, ...], k8shazgpu: K8shazgpu) -> None:
    found = k8shazgpu("cleanup", *words)
    assert found.code == 2
    assert "name runs with --name, or all of yours with --all" in found.stderr
