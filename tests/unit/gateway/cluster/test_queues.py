"""Places in Kueue's queues: by its word, and by its Workloads where that cannot be had."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from devctl_gateway.cluster.queues import Queues
from devctl_gateway.cluster.workloads import places

pytestmark = pytest.mark.anyio
VISIBILITY = (
    "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/imagepod/localqueues/q/pendingworkloads"
)
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/imagepod/workloads"


def workload(name: str, second: int = 0, priority: int = 0, **changes: Any) -> dict[str, Any]:
    """A Workload of a Job."""
    owners = [{"kind": "Job", "name": name}]
    metadata = {"name": f"job-{name}", "uid": name, "ownerReferences": owners}
    metadata |= {"creationTimestamp": f"2026-05-04T12:00:{second:02}Z"}
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-05-04T12:01:00Z"} | more
        for kind, more in changes.pop("conditions", {}).items()
    ]
    spec = {"queueName": "q", "priority": priority, "active": True} | changes
    return {"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}


def test_workloads_have_kueues_order_and_those_with_quota_no_place() -> None:
    found = [
        workload("new", 2),
        workload("old", 1),
        workload("low", 0, -1000),
        workload("high", 3, 1000),
        workload("admitted", conditions={"QuotaReserved": {}}),
        workload("done", conditions={"Finished": {}}),
        workload("held", active=False),
        workload("other", queueName="r"),
    ]
    assert places(found, "q") == {"high": 1, "old": 2, "new": 3, "low": 4}


@pytest.mark.parametrize(
    ("reason", "first"),
    [("PodsReadyTimeout", "new"), ("AdmissionCheck", "new"), ("Preempted", "old")],
)
def test_one_that_was_preempted_keeps_its_age(reason: str, first: str) -> None:
    old = workload("old", 1, conditions={"Evicted": {"reason": reason}})
    assert places([workload("new", 2), old], "q")[first] == 1


class Api:
    """Answers of the API server, by path; a path without one is refused."""

    def __init__(self, **answers: list[dict[str, Any]]) -> None:
        self.answers, self.asked, self.now = answers, list[str](), 0.0
        http = httpx2.AsyncClient(
            transport=httpx2.MockTransport(self._answer), base_url="https://a"
        )
        self.queues = Queues(http, "imagepod", lambda: self.now)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        name = {VISIBILITY: "visibility", WORKLOADS: "workloads"}[request.url.path]
        self.asked.append(name)
        if name not in self.answers:
            return httpx2.Response(403, json={"message": "you may not"})
        return httpx2.Response(200, json={"items": self.answers[name]})


def pending(name: str, ahead: int) -> dict[str, Any]:
    owners = [{"kind": "Job", "name": name}]
    return {"metadata": {"ownerReferences": owners}, "positionInClusterQueue": ahead}


async def test_kueues_own_word_comes_first_and_is_kept_for_a_moment() -> None:
    api = Api(visibility=[pending("job-1", 4), pending("job-2", 0)], workloads=[workload("job-1")])
    assert await api.queues.places("q") == {"job-1": 5, "job-2": 1}
    assert await api.queues.places("q") == {"job-1": 5, "job-2": 1}
    assert api.asked == ["visibility"]
    api.now += 3
    await api.queues.places("q")
    assert api.asked == ["visibility"] * 2


async def test_a_queue_that_kueue_says_is_empty_is_empty() -> None:
    api = Api(visibility=[], workloads=[workload("job-1")])
    assert await api.queues.places("q") == {}
    assert api.asked == ["visibility"]


async def test_without_it_workloads_tell_and_it_is_asked_again_later() -> None:
    api = Api(workloads=[workload("job-2", 2), workload("job-1", 1)])
    assert await api.queues.places("q") == {"job-1": 1, "job-2": 2}
    api.now += 3
    await api.queues.places("q")
    assert api.asked == ["visibility", "workloads", "workloads"]
    api.answers["visibility"] = [pending("job-1", 7)]
    api.now += 60
    assert await api.queues.places("q") == {"job-1": 8}


async def test_without_kueue_no_job_has_a_place() -> None:
    assert await Api().queues.places("q") == {}
