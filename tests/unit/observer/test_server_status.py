from __future__ import annotations

from typing import Any

import msgspec
import pytest
from devctl_observer.judging.conditions import MESSAGE_LIMIT, own_part
from devctl_observer.judging.pods import Surroundings
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.phase import addition
from devctl_observer.kinds.servers.status import OWN, server_status
from devctl_observer.kinds.servers.transitions import transitions

from devctl.api.conditions import find
from unit.observer.objects import (
    NOW,
    ago,
    container,
    distributed,
    exited,
    flavor,
    made_from,
    pod,
    server,
    unscheduled,
    warning,
)

FLAVORS = {"cpu-small": flavor()}
BUSY = "0/2 nodes are available: 2 Insufficient cpu"
UNFIT = "flavor `cpu-small` fits no node: none of 2 nodes fits: 2 x cpu; choose another one"


def status(seen: Any = None, *pods: Any, made: bool = True, **more: Any) -> dict[str, Any]:
    around = more.pop("around", Surroundings())
    flavors = more.pop("flavors", FLAVORS)
    observed = Observed(
        seen or server(),
        made=made,
        pods=pods,
        around=around,
        flavors=flavors,
        annotations=more.pop("annotations", {}),
    )
    return server_status(observed, NOW)


def ready(found: dict[str, Any]) -> tuple[str, str, str, str]:
    entry = find(found, "Ready")
    return found["phase"], entry["status"], entry["reason"], entry["message"]


def test_a_running_server_tells_where_it_is() -> None:
    found = status(server(), pod(ready=True))
    assert ready(found) == ("Running", "True", "Ready", "the server is ready")
    assert {k: v for k, v in found.items() if k not in {"conditions", "replicaStatuses"}} == {
        "phase": "Running",
        "replicas": 1,
        "readyReplicas": 1,
        "endpoints": {
            "hosts": ["my-dev-0.my-dev.dev-alice.svc"],
            "master": "my-dev-0.my-dev.dev-alice.svc:29500",
            "ssh": "devctl ssh my-dev --namespace dev-alice",
        },
        "startedAt": ago(minutes=10),
        "flavorGeneration": 1,
    }
    assert found["replicaStatuses"][0]["node"] == "node-a"
    assert [c["type"] for c in found["conditions"]] == [
        "FlavorOutdated",
        "Ready",
        "RestartRequired",
    ]
    assert {c["observedGeneration"] for c in found["conditions"]} == {3}


def test_a_distributed_server_is_ready_when_all_of_it_is() -> None:
    whole = server(**distributed(2), enableSSH=False)
    found = status(whole, pod(0, ready=True), pod(1, ready=True))
    assert ready(found) == ("Running", "True", "Ready", "2 of 2 replicas ready")
    assert found["endpoints"] == {
        "hosts": ["my-dev-0.my-dev.dev-alice.svc", "my-dev-1.my-dev.dev-alice.svc"],
        "master": "my-dev-0.my-dev.dev-alice.svc:29500",
    }
    part = status(whole, pod(0, ready=True))
    assert part["readyReplicas"] == 1
    assert ready(part)[:3] == ("Pending", "False", "PodMissing")
    assert ready(part)[3].startswith("1 of 2 replicas ready; replica 1: ")


def test_of_several_troubles_the_gravest_is_told() -> None:
    crash = container(restarts=5, state={"waiting": {"reason": "CrashLoopBackOff"}}, last=exited(1))
    found = status(
        server(**distributed(3)),
        pod(0),
        unscheduled("0/1 nodes are available: 1 Insufficient cpu."),
        pod(2, containerStatuses=[crash]),
    )
    assert ready(found)[:3] == ("Failed", "False", "CrashLoop")
    assert "replica 2: container `main` exited with code 1" in ready(found)[3]


def test_before_there_is_anything() -> None:
    assert ready(status(made=False))[:3] == ("Pending", "False", "NotApplied")
    assert ready(status())[:3] == ("Pending", "False", "PodMissing")


def applied(status: str, generation: int, reason: str = "Conflict") -> dict[str, Any]:
    return {
        "type": "Applied",
        "status": status,
        "reason": reason,
        "message": "a foreign Service `my-dev` is in the way",
        "observedGeneration": generation,
    }


def test_the_roles_failure_is_passed_on_for_the_present_generation_only() -> None:
    failed = server({"conditions": [applied("False", 3)]})
    assert ready(status(failed, made=False)) == (
        *("Failed", "False", "Conflict", "a foreign Service `my-dev` is in the way"),
    )
    for entry in (applied("False", 2), applied("True", 3)):
        old = server({"conditions": [entry]})
        assert ready(status(old, made=False))[2] == "NotApplied"
    # Running pods are not affected by an invalid change.
    running = ready(status(failed, pod(ready=True)))
    assert running[:3] == ("Running", "True", "Ready")
    assert running[3] == (
        "the server is ready; but its current spec is not applied (Conflict): "
        "a foreign Service `my-dev` is in the way"
    )


