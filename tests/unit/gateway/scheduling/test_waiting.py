"""Whose turn it is, as far as the gateway says it."""

from __future__ import annotations

import doctest
from datetime import timedelta
from typing import Any

import pytest
from devctl_gateway.scheduling import waiting as module
from devctl_gateway.scheduling.waiting import in_queue, places, waits_for_room
from support.gateway_store import AT


def job(name: str = "job-1", made: int = 0, reason: str = "Waiting", **changes: Any) -> Any:
    at = f"{(AT + timedelta(seconds=made)).isoformat()}Z"
    spec = {"priority": "normal", "cancelled": False} | changes.pop("spec", {})
    status = {"phase": "Pending", "reason": reason} | changes
    return {
        "metadata": {"name": name, "creationTimestamp": at},
        "spec": spec,
        "status": status,
    }


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


def test_a_higher_priority_is_next_and_of_one_priority_the_older_one() -> None:
    jobs = {
        "low": job(made=0, spec={"priority": "low"}),
        "old": job(made=1),
        "new": job(made=2),
        "high": job(made=3, spec={"priority": "high"}),
        "runs": job(made=0, phase="Running"),
        "queued": job(made=0, reason="Queued"),
        "nowhere": job(made=0, reason="NoNode"),
        "cancelled": job(made=0, spec={"cancelled": True}),
    }
    assert places(jobs, {}) == {"high": 1, "old": 2, "new": 3, "low": 4}


def test_jobs_of_one_second_have_the_order_in_which_they_were_submitted() -> None:
    jobs = {name: job() for name in "abc"}
    submitted = {name: AT + timedelta(milliseconds=ms) for name, ms in zip("abc", (3, 1, 2))}  # noqa: B905
    assert places(jobs, submitted) == {"b": 1, "c": 2, "a": 3}


@pytest.mark.parametrize(
    ("found", "queue", "room"),
    [
        (job(reason="Queued", spec={"queueName": "q"}), "q", False),
        # Kueue has admitted it, and it waits for a node.
        (job(spec={"queueName": "q"}), "", True),
        (job(), "", True),
        (job(phase="Running", spec={"queueName": "q"}), "", False),
        (job(reason="Queued", spec={"queueName": "q", "cancelled": True}), "", False),
        ({"metadata": {}, "spec": {}}, "", False),
    ],
)
def test_what_a_job_waits_for(found: Any, queue: str, *, room: bool) -> None:
    assert (in_queue(found), waits_for_room(found)) == (queue, room)
