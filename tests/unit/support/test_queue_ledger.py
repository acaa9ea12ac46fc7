from __future__ import annotations

from typing import Any

import pytest
from support.queue_ledger import Ledger

from devctl.api.queues import QUEUE_NAME


def stamp(second: int) -> str:
    return f"2026-01-02T12:00:{second:02}Z"


def workload(
    name: str, created: int, admitted: int | None, priority: int = 0, pods: int = 1
) -> dict[str, Any]:
    meta = {"namespace": "dev", "name": name, "creationTimestamp": stamp(created)}
    spec = {"priority": priority, "podSets": [{"count": pods}]}
    if admitted is None:
        return {"metadata": meta, "spec": spec}
    said = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": stamp(admitted)}
    status = {"conditions": [said], "admission": {"clusterQueue": "vision.small"}}
    return {"metadata": meta, "spec": spec, "status": status}


def pod(name: str, *gates: str) -> dict[str, Any]:
    meta = {"namespace": "dev", "name": name, "labels": {QUEUE_NAME: "devctl-small"}}
    return {"metadata": meta, "spec": {"schedulingGates": [{"name": gate} for gate in gates]}}


@pytest.fixture
def ledger() -> Ledger:
    return Ledger({"vision.small": 2}, {("dev", "devctl-small"): "vision.small"})


def test_workloads_that_hold_more_than_the_quota_are_told(ledger: Ledger) -> None:
    ledger.workload("ADDED", workload("a", 0, 1))
    ledger.workload("ADDED", workload("b", 0, 1))
    assert not ledger.exceeded
    ledger.workload("DELETED", workload("b", 0, 1))
    ledger.workload("ADDED", workload("c", 0, 1))
    assert not ledger.exceeded
    ledger.workload("ADDED", workload("d", 0, 1))
    assert ledger.exceeded == ["vision.small: 3 of 2 Workloads, with dev/d"]
    assert ledger.most == {"vision.small": 3}


def test_pods_that_may_start_are_counted_apart(ledger: Ledger) -> None:
    for name in ("a", "b"):
        ledger.pod("ADDED", pod(name))
    ledger.pod("ADDED", pod("c", "kueue.x-k8s.io/admission"))
    assert not ledger.exceeded
    ledger.pod("MODIFIED", pod("c"))
    assert ledger.exceeded == ["vision.small: 3 of 2 pods, with dev/c"]


@pytest.mark.parametrize(
    ("first", "second", "overtaken"),
    [
        (workload("a", 0, 9), workload("b", 3, 9), False),
        (workload("a", 0, 9), workload("b", 3, 5), True),
        (workload("a", 3, 9), workload("b", 3, 5), False),  # created within the same second
        (workload("a", 7, 9), workload("b", 3, 5), False),
        (workload("a", 3, 9, priority=1000), workload("b", 0, 5), True),
        (workload("a", 5, 9, priority=1000), workload("b", 0, 5), False),  # not there yet
        (workload("a", 0, 5, priority=-1), workload("b", 3, 9), True),
    ],
)
def test_who_was_there_and_comes_first_gets_quota_first(
    ledger: Ledger, first: dict[str, Any], second: dict[str, Any], *, overtaken: bool
) -> None:
    for one in (first, second):
        ledger.workload("ADDED", one)
    assert bool(ledger.overtaken()) == overtaken


def test_those_without_quota_wait(ledger: Ledger) -> None:
    ledger.workload("ADDED", workload("a", 0, None))
    assert ledger.waiting == {"dev/a"}
    ledger.workload("MODIFIED", workload("a", 0, 1))
    assert not ledger.waiting
