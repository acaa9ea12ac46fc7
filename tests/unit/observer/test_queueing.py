"""Servers in a queue: why they wait, and what becomes of a preempted one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import httpx2
import msgspec
import pytest
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.queueing import is_preempted
from devctl_observer.kinds.servers.status import server_status
from devctl_observer.kinds.servers.transitions import transitions
from devctl_observer.watching import reflector
from devctl_observer.watching.reflector import Followed, Reflector
from devctl_observer.watching.store import Key, Store
from devctl_observer.watching.workloads import Queued, Workload, queued

from devctl.api.conditions import find
from unit.observer.objects import NOW, ago, flavor, made_from, pod, server
from unit.observer.running import figure, idle_observer, servers_of, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MINE = Key("dev-alice", "my-dev")
SHORT = (
    "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor"
    " cpu-small, 1 more needed"
)
NEVER = (
    "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor cpu-small,"
    " previously considered podsets requests (0) + current podset request (9) > maximum capacity"
    " (4)"
)


def condition(kind: str, status: str, reason: str, message: str = "") -> dict[str, str]:
    moment = ago(minutes=1)
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": moment,
    }


def workload(*conditions: dict[str, str], owner: str = "my-dev") -> Queued:
    """As decoded from the API server's JSON."""
    owners = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner, "uid": "s-1"}]
    found = msgspec.convert(
        {
            "metadata": {
                "name": "statefulset-my-dev-12345",
                "namespace": "dev-alice",
                "resourceVersion": "7",
                "uid": "w-1",
                "ownerReferences": owners if owner else [],
            },
            "spec": {"queueName": "devctl-cpu-small", "podSets": []},
            "status": {"conditions": list(conditions)},
        },
        Workload,
    )
    return queued(found)


PENDING = condition("QuotaReserved", "False", "Pending", SHORT)
PREEMPTED = (
    PENDING,
    condition("Evicted", "True", "Preempted", "Preempted to accommodate a workload"),
    condition("Preempted", "True", "InClusterQueue", "Preempted to accommodate a workload"),
)
ADMITTED = condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue")


def test_a_workload_is_preempted_before_it_loses_its_quota() -> None:
    found = workload(ADMITTED, *PREEMPTED[1:])
    assert (found.preempted, found.waits) == ("InClusterQueue", "")


def gated() -> Any:
    said = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    return pod(node=None, conditions=[said], containerStatuses=[])


def observed(of: Any, found: Queued | None, *pods: Any) -> Observed:
    return Observed(
        of,
        made=True,
        pods=pods,
        annotations=made_from(),
        flavors={"cpu-small": flavor()},
        queued=found,
    )


def ready(status: dict[str, Any]) -> tuple[str, str, str]:
    said = find(status, "Ready")
    return status["phase"], said["reason"], said["message"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (PENDING, "not enough quota is free: it needs 1 more cpu"),
        (PENDING | {"message": NEVER}, "it never fits: 9 cpu requested, but the quota is 4"),
        (PENDING | {"message": "ClusterQueue x is stopped"}, "ClusterQueue x is stopped"),
    ],
)
def test_a_queued_server_says_what_is_short(said: Any, told: str) -> None:
    status = server_status(observed(server(team="vision"), workload(said), gated()), NOW)
    where = "waiting in the queue of team `vision` for flavor `cpu-small`: "
    assert ready(status) == ("Pending", "Queued", where + told)
    (event,) = transitions({}, status)
    assert (event.type, event.reason) == ("Normal", "Queued")


def test_a_server_of_no_team_names_its_queue() -> None:
    status = server_status(observed(server(), workload(PENDING), gated()), NOW)
    assert ready(status)[2].startswith("waiting in queue `devctl-cpu-small`: not enough")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (None, "Kueue has not answered yet; check with `devctl doctor`"),
        (workload(), "for flavor `cpu-small`: its turn has not come yet"),
    ],
)
def test_without_a_reason_of_kueue(found: Queued | None, told: str) -> None:
    status = server_status(observed(server(team="vision"), found, gated()), NOW)
    assert ready(status)[:2] == ("Pending", "Queued")
    assert told in ready(status)[2]


