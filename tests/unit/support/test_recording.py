"""What is kept of a pod's status, and what kwok makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.plane import stages
from support.plane.recording import load, normalised, signature, steps, template
from support.plane.scenarios import SCENARIOS

RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
UID = "0a1b2c3d-0000-4000-8000-000000000000"


def pod(state: dict[str, Any], *, ready: bool = True, **status: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "base:other-name", "ready": ready, "state": state}
    container |= {"containerID": "containerd://1234", "resources": {"limits": {"memory": "1Mi"}}}
    return {
        "metadata": {"name": "lab-0", "namespace": "dev", "uid": UID},
        "spec": {"containers": [{"name": "main", "image": "base:1"}]},
        "status": {"containerStatuses": [container], **status},
    }


def test_nothing_of_one_pod_alone_is_kept() -> None:
    message = f"back-off restarting failed container=main pod=lab-0_dev({UID}) of base:1"
    found = normalised(
        pod(RUNNING, podIP="10.0.0.7", startTime="2026-01-01T00:00:00Z", message=message)
    )
    text = json.dumps(found)
    for own in ("lab-0", "dev", UID, "10.0.0.7", "2026", "1234", "base", "1Mi"):
        assert own not in text, own
    assert found["message"] == (
        "back-off restarting failed container=<container> pod=<pod>_<namespace>(<uid>) of <image>"
    )


@pytest.mark.parametrize(
    ("state", "ready", "expected"),
    [
        (RUNNING, True, "running/true"),
        (RUNNING, False, "running/false"),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, False, "waiting/CrashLoopBackOff"),
        ({"terminated": {"reason": "OOMKilled"}}, False, "terminated/OOMKilled"),
    ],
)
def test_a_signature_says_how_far_a_pod_is(state: Any, ready: bool, expected: str) -> None:  # noqa: FBT001
    assert signature(pod(state, ready=ready)["status"]) == expected
    assert signature({}) == ""


def test_of_what_comes_round_again_the_first_is_kept() -> None:
    round_trip = [pod(RUNNING), pod({"terminated": {"reason": "Error"}}), pod(RUNNING)]
    round_trip.append(pod({"waiting": {"reason": "CrashLoopBackOff"}}))
    found = steps([each["status"] for each in round_trip])
    assert [signature(status) for status in found] == [
        *("running/true", "terminated/Error", "waiting/CrashLoopBackOff"),
    ]


def test_a_template_puts_each_pods_own_in() -> None:
    text = template({"podIP": "<pod-ip>", "message": "of <image>", "startTime": "<start>"})
    assert '"of {{ (index .spec.containers 0).image }}"' in text
    assert '"startTime": {{ (or .status.startTime Now) | Quote }}' in text
    assert "<" not in text


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_scenario_is_recorded(scenario: Any) -> None:
    statuses = load(scenario.name)
    assert len(statuses) > 1
    assert len({signature(status) for status in statuses}) == len(statuses)


def test_every_stage_has_a_name_of_its_own() -> None:
    names = [
        stage["metadata"]["name"] for stage in map(json.loads, stages.document().split("\n---\n"))
    ]
    assert len(set(names)) == len(names)
    assert {"node-ready", "pod-gone", "volume-made", "crash-3"} <= set(names)
