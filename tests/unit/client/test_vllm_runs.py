"""vLLM runs: what is created, followed, read and deleted."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING, Any

import pytest

from devctl.client import waiting
from devctl.client.client import Client
from devctl.client.vllm import request
from devctl.client.vllm.request import Request
from devctl.client.vllm.run import VLLMRun
from devctl.errors import DevctlError, NotFoundError, UsageError, WaitTimeoutError
from unit.client.fake_cluster import FakeApi
from unit.client.objects import NAMESPACE, PODS, event
from unit.client.vllm_things import CLAIMS, RUNS, gpu_claim, run_pod, vllm_run

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = (RUNS, NAMESPACE, "my-demo")


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    monkeypatch.setattr(waiting, "_RETRY", 0.01)
    monkeypatch.setattr(waiting, "_POLL", 0.01)
    return FakeApi()


@pytest.fixture
def client(api: FakeApi) -> Client:
    return Client(api.cluster())


def becomes(api: FakeApi, phase: str, **status: Any) -> Callable[[], None]:
    def change() -> None:
        api.things[KEY]["status"] = vllm_run("my-demo", phase, **status)["status"]

    return change


def test_examples() -> None:
    assert doctest.testmod(request).failed == 0


def test_a_request_says_what_was_asked_for_and_no_more(api: FakeApi, client: Client) -> None:
    asked = Request(["vllm", "serve", "$(X)"], image_name="vllm", gpu_ids=[0, 2], port=0)
    client.vllm_runs.create("my-demo", asked)
    assert api.get(RUNS, "my-demo")["spec"] == {
        # No variable of the pod's: people's words are taken literally.
        "command": ["vllm", "serve", "$$(X)"],
        "imageName": "vllm",
        "gpuIds": [0, 2],
        "port": 0,
    }


@pytest.mark.parametrize(
    ("name", "asked", "said"),
    [
        ("My-demo", {}, "cannot be a run's name"),
        ("1-demo", {}, "cannot be a run's name"),
        ("a" * 55, {}, "cannot be a run's name"),
        ("demo", {"gpus": 1, "gpu_ids": [0, 2]}, "1 GPUs are asked for, and 2 by their numbers"),
        ("demo", {"secrets": ["hf-token:a:b"]}, "--secret `hf-token:a:b` is not NAME"),
    ],
)
def test_what_is_not_possible_is_refused(name: str, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Request(["true"], image="x", **asked).manifest(name)


@pytest.mark.parametrize("ids", ["", "0,,1", "-1", "a", "0,1,0"])
def test_numbers_of_gpus(ids: str) -> None:
    with pytest.raises(UsageError, match=r"are no numbers of GPUs|names a GPU twice"):
        request.gpu_ids(ids)


def test_a_run_says_why(api: FakeApi) -> None:
    run = VLLMRun(vllm_run("my-demo", "Pending", reason="GPUsTaken", message="held by run `x`"))
    assert (run.phase, run.reason, run.ready, run.finished) == (
        "Pending",
        "GPUsTaken",
        False,
        False,
    )
    failed = {"type": "Applied", "status": "False", "reason": "Invalid", "message": "no `x`"}
    assert VLLMRun(vllm_run("my-demo", "Pending", conditions=[failed])).reason == "Invalid"
    assert VLLMRun(vllm_run("my-demo", "Napping")).phase == "Napping"
    assert VLLMRun(vllm_run("my-demo", spec={"gpuIds": [1, 3]})).gpus == 2
    assert api.requests == []


def test_it_is_attended_until_it_ends(api: FakeApi, client: Client) -> None:
    api.add(RUNS, vllm_run("my-demo", "Pending"))
    api.add(PODS, run_pod("one\ntwo\n"))
    api.then = [becomes(api, "Serving"), becomes(api, "Succeeded", exitCode=0)]
    seen = list(client.vllm_runs.attend("my-demo"))
    phases = [each.phase for each in seen if isinstance(each, VLLMRun)]
    assert phases == ["Pending", "Serving", "Succeeded"]
    assert b"".join(each for each in seen if isinstance(each, bytes)) == b"one\ntwo\n"


def test_one_that_is_up_is_waited_for(api: FakeApi, client: Client) -> None:
    api.add(RUNS, vllm_run("my-demo", "Pending"))
    seen: list[VLLMRun] = []
    api.then = [becomes(api, "Starting"), becomes(api, "Serving")]
    assert client.vllm_runs.wait_ready("my-demo", progress=seen.append).url
    assert [each.phase for each in seen] == ["Pending", "Starting"]
    api.things[KEY]["status"] = {"phase": "Pending", "message": "no GPU"}
    with pytest.raises(WaitTimeoutError, match=r"is not up after 0 s \(Pending\): no GPU"):
        client.vllm_runs.wait_ready("my-demo", 0)


def test_one_that_is_made_again_is_another_one(api: FakeApi, client: Client) -> None:
    api.add(RUNS, vllm_run("my-demo", "Pending"))
    api.then = [lambda: api.add(RUNS, vllm_run("my-demo", "Serving"))]
    with pytest.raises(NotFoundError, match="was recreated"):
        list(client.vllm_runs.follow("my-demo"))


def test_output(api: FakeApi, client: Client) -> None:
    api.add(RUNS, vllm_run("my-demo", "Pending", reason="GPUsTaken", message="held by run `x`"))
    with pytest.raises(DevctlError, match="has printed nothing yet: Pending, GPUsTaken"):
        list(client.vllm_runs.logs("my-demo"))
    becomes(api, "Failed", exitCode=3)()
    with pytest.raises(NotFoundError, match="the pod of `my-demo` is gone with its output"):
        list(client.vllm_runs.logs("my-demo", follow=True))
    api.add(PODS, run_pod("one\ntwo\n"))
    assert list(client.vllm_runs.logs("my-demo", tail=1)) == [b"two\n"]


def test_events_of_what_belongs_to_it(api: FakeApi, client: Client) -> None:
    api.add(RUNS, vllm_run())
    for number, (kind, name) in enumerate(
        [("VLLMRun", "my-demo"), ("Pod", "my-demo-vllm-pod"), ("Pod", "other"), ("Job", "my-demo")]
    ):
        found = event(f"e{number}")
        found["involvedObject"] = found["regarding"] = {"kind": kind, "name": name}
        api.add("events", found)
    assert len(client.vllm_runs.events("my-demo")) == 2


def test_only_own_runs_are_own(api: FakeApi, client: Client) -> None:
    api.add(RUNS, vllm_run("mine"), vllm_run("theirs", spec={"owner": "bob"}))
    assert [run.name for run in client.vllm_runs.own()] == ["mine"]


def test_a_deleted_run_is_gone_with_its_pod_and_claim(api: FakeApi, client: Client) -> None:
    api.add(RUNS, vllm_run())
    api.add(PODS, run_pod())
    api.add(CLAIMS, gpu_claim("my-demo", ("gpu-1", "gpu-0"), run=True))
    run = client.vllm_runs.delete("my-demo")
    said: list[str] = []
    with pytest.raises(WaitTimeoutError, match="its pod still exists"):
        client.vllm_runs.wait_gone(run, 0, said.append)
    api.drop(PODS, "my-demo-vllm-pod")
    with pytest.raises(WaitTimeoutError, match="its claim still exists"):
        client.vllm_runs.wait_gone(run, 0, said.append)
    api.drop(CLAIMS, "my-demo")
    client.vllm_runs.wait_gone(run, 0)
    assert said == ["its pod still exists", "its claim still exists"]