def test_a_new_server_says_that_kueue_is_down() -> None:
    refused = {
        "type": "Applied",
        "status": "False",
        "reason": "Unavailable",
        "message": (
            "StatefulSet `my-dev`: Internal error occurred: failed calling webhook "
            '"mstatefulset.kb.io": failed to call webhook: Post '
            '"https://kueue-webhook-service.kueue-system.svc:443/": no endpoints available'
        ),
        "observedGeneration": 3,
    }
    status = server_status(observed(server({"conditions": [refused]}, team="vision"), None), NOW)
    assert ready(status)[:2] == ("Pending", "QueueUnavailable")
    assert "Kueue does not answer, which admits servers of team `vision`" in ready(status)[2]
    status = server_status(observed(server({"conditions": [refused]}), None), NOW)
    assert ready(status)[1] == "Unavailable"


def test_an_admitted_server_is_judged_by_its_pods() -> None:
    status = server_status(observed(server(), workload(ADMITTED), pod(ready=True)), NOW)
    assert ready(status) == ("Running", "Ready", "the server is ready")


def test_a_preempted_server_keeps_the_reason_until_it_is_started_again() -> None:
    found = workload(*PREEMPTED)
    first = observed(server(), found, gated())
    assert is_preempted(first)
    told = server_status(first, NOW)
    phase, reason, message = ready(told)
    assert (phase, reason) == ("Stopping", "Preempted")
    assert "a server or job with a higher priority needed its quota" in message
    assert "its files are kept" in message
    assert "`devctl start my-dev`" in message
    assert told["preemptedAt"] == ago(minutes=1)
    # The observer was killed before it could stop the server.
    assert is_preempted(observed(server(told), found, gated()))

    stopped = server(told, {"generation": 4}, stopped=True)
    assert not is_preempted(observed(stopped, found))
    done = server_status(observed(stopped, found), NOW)
    assert ready(done) == ("Stopped", "Preempted", message)
    assert list(transitions(told, done)) == []
    # Whatever becomes of the Workload.
    later = observed(server(done, {"generation": 4}, stopped=True), None)
    assert ready(server_status(later, NOW)) == ("Stopped", "Preempted", message)

    started = server(done, {"generation": 5})
    again = observed(started, found, gated())
    assert not is_preempted(again)
    assert ready(server_status(again, NOW))[:2] == ("Pending", "Queued")
    # A second preemption is another one.
    second = [entry | {"lastTransitionTime": ago(seconds=1)} for entry in PREEMPTED]
    assert is_preempted(observed(started, workload(*second), gated()))


def test_a_server_that_was_stopped_when_it_was_preempted_is_not_stopped_at_its_start() -> None:
    found = workload(*PREEMPTED)
    status = server_status(observed(server(stopped=True), found), NOW)
    assert ready(status)[:2] == ("Stopped", "Stopped")
    assert not is_preempted(observed(server(status, {"generation": 4}), found, gated()))


def test_reclaimed_quota_is_named() -> None:
    reclaimed = condition("Preempted", "True", "InCohortReclamation")
    seen = observed(server(), workload(*PREEMPTED[:2], reclaimed), gated())
    assert "another team took back the quota that it had lent" in ready(server_status(seen, NOW))[2]


def test_an_admission_after_a_preemption_ends_it() -> None:
    reset = {"status": "False", "reason": "QuotaReserved"}
    assert not workload(ADMITTED, *(each | reset for each in PREEMPTED[1:])).preempted
    held = condition("QuotaReserved", "False", "OnHold", "StatefulSet scaled to zero")
    assert not workload(held).waits
    assert workload(owner="").owner.key == Key("dev-alice", "")


