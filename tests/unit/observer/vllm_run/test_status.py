"""The status of a VLLMRun: what it waits for, that it serves, and how it ended."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from devctl_observer.judging.clocks import Clocks
from devctl_observer.judging.pods import Surroundings
from devctl_observer.kinds.vllm_run.deadlines import next_look, wants_proof
from devctl_observer.kinds.vllm_run.holders import View
from lightkube.resources.core_v1 import Event

from unit.observer.objects import NOW
from unit.observer.vllm_run.things import (
    NAMESPACE,
    STARTED,
    at,
    claim,
    exited,
    gpus,
    pod,
    run,
    seen,
    told,
)

if TYPE_CHECKING:
    from devctl_observer.kinds.vllm_run.observed import Observed

WAITING = {"waiting": {"reason": "ContainerCreating"}}
NO_IMAGE = {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}
UP = STARTED | {"phase": "Serving", "reason": "Serving", "servedAt": at(0)}


def why(observed: Observed, seconds: float = 0) -> tuple[str, str]:
    found = told(observed, seconds)
    return found["phase"], found["reason"]


def condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(c for c in status["conditions"] if c["type"] == kind)


def test_before_anything_is_there() -> None:
    assert why(seen(run(), claim=None)) == ("Pending", "NotApplied")
    said = {"type": "Applied", "status": "False", "reason": "Invalid", "observedGeneration": 1}
    refused = run({"conditions": [said | {"message": "no such image"}]})
    assert why(seen(refused, claim=None)) == ("Pending", "Invalid")
    assert told(seen(refused, claim=None))["message"] == "no such image"
    assert why(seen(run(), taken=True)) == ("Pending", "Deleting")


def test_a_pod_without_a_node_says_who_has_the_gpus() -> None:
    holders = {("n1", f"gpu-{n}"): "run `other`" for n in range(4)}
    status = told(seen(run(), pod("Pending", None), view=View(gpus("n1", 4), holders)))
    assert (status["phase"], status["reason"]) == ("Pending", "GPUsTaken")
    assert status["message"] == "no node has 1 free GPU: 0 of 4 on `n1`; held by run `other` (4)"
    assert "devices" not in status
    assert status["gpus"] == 1


def test_with_free_gpus_the_schedulers_own_reason_counts() -> None:
    short = {"message": "0/2 nodes are available: 2 Insufficient cpu."}
    status = told(seen(run(), pod("Pending", None, scheduled=short)))
    assert status["reason"] == "Unschedulable"
    assert "`cpu`" in status["message"]
    # Nobody has tried yet.
    untried = told(seen(run(), pod("Pending", None, scheduled={"type": "Other"}), view=View()))
    assert untried["reason"] == "Scheduling"


def test_a_claim_tells_which_gpus_it_holds() -> None:
    starting = told(seen(run(), pod("Pending", state=WAITING), claim=claim(2, 0)))
    assert (starting["phase"], starting["reason"]) == ("Starting", "Creating")
    assert starting["node"] == "n1"
    assert starting["claimName"] == "one"
    first, second = starting["devices"]
    assert first == {
        "name": "gpu-0",
        "node": "n1",
        "index": 0,
        "uuid": "GPU-n1-0",
        "model": "H100",
    }
    assert second["index"] == 2
    # A device that is no longer offered has still a name.
    gone = told(seen(run(), pod(), claim=claim(9)))
    assert gone["devices"] == [{"name": "gpu-9", "node": "n1"}]


def test_it_serves_once_its_port_answers_and_says_when_it_does_not_any_more() -> None:
    started = told(seen(run(), pod(), claim=claim(0)))
    assert (started["phase"], started["reason"]) == ("Starting", "NotServing")
    assert "port 8000 does not answer yet" in started["message"]
    assert "url" not in started
    assert condition(started, "Ready")["status"] == "False"
    serving = told(seen(run(started), pod(ready=True), claim=claim(0)), 5)
    assert (serving["phase"], serving["url"]) == ("Serving", "http://one-vllm.team.svc:8000")
    assert serving["servedAt"] == at(5)
    assert serving["startedAt"] == at(-10)
    assert condition(serving, "Ready")["status"] == "True"
    assert condition(serving, "Succeeded")["status"] == "Unknown"
    silent = told(seen(run(serving), pod(), claim=claim(0)), 9)
    assert (silent["phase"], silent["servedAt"]) == ("Starting", at(5))
    assert "does not answer any more" in silent["message"]
    assert "url" not in silent


def test_without_a_port_it_runs_as_soon_as_it_has_started() -> None:
    status = told(seen(run(port=0), pod()))
    assert (status["phase"], status["reason"]) == ("Running", "Running")
    assert condition(status, "Ready")["status"] == "True"
    assert "servedAt" not in status


@pytest.mark.parametrize(
    ("state", "phase", "reason", "code", "message"),
    [
        (exited(0), "Succeeded", "Completed", 0, "its program succeeded"),
        (exited(7, "bad model"), "Failed", "NonZeroExit", 7, "exit code 7: bad model"),
        (exited(137, reason="OOMKilled"), "Failed", "OutOfMemory", 137, "spec.resources.memory"),
    ],
)
def test_an_end_has_a_code_and_last_words(
    state: dict[str, Any], phase: str, reason: str, code: int, message: str
) -> None:
    ended = pod("Succeeded" if phase == "Succeeded" else "Failed", state=state)
    status = told(seen(run(STARTED), ended, claim=claim(0)))
    assert (status["phase"], status["reason"], status["exitCode"]) == (phase, reason, code)
    assert message in status["message"]
    assert status["finishedAt"] == at(-5)
    assert condition(status, "Succeeded")["status"] == str(phase == "Succeeded")
    # The end is final, and tells what it had.
    later = told(seen(run(status), None, claim=None, nodes=[]), 60)
    assert {name: later[name] for name in status if name not in {"conditions", "claimName"}} == {
        name: value for name, value in status.items() if name not in {"conditions", "claimName"}
    }
    assert "claimName" not in later


def test_the_claim_of_a_finished_run_is_told_until_it_is_given_back() -> None:
    status = told(seen(run(STARTED), pod("Succeeded", state=exited(0)), claim=claim(0)))
    kept = run(status)
    assert told(seen(kept, claim=claim(0)))["claimName"] == "one"
    assert next_look(seen(kept, claim=claim(0)), Clocks(NOW)) is None
    # It may be gone before the end is written, which no event tells of again.
    assert next_look(seen(kept, claim=None), Clocks(NOW)) == timedelta(0)
    rest = told(seen(kept, claim=None))
    assert "claimName" not in rest
    assert next_look(seen(run(rest), claim=None), Clocks(NOW)) is None


def test_an_end_is_recorded_only_after_a_look_past_the_cache() -> None:
    ended = seen(run(UP), pod("Failed", state=exited(1)))
    assert wants_proof(ended, Clocks(NOW))
    assert told(ended, sure=False)["phase"] == "Serving"
    assert told(ended)["phase"] == "Failed"


def test_a_pod_that_is_deleted_before_its_program_ran_is_no_end() -> None:
    going = {"deletionTimestamp": at(5), "deletionGracePeriodSeconds": 30}
    assert why(seen(run(), pod("Pending", None, meta=going))) == ("Pending", "Deleting")
    assert why(seen(run(), None)) == ("Pending", "NotApplied")
    assert why(seen(run(STARTED), None)) == ("Failed", "PodDeleted")
    # This process has seen it run, though nobody has recorded that.
    assert why(seen(run(), None, last=pod())) == ("Failed", "PodDeleted")
    last = pod("Failed", state=exited(3))
    assert told(seen(run(STARTED), None, last=last))["exitCode"] == 3


def test_a_lost_node_is_told_and_then_the_end() -> None:
    assert why(seen(run(UP), pod(ready=True), nodes=[])) == ("Starting", "NodeNotReady")
    going = {"deletionTimestamp": at(-1)}
    assert why(seen(run(UP), pod(meta=going), nodes=[])) == ("Failed", "NodeLost")
    assert why(seen(run(UP), None, nodes=[])) == ("Failed", "NodeLost")
    assert why(seen(run(), pod("Pending", state=WAITING), nodes=[]))[1] == "NodeNotReady"


def test_whoever_makes_room_for_others_has_ended() -> None:
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    gone = pod("Failed", state=exited(143), conditions=[mark | {"lastTransitionTime": at(-8)}])
    status = told(seen(run(UP), gone))
    assert (status["phase"], status["reason"]) == ("Failed", "Preempted")
    assert "exitCode" not in status


def test_an_image_that_cannot_be_pulled_does_not_hold_gpus_for_ever() -> None:
    stuck = seen(run(), pod("Pending", state=NO_IMAGE), claim=claim(0))
    assert why(stuck) == ("Starting", "ImagePullFailed")
    assert next_look(stuck, Clocks(NOW)) == timedelta(seconds=101)
    assert why(stuck, 100) == ("Failed", "ImagePullFailed")


@pytest.mark.parametrize("port", [0, 8000])
def test_a_timeout_counts_until_its_program_starts(port: int) -> None:
    late = run(port=port, timeout="90s")
    waits = seen(late, pod("Pending", None))
    assert told(waits, 29)["phase"] == "Pending"
    assert next_look(waits, Clocks(NOW)) == timedelta(seconds=31)
    failed = told(waits, 30)
    assert (failed["phase"], failed["reason"]) == ("Failed", "TimedOut")
    assert failed["message"].startswith("it did not start within spec.timeout (90s): ")
    started = seen(late, pod())
    assert told(started, 3600)["phase"] == ("Starting" if port else "Running")
    # From then on, it runs for as long as it likes, whether its port answers or not.
    again = run(told(started), port=port, timeout="90s")
    assert told(seen(again, pod()), 3600)["phase"] != "Failed"
    assert next_look(seen(again, pod()), Clocks(NOW)) is None


def test_a_timeout_needs_both_clocks() -> None:
    waits = seen(run(timeout=30), pod("Pending", None))
    assert wants_proof(waits, Clocks(NOW))
    early = Clocks(NOW, NOW - timedelta(hours=1))
    assert not wants_proof(waits, early)


def test_an_expired_pod_is_given_up_only_by_both_clocks() -> None:
    ended = told(seen(run(STARTED), pod("Succeeded", state=exited(0))))
    kept = run(ended, ttlSecondsAfterFinished=60)
    assert condition(told(seen(kept)), "PodExpired")["status"] == "False"
    assert not wants_proof(seen(kept), Clocks(NOW))
    assert next_look(seen(kept), Clocks(NOW)) == timedelta(seconds=56)
    assert wants_proof(seen(kept), Clocks(NOW + timedelta(seconds=60)))
    assert condition(told(seen(kept), 60, sure=False), "PodExpired")["status"] == "False"
    expired = told(seen(kept), 60)
    assert condition(expired, "PodExpired")["status"] == "True"
    over = run(expired, ttlSecondsAfterFinished=600)
    assert condition(told(seen(over), 61), "PodExpired")["status"] == "True"
    assert next_look(seen(over), Clocks(NOW)) is None


def test_an_unhealthy_gpu_is_told_while_it_runs() -> None:
    view = View(gpus("n1", 2, sick=(1,)))
    status = told(seen(run(), pod(ready=True), claim=claim(0, 1), view=view))
    assert (status["phase"], status["reason"]) == ("Serving", "UnhealthyGPU")
    assert "unhealthy: GPU `GPU-n1-1`" in status["message"]
    assert [device.get("unhealthy") for device in status["devices"]] == [None, True]


def test_a_driver_that_does_not_hand_out_the_gpus_is_told() -> None:
    about = {"kind": "Pod", "name": "one-vllm-pod", "namespace": NAMESPACE}
    event = {
        "metadata": {"name": "e"},
        "involvedObject": about,
        "reason": "FailedPrepareDynamicResources",
        "message": "plugin is not registered",
    }
    around = Surroundings(warnings=[msgspec.convert(event, Event)])
    status = told(seen(run(), pod("Pending", state=WAITING), around=around))
    assert (status["phase"], status["reason"]) == ("Starting", "GPUsNotPrepared")
    assert "plugin is not registered" in status["message"]
    # Afterwards, something else keeps it from starting.
    prepared = {"type": "PodReadyToStartContainers", "status": "True"}
    backs_off = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    starts = pod("Pending", state=backs_off, conditions=[prepared])
    assert told(seen(run(), starts, around=around))["reason"] == "ImagePullFailed"


def test_what_is_being_deleted_is_left_as_it_was() -> None:
    going = run(UP, meta={"deletionTimestamp": at(0)})
    observed = seen(going, None)
    assert why(observed) == ("Serving", "Deleting")
    assert not wants_proof(observed, Clocks(NOW))
    assert next_look(observed, Clocks(NOW)) is None