@pytest.mark.parametrize(
    ("reason", "phase"),
    [
        *(("Conflict", "Failed"), ("Invalid", "Failed"), ("Forbidden", "Failed")),
        *(("TemplateError", "Failed"), ("QuotaExceeded", "Pending")),
        *(("Terminating", "Pending"), ("Unavailable", "Pending")),
    ],
)
def test_what_passes_by_itself_is_no_failure(reason: str, phase: str) -> None:
    failed = server({"conditions": [applied("False", 3, reason)]})
    assert ready(status(failed, made=False))[:3] == (phase, "False", reason)
    told = "is not applied" in ready(status(failed, pod(ready=True)))[3]
    assert told is (reason not in {"Terminating", "Unavailable"})


@pytest.mark.parametrize(
    ("its_pod", "fits", "reason", "said"),
    [
        (unscheduled(BUSY), "False", "Unschedulable", UNFIT),
        (
            unscheduled("pod has unbound immediate PersistentVolumeClaims"),
            "False",
            "Unschedulable",
            UNFIT,
        ),
        (unscheduled(BUSY), "True", "Unschedulable", "wait until others stop"),
        (pod(ready=True), "False", "Ready", "the server is ready"),
        (pod(), "False", "Creating", "its container is starting"),
    ],
)
def test_what_fits_no_node_says_so_before_all_that_follows_from_it(
    its_pod: Any, fits: str, reason: str, said: str
) -> None:
    why = {"type": "Schedulable", "status": fits, "message": "none of 2 nodes fits: 2 x cpu"}
    runs = msgspec.structs.replace(flavor(), status={"conditions": [why]})
    # Its current spec names another flavor, which fits.
    known: dict[str, Any] = {
        "flavors": {"cpu-small": runs, "other": flavor("other")},
        "annotations": made_from(),
    }
    found = status(server(flavor="other"), its_pod, **known)
    assert ready(found)[2] == reason
    assert said in ready(found)[3]
    if fits == "False":
        found = status(server(flavor="other"), its_pod, around=Surroundings(absent="x"), **known)
        assert ready(found)[2] == reason


def test_a_stop_that_is_not_applied_is_not_silent() -> None:
    stopped = server({"conditions": [applied("False", 3)]}, stopped=True)
    assert ready(status(stopped, pod(ready=True)))[3].endswith(
        "a foreign Service `my-dev` is in the way"
    )
    assert "foreign" not in ready(status(stopped))[3]


def test_an_addition_is_kept_however_long_the_rest_is() -> None:
    said = applied("False", 3) | {"message": "x" * 5000}
    gone = container(state={"waiting": {"reason": "ErrImagePull", "message": "y" * 5000}})
    seen = server({"conditions": [said]})
    message = ready(status(seen, pod(containerStatuses=[gone])))[3]
    assert len(message) == MESSAGE_LIMIT
    assert message.endswith(addition(seen))


def test_stopping_stopped_and_deleted() -> None:
    stopped = server(stopped=True)
    found = status(stopped, pod(ready=True))
    assert ready(found)[:3] == ("Stopping", "False", "Stopping")
    assert [r["pod"] for r in found["replicaStatuses"]] == ["my-dev-0"]
    found = status(stopped)
    assert ready(found)[:3] == ("Stopped", "False", "Stopped")
    assert "its files are kept" in ready(found)[3]
    assert (found["replicas"], found["replicaStatuses"]) == (0, [])
    assert "endpoints" not in found
    gone = server(meta={"deletionTimestamp": ago(seconds=1)})
    assert ready(status(gone, pod(ready=True)))[:3] == ("Stopping", "False", "Deleting")


def test_a_wanted_pod_that_ends_means_a_new_start() -> None:
    ending = pod(ready=True, meta={"deletionTimestamp": ago(seconds=1)})
    assert ready(status(server(), ending))[:3] == ("Starting", "False", "Terminating")


def test_pods_beyond_the_size_do_not_make_it_unready() -> None:
    found = status(server(), pod(0, ready=True), pod(1, ready=True))
    assert ready(found)[0] == "Running"
    assert found["readyReplicas"] == 1
    assert len(found["replicaStatuses"]) == 2


@pytest.mark.parametrize(
    ("name", "flavors", "said"),
    [
        ("gone", {"a": flavor("a"), "b": flavor("b")}, "set spec.flavor to one of: a, b"),
        ("gone", {}, "there are no flavors yet"),
        (None, {"a": flavor("a")}, "names no flavor and no flavor is the default"),
        (
            None,
            {n: flavor(n, default=True) for n in "ab"},
            "names no flavor and several flavors are the default (a, b); set spec.flavor to one",
        ),
        ("gone", {str(n): flavor(str(n)) for n in range(10)}, "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"),
    ],
)
def test_a_flavor_that_cannot_be_used(name: str | None, flavors: Any, said: str) -> None:
    found = status(server(flavor=name), made=False, flavors=flavors)
    assert ready(found)[:3] == ("Failed", "False", "InvalidFlavor")
    assert said in ready(found)[3]
    assert find(found, "FlavorOutdated")["status"] == "Unknown"
    running = status(server(flavor=name), pod(ready=True), flavors=flavors)
    assert ready(running)[0] == "Running"


