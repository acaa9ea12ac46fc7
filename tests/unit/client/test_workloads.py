"""GPU workloads: followed to their end, read attempt by attempt, and cancelled."""

from __future__ import annotations

import doctest
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api import gpu_workload as words
from devctl.client import waiting
from devctl.client.workloads import workloads as workloads_module
from devctl.client.workloads.output import merged
from devctl.client.workloads.workload import Workload, check_name
from devctl.client.workloads.workloads import Workloads
from devctl.errors import (
    AlreadyExistsError,
    BusyError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from unit.client.fake_cluster import FakeApi, Thing, event
from unit.client.objects import EVENTS, PODS
from unit.client.workload_things import KEY, WORKLOADS, attempt_pod, gpu_workload
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from devctl.client.workloads.output import Output


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_RETRY", 0.01)


@pytest.fixture
def workloads(api: FakeApi) -> Workloads:
    return Workloads(api.cluster())


def becomes(api: FakeApi, phase: str, **status: Any) -> Callable[[], None]:
    def change() -> None:
        api.things[KEY] |= {"status": gpu_workload("llama", phase, **status)["status"]}

    return change


def texts(pieces: Iterable[Output]) -> dict[int, bytes]:
    """What each attempt has printed."""
    found: dict[int, bytes] = {}
    for attempt, _, data in pieces:
        found[attempt] = found.get(attempt, b"") + data
    return found


def test_examples() -> None:
    for module in (words, workloads_module):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a" * 53, "a/b", "../x", "a\n", "ä"])
def test_a_name_that_none_can_have_is_refused(workloads: Workloads, name: str) -> None:
    for act in (workloads.get, workloads.find, workloads.follow, workloads.cancel):
        with pytest.raises(UsageError, match="cannot be a GPU workload's name"):
            act(name)


def test_the_longest_name_is_one(workloads: Workloads) -> None:
    assert workloads.find("a" * 52) is None
    with pytest.raises(NotFoundError, match="there is no GPU workload `a`"):
        workloads.get("a")


def test_several_pods_and_their_nodes() -> None:
    assert (Workload(gpu_workload()).nodes, Workload(gpu_workload()).assigned) == (1, [])
    raw = gpu_workload("llama", "Running", spec={"nodes": 2}, assignedNodes=["a", "b"])
    assert (Workload(raw).nodes, Workload(raw).assigned) == (2, ["a", "b"])


def test_what_is_not_said_has_the_schemas_defaults() -> None:
    raw = gpu_workload()
    raw["spec"] = {"modelName": "m", "gpuCount": 1}
    found = Workload(raw)
    assert (found.priority, found.strategy, found.max_retries) == ("normal", "leastLoaded", 3)
    assert (found.phase, found.attempt, found.retries, found.printed) == ("Pending", 0, 0, 0)


@pytest.mark.parametrize(
    ("phase", "reason", "finished"),
    [
        ("Succeeded", "Completed", True),
        ("Failed", "NonZeroExit", True),
        ("Failed", "UnknownStrategy", False),
        ("Pending", "Stopped", False),
        ("Suspicious", "", False),
    ],
)
def test_which_have_ended(phase: str, reason: str, *, finished: bool) -> None:
    assert Workload(gpu_workload("llama", phase, reason=reason)).finished is finished


def test_a_role_that_fails_is_the_reason() -> None:
    said = {"type": "Applied", "status": "False", "reason": "Conflict", "message": "it is theirs"}
    found = Workload(gpu_workload("llama", "Scheduling", reason="Scheduling", conditions=[said]))
    assert (found.reason, found.message) == ("Conflict", "it is theirs")


def test_one_is_followed_to_its_end(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload())
    api.then = [becomes(api, "Running"), becomes(api, "Pending"), becomes(api, "Succeeded")]
    phases = [found.phase for found in workloads.follow("llama", 5)]
    assert phases == ["Pending", "Running", "Pending", "Succeeded"]


def test_one_that_does_not_end_in_time(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Pending", message="no node has 2 free GPUs"))
    with pytest.raises(WaitTimeoutError, match="no node has 2 free GPUs"):
        list(workloads.follow("llama", 0.05))


def test_another_one_of_its_name_is_not_it(api: FakeApi, workloads: Workloads) -> None:
    def recreated() -> None:
        api.drop(WORKLOADS, "llama")
        api.add(WORKLOADS, gpu_workload("llama", "Succeeded"))

    api.add(WORKLOADS, gpu_workload())
    api.then = [recreated]
    with pytest.raises(NotFoundError, match="recreated"):
        list(workloads.follow("llama", 5))


def test_a_cancelled_one_stays(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Running"))
    assert workloads.cancel("llama").stopped
    assert api.things[KEY]["spec"]["gpuCount"] == 2


def test_a_new_one_of_the_name_is_not_cancelled(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Running"))
    seen = workloads.get("llama")
    api.drop(WORKLOADS, "llama")
    api.add(WORKLOADS, gpu_workload("llama", "Running"))
    with pytest.raises(DevctlError, match="got uid-2"):
        workloads.cancel(seen)
    assert not workloads.get("llama").stopped


def test_a_stopped_one_starts_again(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Pending", spec={"stopped": True}, reason="Stopped"))
    found = workloads.retry("llama")
    assert (found.name, found.stopped) == ("llama", False)
    assert api.names(WORKLOADS) == ["llama"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_of_one_that_has_ended_a_copy_starts(
    phase: str, api: FakeApi, workloads: Workloads
) -> None:
    spec = {"stopped": True, "owner": "bob@company.com", "gpuCount": 4}
    api.add(WORKLOADS, gpu_workload("llama", phase, spec=spec), gpu_workload("llama-2"))
    made = workloads.retry("llama")
    assert (made.name, made.gpus, made.stopped, made.status) == ("llama-3", 4, False, {})
    # It is its creator's.
    assert "owner" not in made.spec
    assert api.things[KEY]["status"]["phase"] == phase


def test_a_copy_stays_in_its_namespace(api: FakeApi) -> None:
    thing = gpu_workload("llama", "Failed")
    thing["metadata"]["namespace"] = "dev-bob"
    api.add(WORKLOADS, thing)
    assert Workloads(api.cluster()).retry(Workload(thing)).namespace == "dev-bob"


def test_one_that_runs_is_not_doubled(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Running"))
    with pytest.raises(BusyError, match="has not ended"):
        workloads.retry("llama")
    assert api.names(WORKLOADS) == ["llama"]


def test_the_number_of_copies_has_an_end(api: FakeApi, workloads: Workloads) -> None:
    names = ["llama", *workloads_module.copy_names("llama")]
    api.add(WORKLOADS, *(gpu_workload(name, "Failed") for name in names))
    with pytest.raises(AlreadyExistsError, match="too many copies"):
        workloads.retry("llama")


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?", fullmatch=True))
def test_every_copy_has_a_name_that_it_can_have(name: str) -> None:
    names = list(workloads_module.copy_names(name))
    assert len(set(names)) == len(names)
    for each in (*names[:1], *names[-1:]):
        check_name(each)


@pytest.mark.parametrize(
    ("thing", "printed"),
    [
        (gpu_workload(), 0),
        (gpu_workload("llama", "Scheduling"), 0),
        (gpu_workload("llama", "Scheduled", attempt=3), 2),
        (gpu_workload("llama", "Running", attempt=3), 3),
        # A retry is due later, or it waits in a queue with its Job.
        (gpu_workload("llama", "Pending", attempt=3), 3),
        (gpu_workload("llama", "Pending", attempt=3, jobName="llama-3"), 2),
        (gpu_workload("llama", "Failed", attempt=3), 3),
    ],
)
def test_which_attempts_may_have_printed(thing: Thing, printed: int) -> None:
    assert Workload(thing).printed == printed


def test_output_of_the_last_attempt_or_another(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Running", attempt=2))
    api.add(PODS, attempt_pod(1, "one\n"), attempt_pod(2, "two\n2\n"), attempt_pod(2, of="other"))
    assert texts(workloads.logs("llama")) == {2: b"two\n2\n"}
    assert texts(workloads.logs("llama", tail=1)) == {2: b"2\n"}
    assert texts(workloads.logs("llama", attempt=1)) == {1: b"one\n"}
    with pytest.raises(NotFoundError, match="no attempt 3: the last one is 2"):
        list(workloads.logs("llama", attempt=3))


def test_output_of_several_pods(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Succeeded", spec={"nodes": 3}))
    api.add(PODS, attempt_pod(1, "b\n", rank=1), attempt_pod(1, "a\n1\n", rank=0))
    api.add(PODS, attempt_pod(1, "c\n", rank=2, state="waiting"))
    told = [(piece.rank, piece.data) for piece in workloads.logs("llama")]
    assert told == [(0, b"a\n"), (0, b"1\n"), (1, b"b\n")]
    # As it arrives, in any order.
    followed = [(piece.rank, piece.data) for piece in workloads.logs("llama", follow=True, tail=1)]
    assert sorted(followed) == [(0, b"1\n"), (1, b"b\n")]


def test_many_are_read_at_once_and_one_that_is_gone_has_ended() -> None:
    met = threading.Barrier(2, timeout=PATIENCE)

    def talks() -> Iterator[bytes]:
        met.wait()
        yield b"x"
        yield b"y"

    def gone() -> Iterator[bytes]:
        met.wait()
        raise NotFoundError("it is gone", "")
        yield b""

    assert list(merged({0: talks, 3: gone})) == [(0, b"x"), (0, b"y")]


def test_who_reads_no_more_frees_the_readers_and_hears_of_errors() -> None:
    ended = threading.Event()

    def endless() -> Iterator[bytes]:
        try:
            while True:
                yield b"x"
        finally:
            ended.set()

    def broken() -> Iterator[bytes]:
        raise DevctlError("it cannot be read", "")
        yield b""

    with pytest.raises(DevctlError, match="cannot be read"):
        list(merged({0: endless, 1: broken}))
    assert ended.wait(PATIENCE)


def test_output_that_is_not_there(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Scheduled", message="the image is being pulled"))
    api.add(PODS, attempt_pod(1, state="waiting"))
    with pytest.raises(DevctlError, match="printed nothing yet: Scheduled") as raised:
        list(workloads.logs("llama"))
    assert raised.value.fix == "the image is being pulled"
    with pytest.raises(DevctlError, match="printed nothing yet"):
        list(workloads.logs("llama", attempt=1))
    becomes(api, "Succeeded")()
    api.drop(PODS, "llama-1-x7k2p")
    with pytest.raises(NotFoundError, match="the pod of attempt 1 of `llama` is gone"):
        list(workloads.logs("llama"))


def test_who_follows_reads_each_attempt_once_until_the_end(
    api: FakeApi, workloads: Workloads
) -> None:
    def third() -> None:
        # The second one came and went unseen.
        api.add(PODS, attempt_pod(2, "two\n2\n", state="terminated"), attempt_pod(3, "three\n"))
        becomes(api, "Running", attempt=3)()

    api.add(WORKLOADS, gpu_workload("llama", "Scheduled"))
    api.then = [
        lambda: api.add(PODS, attempt_pod(1, "one\n1\n")),
        becomes(api, "Running"),
        becomes(api, "Pending", attempt=1),
        third,
        becomes(api, "Succeeded", attempt=3),
    ]
    assert texts(workloads.logs("llama", follow=True, tail=1)) == {
        1: b"1\n",
        2: b"two\n2\n",
        3: b"three\n",
    }
    assert [request for request in api.requests if "/log" in request] == [
        f"GET pods/llama-{attempt}-x7k2p/log follow" for attempt in (1, 2, 3)
    ]


def test_who_follows_an_ended_one_reads_its_last_attempt(
    api: FakeApi, workloads: Workloads
) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Failed", attempt=2))
    api.add(PODS, attempt_pod(1, "one\n"), attempt_pod(2, "two\n", state="terminated"))
    assert texts(workloads.logs("llama", follow=True)) == {2: b"two\n"}


def test_an_attempt_that_never_started_is_passed_over(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Failed", attempt=1))
    api.add(PODS, attempt_pod(1, "never\n", state="waiting"))
    assert texts(workloads.logs("llama", follow=True)) == {}


def test_events_are_its_own_and_those_of_its_attempts(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Running", attempt=2))
    about = ("GPUWorkload/llama", "Job/llama-2", "Pod/llama-1-x7k2p")
    others = (
        "GPUWorkload/other",
        "Job/llama-3",
        "Pod/llama-3-x7k2p",
        "Pod/llama-1",
        "ReplicaSet/llama-1-x7k2p",
    )
    api.add(EVENTS, *map(event, (*about, *others)))
    told = [f"{e.object['kind']}/{e.object['name']}" for e in workloads.events("llama")]
    assert sorted(told) == sorted(about)


def test_events_of_several_pods(api: FakeApi, workloads: Workloads) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Running", spec={"nodes": 2}))
    api.add(EVENTS, event("Pod/llama-1-1-x7k2p"), event("Pod/llama-1-2-x7k2p"))
    (found,) = workloads.events("llama")
    assert found.object["name"] == "llama-1-1-x7k2p"