def test_a_preempted_server_is_stopped_once() -> None:
    """With the status first, which has the reason."""
    done: list[str] = []

    class Api:
        async def apply_status(self, kind: Any, meta: Any, status: Any) -> dict[str, Any]:
            assert kind.name == "DevServer"
            done.append(f"{status['phase']} {find(status, 'Ready')['reason']}")
            applied = {"name": meta.name, "namespace": meta.namespace, "generation": 3}
            spec = {"owner": "alice", "flavor": "cpu-small"}
            return {"metadata": applied, "spec": spec, "status": status}

        async def tell(self, _kind: Any, _meta: Any, _version: str, said: Any) -> None:
            done.append(f"Event {said.reason}")

        async def change(self, _kind: Any, _meta: Any, spec: Any) -> bool:
            done.append(f"{spec}")
            return True

        async def list_now(self, *_args: Any) -> list[Any]:
            return []

        async def wake(self, *_args: Any) -> dict[str, Any]:
            raise AssertionError

    async def run() -> None:
        one = idle_observer(Api())
        servers = servers_of(one)
        servers.store.put(MINE, 1, server())
        one.children.workloads.put(Key("dev-alice", "w"), 1, workload(*PREEMPTED))
        await servers.controller.look(MINE)

    stops = figure("devserver_stops_total", reason="Preempted")
    asyncio.run(run())
    assert figure("devserver_stops_total", reason="Preempted") == stops + 1
    assert done == ["Stopping Preempted", "Event Preempted", "{'stopped': True}"]


def test_a_change_of_a_workload_concerns_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> list[Key]:
        one = idle_observer()
        servers = servers_of(one)
        seen: list[Key] = []
        monkeypatch.setattr(servers.queue, "add", seen.append)
        servers.store.put(MINE, 1, server())
        (followed,) = [each for each in one.shared if each.kind is Workload]
        followed.changed(None, workload(PENDING))
        followed.changed(workload(PENDING), workload(ADMITTED))
        followed.changed(None, workload(PENDING, owner="other"))
        return seen

    assert asyncio.run(run()) == [MINE, MINE]


class Listed:
    """The answer to a list, or its refusal."""

    resourceVersion = "7"  # noqa: N815 - the library's name

    def __init__(self, objects: list[Any] | int) -> None:
        self.objects = objects

    async def __aiter__(self) -> AsyncIterator[Any]:
        if isinstance(self.objects, int):
            request = httpx2.Request("GET", "http://api")
            response = httpx2.Response(self.objects, request=request)
            raise httpx2.HTTPStatusError("refused", request=request, response=response)
        for found in self.objects:
            yield found


class Source:
    """Lists in turn; each watch ends with an error."""

    def __init__(self, *answers: list[Any] | int) -> None:
        self.answers = list(answers)
        self.lists = 0

    def list(self, _kind: Any, _selectors: Any) -> Listed:
        self.lists += 1
        return Listed(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])

    async def watch(self, *_args: Any) -> AsyncIterator[Any]:
        raise httpx2.ReadError("over")
        yield


def test_an_optional_kind_is_found_once_it_is_installed_and_left_when_it_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reflector, "_ABSENT", 0.0)
    changes: list[tuple[Any, Any]] = []
    found = SimpleNamespace(
        metadata=SimpleNamespace(namespace="n", name="w", resourceVersion="5"), value=1
    )
    store: Store[Any] = Store()
    source = Source(404, 404, [found], 404)
    followed = Followed(
        Workload,
        store,
        lambda obj: obj.value,
        lambda old, new: changes.append((old, new)),
        optional=True,
    )
    one = Reflector(cast("Any", source), followed)
    assert one.problem

    async def run() -> None:
        await until(one.run(), lambda: len(changes) == 2)

    asyncio.run(run())
    assert changes == [(None, 1), (1, None)]
    assert not one.problem


def test_a_kind_that_must_exist_is_a_problem_if_it_does_not() -> None:
    source = Source(404)
    one = Reflector(cast("Any", source), Followed(Workload, Store(), id, lambda *_: None))

    async def run() -> None:
        await until(one.run(), lambda: source.lists == 2)

    asyncio.run(run())
    assert "Workload" in one.problem