def test_the_default_flavor_serves_who_names_none() -> None:
    only = {"cpu-small": flavor(default=True)}
    found = status(server(flavor=None), pod(ready=True), flavors=only)
    assert find(found, "FlavorOutdated")["reason"] == "UpToDate"


@pytest.mark.parametrize(
    ("pods", "generation", "name", "expected"),
    [
        ([pod(ready=True)], 1, "cpu-small", ("False", "UpToDate")),
        ([pod(ready=True)], 2, "cpu-small", ("True", "FlavorChanged")),
        ([pod(ready=True)], 1, "other", ("True", "OtherFlavor")),
        ([], 2, "cpu-small", ("False", "NotRunning")),
        ([pod(ready=True, meta={"annotations": None})], 1, "cpu-small", ("Unknown", "NotRecorded")),
    ],
)
def test_a_flavor_that_changed_waits_for_the_next_start(
    pods: Any, generation: int, name: str, expected: tuple[str, str]
) -> None:
    flavors = {name: flavor(name, generation)}
    found = find(status(server(flavor=name), *pods, flavors=flavors), "FlavorOutdated")
    assert (found["status"], found["reason"]) == expected


def test_pods_that_do_not_say_it_were_made_from_what_their_stateful_set_says() -> None:
    silent = pod(ready=True, meta={"annotations": None})
    assert status(server(), silent, annotations=made_from(generation=7))["flavorGeneration"] == 7


def test_the_requests_are_those_that_the_pods_were_created_from() -> None:
    gives = {"resources": {"requests": {"cpu": 2}, "limits": {"cpu": "4", "nvidia.com/gpu": 1}}}
    record = made_from(gives=gives)
    found = status(server(), pod(ready=True), annotations=record, flavors={"cpu-small": flavor()})
    assert found["requests"] == {"cpu": "2", "nvidia.com/gpu": "1"}
    # Without pods there are none, and an empty record says nothing.
    assert "requests" not in status(server(stopped=True), annotations=record)
    nothing = made_from(gives={"resources": {}})
    assert "requests" not in status(server(), pod(ready=True), annotations=nothing)


def test_a_status_derived_from_itself_stays() -> None:
    lived = {"lifecycle": {"timeToLive": "1d"}}
    first = status(server(**lived), pod(ready=True))
    foreign = applied("True", 3)
    stored = {**first, "conditions": [foreign, *reversed(first["conditions"])]}
    later = server_status(
        Observed(server(stored, **lived), made=True, pods=[pod(ready=True)], flavors=FLAVORS),
        NOW.replace(hour=13),
    )
    assert later == first
    assert own_part(stored, OWN) == later


def test_a_transition_time_moves_with_the_status_only() -> None:
    first = status()
    second = status(server(first), pod())
    before, after = find(first, "Ready"), find(second, "Ready")
    assert before["reason"] != after["reason"]
    assert before["lastTransitionTime"] == after["lastTransitionTime"]


def test_a_refusal_from_before_it_ran_is_not_told_again() -> None:
    refused = warning(
        *("StatefulSet", "my-dev", "FailedCreate", "exceeded quota: team"),
        lastTimestamp=ago(minutes=20),
    )
    around = Surroundings(warnings=(refused,))
    was_ready = {"type": "Ready", "status": "True", "lastTransitionTime": ago(minutes=10)}
    was_not = {"type": "Ready", "status": "False", "lastTransitionTime": ago(minutes=21)}
    assert ready(status(server({"conditions": [was_ready]}), around=around))[2] == "PodMissing"
    assert ready(status(server({"conditions": [was_not]}), around=around))[2] == "QuotaExceeded"


def test_events_tell_of_transitions_once() -> None:
    nothing: dict[str, Any] = {}
    pending = status(made=False)
    running = status(server(), pod(ready=True))
    failed = status(server(flavor="gone"), made=False)
    stuck = status(server(), unscheduled("0/1 nodes are available: 1 Insufficient cpu."))
    outdated = status(server(), pod(ready=True), flavors={"cpu-small": flavor(generation=2)})

    def told(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str]]:
        return [(t.type, t.reason) for t in transitions(before, after)]

    assert told(nothing, pending) == [("Normal", "Pending")]
    assert told(pending, running) == [("Normal", "Running")]
    assert told(pending, failed) == [("Warning", "InvalidFlavor")]
    assert told(pending, stuck) == [("Warning", "Unschedulable")]
    assert told(running, outdated) == [("Normal", "FlavorOutdated")]
    assert told(outdated, outdated) == []
