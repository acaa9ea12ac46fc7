"""When a job's pods ran: recorded once, and never differently afterwards."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from devctl_observer.judging.clocks import Clocks, from_text
from devctl_observer.judging.model import meta_of
from devctl_observer.kinds.gpu_worker_job.runs import MAX_RUNS, Evidence, Run, is_running, merged
from hypothesis import given
from hypothesis import strategies as st

from unit.observer.gpu_worker_job.things import OPEN, at, ended, pod, running
from unit.observer.objects import NOW

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import Pod

READY = frozenset({"a"})
GUESS, PROVEN = Clocks(NOW), Clocks(NOW, NOW)
DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "lastTransitionTime": at(-20),
}


def now(known: list[Run], *pods: Pod, clocks: Clocks = PROVEN, **more: Any) -> list[Run]:
    return merged(known, Evidence(clocks, pods, ready=READY, **more))


def deleted(until: float) -> dict[str, Any]:
    return {"deletionTimestamp": at(until), "deletionGracePeriodSeconds": 30}


def test_a_run_begins_with_its_program() -> None:
    assert now([], pod(state={"waiting": {"reason": "ContainerCreating"}})) == []
    assert now([], pod(state=None)) == []
    assert now([], pod(state=running())) == [OPEN]


def test_its_node_says_when_it_ended() -> None:
    over = [OPEN | {"finishedAt": at(-10), "exitCode": 7}]
    for clocks in (GUESS, PROVEN):
        assert now([OPEN], pod(state=ended(code=7)), clocks=clocks) == over


def test_a_node_whose_clock_is_ahead_ends_no_run_in_the_future() -> None:
    late = pod(state=ended(until=3600))
    # Ours may be behind.
    assert now([OPEN], late, clocks=GUESS) == [OPEN]
    assert now([OPEN], late)[0]["finishedAt"] == at(0)


def test_a_run_never_ends_before_it_began() -> None:
    (run,) = now([OPEN], pod(state=ended(until=-3600)))
    assert run["finishedAt"] == OPEN["startedAt"]


def test_a_pod_that_is_gone_ends_as_its_last_state_says() -> None:
    assert now([OPEN], gone=[pod(state=ended())])[0]["finishedAt"] == at(-10)
    assert now([], gone=[pod(state=ended())])[0]["finishedAt"] == at(-10)


def test_without_a_word_of_its_node_it_ends_when_the_cluster_gave_its_pod_up() -> None:
    lost = pod(state=running(), node="b", meta=deleted(-5))
    assert now([OPEN], lost, clocks=GUESS) == [OPEN]
    assert now([OPEN], lost) == [OPEN | {"finishedAt": at(-35)}]
    assert now([OPEN], gone=[lost]) == [OPEN | {"finishedAt": at(-35)}]
    # Its Node object was deleted.
    collected = pod("Failed", state=running(), conditions=[DISRUPTED])
    assert now([OPEN], collected) == [OPEN | {"finishedAt": at(-20)}]


def test_of_a_pod_of_which_nothing_is_left_the_job_says_when_it_had_ended() -> None:
    assert now([OPEN], clocks=GUESS, over=NOW) == [OPEN]
    assert now([OPEN]) == [OPEN | {"finishedAt": at(0)}]
    assert now([OPEN], gone=[pod(state=running())]) == [OPEN | {"finishedAt": at(0)}]
    earlier = NOW - timedelta(seconds=30)
    assert now([OPEN], over=earlier) == [OPEN | {"finishedAt": at(-30)}]


def test_a_pod_on_a_lost_node_runs_until_its_time_is_over() -> None:
    for until, over in ((-1, True), (30, False)):
        lost = pod(state=running(), node="b", meta=deleted(until))
        assert is_running(now([OPEN], lost)) != over
        # A node that is ready says itself how it ended.
        assert is_running(now([OPEN], pod(state=running(), meta=deleted(until))))
    # Until it is deleted, its node may come back.
    assert is_running(now([OPEN], pod(state=running(), node="b")))


def test_an_unknown_end_is_that_of_the_pod() -> None:
    unknown = ended(reason="ContainerStatusUnknown", finishedAt=None)
    assert is_running(now([OPEN], pod(state=unknown), clocks=GUESS))
    (run,) = now([OPEN], pod("Failed", state=unknown))
    assert run == OPEN | {"finishedAt": at(0)}


def test_what_is_recorded_stays_whatever_is_said_later() -> None:
    over = OPEN | {"finishedAt": at(-30)}
    assert now([over], pod(state=ended(code=1))) == [over]
    assert now([over], pod(state=running())) == [over]
    assert now([over]) == [over]


STATES = st.sampled_from(
    [
        *(None, {"waiting": {"reason": "x"}}, running(), running(-5)),
        *(ended(), ended(-5, -3), ended(until=99, code=1)),
        ended(reason="ContainerStatusUnknown", finishedAt=None),
    ]
)
METAS = st.sampled_from([{}, deleted(-40), deleted(5), deleted(60)])
PODS = st.lists(
    st.builds(
        pod,
        st.sampled_from(["Running", "Failed", "Succeeded"]),
        state=STATES,
        meta=METAS,
        uid=st.sampled_from(["u1", "u2", "u3"]),
        node=st.sampled_from(["a", "b"]),
        conditions=st.sampled_from([[], [DISRUPTED]]),
    ),
    max_size=4,
    unique_by=lambda each: meta_of(each.metadata).uid,
)
MOMENTS = st.lists(
    st.tuples(
        *(PODS, PODS, st.sampled_from([frozenset(), READY, frozenset("ab")])),
        *(st.integers(-100, 100), st.booleans(), st.sampled_from([None, -20, 10])),
    ),
    max_size=12,
)


@given(MOMENTS)
def test_whatever_happens_runs_only_grow_and_ends_never_change(moments: list[Any]) -> None:
    known: list[Run] = []
    for pods, gone, ready, seconds, proven, over in moments:
        moment = NOW + timedelta(seconds=seconds)
        clocks = Clocks(moment, moment if proven else None)
        ended_at = None if over is None else NOW + timedelta(seconds=over)
        seen = Evidence(clocks, pods, gone, ready, ended_at)
        after = merged(known, seen)
        assert [run["podUID"] for run in after[: len(known)]] == [r["podUID"] for r in known]
        for before, run in zip(known, after, strict=False):
            assert run.items() >= before.items()
            assert before.items() >= run.items() or "finishedAt" not in before
        for run in after:
            started, finished = from_text(run["startedAt"]), from_text(run.get("finishedAt"))
            assert started
            assert finished is None or finished >= started
        assert merged(after, seen) == after
        known = after


@given(PODS, st.integers(0, 100))
def test_without_proof_only_a_node_ends_a_run(pods: list[Pod], seconds: int) -> None:
    clocks = Clocks(NOW + timedelta(seconds=seconds))
    told = merged([], Evidence(clocks, pods))
    assert all("exitCode" in run for run in told if "finishedAt" in run)


def test_their_number_is_bounded() -> None:
    pods = [pod(state=running(), uid=f"u{number}") for number in range(MAX_RUNS + 5)]
    assert len(now([], *pods)) == MAX_RUNS
