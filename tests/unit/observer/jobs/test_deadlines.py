"""Deletions are never early, whatever the deadlines and the clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from devctl_observer.judging.clocks import Clocks, from_text
from devctl_observer.kinds.jobs.deadlines import finished_at, next_look, times
from devctl_observer.kinds.jobs.status import job_status, volume_is_due, wants_proof
from hypothesis import given
from hypothesis import strategies as st

from unit.observer.jobs.things import at, claim, clocks, job, observed, pod
from unit.observer.objects import NOW

MOMENTS = st.datetimes(timezones=st.just(UTC))


ENDED = at(0)


def done(finished: Any = ENDED, ttl: int = 10, pvc_ttl: int = 20, **more: Any) -> Any:
    status = {"phase": "Succeeded", "finishedAt": finished, **more}
    return job(status, ttlSecondsAfterFinished=ttl, pvcTTLSecondsAfterFinished=pvc_ttl)


EXPIRED: dict[str, Any] = {"conditions": [{"type": "PodExpired", "status": "True"}]}


@pytest.mark.parametrize(
    ("of", "pod_goes", "volume_goes"),
    [
        (done(), 10, 20),
        (done(ttl=30), 30, 30),
        (done(ttl=0, pvc_ttl=0), 0, 0),
        # Its pod expired at 5; later edits affect only the volume.
        (done(ttl=300, podExpiresAt=at(5), **EXPIRED), 5, 300),
        (done(ttl=0, pvc_ttl=0, podExpiresAt=at(5), **EXPIRED), 5, 5),
        (done(podExpiresAt=at(5)), 10, 20),
    ],
)
def test_when_what_goes(of: Any, pod_goes: int, volume_goes: int) -> None:
    found = times(of, finished_at(of))
    assert found
    goes = (NOW + timedelta(seconds=pod_goes), NOW + timedelta(seconds=volume_goes))
    assert (found.pod, found.artifacts) == goes


@pytest.mark.parametrize("finished", [None, "", "soon", "2026-11-21T12:00:00", 5, "2026-11-21"])
def test_an_end_that_cannot_be_read_deletes_nothing(finished: Any) -> None:
    seen = observed(done(finished), pod("Succeeded"), claim())
    late = clocks(10**8, 10**8)
    assert not wants_proof(seen, late)
    assert not volume_is_due(seen, late)
    conditions = {c["type"]: c["reason"] for c in job_status(seen, late)["conditions"]}
    assert conditions["PodExpired"] == conditions["ArtifactsExpired"] == "ClockNotTrusted"
    assert next_look(seen, late.ours) is None


@given(MOMENTS, st.integers(-5, 10**12), st.integers(-5, 10**12), MOMENTS, MOMENTS)
def test_nothing_goes_before_its_time_by_any_clock(
    finished: datetime, ttl: int, pvc_ttl: int, ours: datetime, theirs: datetime
) -> None:
    of = done(finished.isoformat(), ttl, pvc_ttl)
    seen, now = observed(of, None, claim()), Clocks(ours, theirs)
    if volume_is_due(seen, now):
        assert min(ours, theirs) - finished >= timedelta(seconds=max(ttl, pvc_ttl))
    status = job_status(seen, now)
    expired = next(c for c in status["conditions"] if c["type"] == "PodExpired")
    if expired["status"] == "True":
        assert min(ours, theirs) - finished >= timedelta(seconds=ttl)
    # A single clock never decides.
    alone = job_status(seen, Clocks(ours))
    assert all(c["status"] != "True" for c in alone["conditions"] if c["type"] != "Succeeded")


@given(st.text())
def test_no_text_breaks_a_time(text: str) -> None:
    found = from_text(text)
    assert found is None or found.tzinfo is not None


def test_the_ends_of_the_calendar() -> None:
    assert from_text("0001-01-01T00:00:00+23:00") is None
    far = done("9999-12-31T23:59:59Z", 10, 10)
    assert times(far, finished_at(far)) is None
    assert times(far, None) is None


def test_it_looks_again_when_time_changes_something() -> None:
    both = observed(done(), pod("Succeeded"), claim())
    assert next_look(both, NOW) == timedelta(seconds=11)
    assert next_look(both, NOW + timedelta(seconds=15)) == timedelta(0)
    after = observed(done(podExpiresAt=at(10), **EXPIRED), None, claim())
    assert next_look(after, NOW) == timedelta(seconds=21)
    assert next_look(observed(done(podExpiresAt=at(10), **EXPIRED)), NOW) is None
    assert next_look(observed(), NOW) is None
    assert next_look(observed(job(), pod(meta={"deletionTimestamp": at(7)})), NOW) == timedelta(
        seconds=8
    )
    assert next_look(observed(done(), None, claim(), listed=True), NOW)
    going = job({"phase": "Succeeded", "finishedAt": at(0)}, {"deletionTimestamp": at(0)})
    assert next_look(observed(going, None, claim()), NOW) is None
    assert not wants_proof(observed(going, None, claim()), clocks(10**6))
    assert not volume_is_due(observed(going, None, claim()), clocks(10**6, 10**6))
