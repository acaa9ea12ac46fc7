"""Which objects a change concerns, which metrics count it, and which Events it emits."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from devctl_observer.judging.clocks import from_text
from devctl_observer.kinds.artifacts.claims import bound_status, deadline, job_of, users_of
from devctl_observer.kinds.jobs.transitions import transitions
from devctl_observer.watching.kept import node_facts
from devctl_observer.watching.store import Key
from hypothesis import given
from hypothesis import strategies as st
from lightkube import ApiError
from lightkube.resources.core_v1 import Pod

from unit.observer.jobs.cluster import Cluster
from unit.observer.jobs.things import OURS, at, claim, job, pod
from unit.observer.objects import NOW, node, warning
from unit.observer.objects import pod as server_pod
from unit.observer.running import api_error, figure, idle_observer, jobs_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_observer.observer import Observer

MINE, VOLUME = Key("team", "my-job"), Key("team", "artifacts-my-job")
JOB, CLAIM = {"my-job"}, {"claim artifacts-my-job"}


def looked_at(change: Callable[[Observer], None]) -> tuple[set[str], Observer]:
    one = idle_observer()
    family = jobs_of(one)
    found: set[str] = set()
    for other in one.families:
        cast("Any", other.queue).add = lambda _: None
    cast("Any", family.queue).add = lambda key: found.add(key.name)
    cast("Any", family.claims).add = lambda key: found.add(f"claim {key.name}")
    family.caches.jobs.put(MINE, 1, job())
    family.caches.children.claims.put(VOLUME, 1, claim())
    family.caches.children.pods.put(Key("team", "ephemeralaccelerationjob-my-job"), 1, pod())
    family.caches.children.pods.put(Key("dev-alice", "my-dev-0"), 1, server_pod())
    family.caches.children.pods.put(Key("x", "empty"), 1, Pod())
    change(one)
    return found, one


def remake(kind: str, name: str) -> Any:
    said = warning(kind, name, "FailedMount", "x")
    said.involvedObject.namespace = "team"
    return said


def test_nothing_is_remembered_of_a_job_that_is_gone() -> None:
    def goes(one: Observer) -> None:
        one.child(pod(), None)
        assert jobs_of(one).controller.gone.keys() == {MINE}
        jobs_of(one).store.drop(MINE)
        jobs_of(one).changed(job(), None)
        one.child(pod(), None)
        one.child(claim(), None)

    looked, one = looked_at(goes)
    assert looked >= JOB
    asyncio.run(jobs_of(one).controller.look(MINE))
    assert not jobs_of(one).controller.gone
    assert not jobs_of(one).caches.last


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda f: jobs_of(f).changed(None, job()), JOB | CLAIM),
        (lambda f: jobs_of(f).changed(job(), None), JOB | CLAIM),
        (lambda f: jobs_of(f).changed(job(), job(suspend=True)), JOB),
        (lambda f: jobs_of(f).changed(None, None), set()),
        (lambda f: f.child(None, pod()), JOB),
        (lambda f: f.child(pod(), None), JOB),
        (lambda f: f.child(None, server_pod()), set()),
        (lambda f: f.child(None, Pod()), set()),
        (lambda f: f.child(None, claim()), JOB | CLAIM),
        (lambda f: f.child(claim(), None), JOB),
        (lambda f: f.child(None, claim(meta={"labels": {}})), set()),
        (lambda f: f.warning(None, remake("Pod", "ephemeralaccelerationjob-my-job")), JOB),
        (lambda f: f.warning(remake("PersistentVolumeClaim", "artifacts-my-job"), None), JOB),
        (lambda f: f.warning(None, remake("PersistentVolumeClaim", "home-x-0")), set()),
        (lambda f: f.warning(None, remake("Pod", "other")), set()),
        (lambda f: f.warning(None, remake("StatefulSet", "artifacts-my-job")), set()),
        (lambda f: f.warning(None, None), set()),
        (lambda f: f.node(node_facts(node()), node_facts(node(ready="False"))), JOB),
        (lambda f: f.node(node_facts(node()), None), JOB),
        (lambda f: f.node(None, node_facts(node("other"))), set()),
        (lambda f: f.node(None, None), set()),
        (lambda f: f.node(node_facts(node()), node_facts(node(cordoned=True))), set()),
        (lambda f: f.look_again(), JOB | CLAIM),
    ],
)
def test_whom_a_change_concerns(change: Callable[[Observer], None], expected: set[str]) -> None:
    assert looked_at(change)[0] == expected


def test_the_last_of_what_is_lost_is_remembered() -> None:
    _, one = looked_at(lambda f: f.child(claim(), None))
    gone = jobs_of(one).controller.gone
    assert gone == {MINE: "c-1"}
    one.child(pod(), None)
    assert gone == {MINE: "p-1"}


def test_figures() -> None:
    deleted = figure("claims_deleted_total")
    cluster = Cluster()
    cluster.create()
    cluster.create("other", pvcTTLSecondsAfterFinished=0)
    cluster.runs("other")
    cluster.exits(name="other")
    cluster.wait(30)
    assert figure("jobs", phase="Pending") == figure("jobs", phase="Succeeded") == 1
    assert figure("objects", kind="job") == 2
    assert figure("claims_deleted_total") == deleted + 1
    assert cluster.process.others == ()
    assert cluster.process.first.kind.__name__ == "EphemeralAccelerationJob"
    assert len(cluster.process.queues) == 2


@pytest.mark.parametrize("code", [HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN])
def test_what_is_gone_meanwhile_is_no_failure(
    code: HTTPStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    cluster.create(pvcTTLSecondsAfterFinished=50)
    family = cluster.process

    async def refuse(*_: object) -> None:
        raise api_error(code)

    for name in ("apply_status", "annotate", "wake"):
        monkeypatch.setattr(cluster, name, refuse)
    lost = {"phase": "Lost", "conditions": [{"type": "Bound", "status": "True"}]}
    cluster.store("claims", cluster.claims["artifacts-my-job"] | {"status": lost})
    mine = family.controller.look(MINE)
    cluster.jobs["my-job"]["status"] = {}
    changed = msgspec.structs.replace(job(), status={})
    family.caches.jobs.put(MINE, 9999, changed)
    family.caches.jobs.drop(Key("team", "none"))
    if code is HTTPStatus.FORBIDDEN:
        with pytest.raises(ApiError, match="Forbidden"):
            asyncio.run(mine)
        # A failed write of the condition must not delay the deletion of the claim.
        assert asyncio.run(family.claim_controller.look(VOLUME)) is None
        family.caches.jobs.drop(MINE)
        del cluster.jobs["my-job"]
        with pytest.raises(ApiError, match="Forbidden"):
            asyncio.run(family.claim_controller.look(VOLUME))
        return
    assert asyncio.run(mine) is None
    family.caches.jobs.drop(MINE)
    del cluster.jobs["my-job"]
    assert asyncio.run(family.claim_controller.look(VOLUME)) is None
    assert asyncio.run(family.controller.look(MINE)) is None


def test_what_was_read_again_decides() -> None:
    cluster = Cluster()
    cluster.create(pvcTTLSecondsAfterFinished=0)
    cluster.runs()
    family = cluster.process
    # It was recreated under the same name, while our cache still has the first one.
    cached = msgspec.structs.replace(job(meta={"uid": "another"}), status=cluster.status())
    family.caches.jobs.put(MINE, 99_999, cached)
    assert asyncio.run(family.controller.look(MINE)) is None
    # A claim whose job is missing in our cache, but exists.
    family.caches.jobs.drop(MINE)
    assert asyncio.run(family.claim_controller.look(VOLUME)) == 5
    assert "gpu.yourdomain.io/released-at" not in str(cluster.claims)
    del cluster.jobs["my-job"]
    cluster.ours = cluster.ours.replace(year=2030)
    assert asyncio.run(family.claim_controller.look(VOLUME)) == 5
    assert "gpu.yourdomain.io/released-at" not in str(cluster.claims)


def said(phase: str, reason: str, *conditions: tuple[str, str, str]) -> dict[str, Any]:
    entries = [{"type": t, "status": s, "reason": r, "message": r} for t, s, r in conditions]
    return {"phase": phase, "reason": reason, "message": "m", "conditions": entries}


ENDED = ("Succeeded", "Completed")


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        ({}, said("Pending", "NotApplied"), [("Normal", "NotApplied")]),
        ({}, said("Pending", "Conflict"), [("Warning", "Conflict")]),
        (said("Pending", "Creating"), said("Running", "Running"), [("Normal", "Running")]),
        (said("Running", "Running"), said("Running", "Running"), []),
        (said("Running", "Running"), said("Running", "Ending"), []),
        (said("Running", "Ending"), said(*ENDED), [("Normal", "Succeeded")]),
        (said("Running", "Running"), said("Failed", "OutOfMemory"), [("Warning", "OutOfMemory")]),
        (
            said(*ENDED, ("PodExpired", "False", "Kept")),
            said(*ENDED, ("PodExpired", "True", "Expired"), ("ArtifactsExpired", "False", "InUse")),
            [("Normal", "PodExpired"), ("Warning", "InUse")],
        ),
        (
            said(*ENDED, ("ArtifactsExpired", "False", "InUse")),
            said(*ENDED, ("ArtifactsExpired", "True", "Expired")),
            [("Normal", "ArtifactsExpired")],
        ),
        (said(*ENDED), said(*ENDED, ("PodExpired", "False", "Kept")), []),
    ],
)
def test_what_is_worth_an_event(before: Any, after: Any, events: list[tuple[str, str]]) -> None:
    assert [(e.type, e.reason) for e in transitions(before, after)] == events


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({}, MINE),
        ({"labels": {}}, None),
        ({"labels": OURS | {"app.kubernetes.io/managed-by": "helm"}}, None),
        ({"labels": OURS | {"gpu.yourdomain.io/job": "other"}}, None),
        ({"labels": OURS | {"gpu.yourdomain.io/job": ""}, "name": "artifacts-"}, None),
    ],
)
def test_whose_a_claim_is(meta: dict[str, Any], expected: Key | None) -> None:
    assert job_of(claim(meta=meta)) == expected


TIMES = st.text() | st.sampled_from(["", "2026-01-02T03:04:05Z", "9999-12-31T23:59:59Z"])
SECONDS = st.text() | st.integers(-1, 10**12).map(str)


@given(
    st.fixed_dictionaries(
        {}, optional={"finished-at": TIMES, "released-at": TIMES, "pvc-ttl-seconds": SECONDS}
    )
)
def test_a_deadline_is_so_many_seconds_after_the_end_if_notes_say_both(
    notes: dict[str, str],
) -> None:
    found = deadline({f"gpu.yourdomain.io/{name}": text for name, text in notes.items()})
    if found is None:
        return
    since = from_text(notes.get("finished-at") or notes.get("released-at"))
    assert since is not None
    assert found == since + timedelta(seconds=int(notes["pvc-ttl-seconds"])) >= since


def test_the_end_of_the_calendar_is_no_deadline() -> None:
    notes = {"finished-at": "9999-12-31T00:00:00Z", "pvc-ttl-seconds": "9999999999"}
    assert deadline({f"gpu.yourdomain.io/{name}": text for name, text in notes.items()}) is None


def test_who_uses_a_volume() -> None:
    pods = [pod(phase) for phase in ("Running", "Pending", "Unknown", "Succeeded", "Failed")]
    assert len(users_of(pods, "artifacts-my-job")) == 3
    assert users_of(pods, "artifacts-other") == []


def test_the_condition_bound_follows_the_phase() -> None:
    def told(status: str) -> dict[str, Any]:
        return {"conditions": [{"type": "Bound", "status": status}]}

    found = bound_status(claim("Bound"), NOW)
    assert found
    assert found["conditions"][0].items() >= {"type": "Bound", "status": "True"}.items()
    assert found["conditions"][0]["lastTransitionTime"] == at(0)
    assert bound_status(claim("Pending"), NOW) is None
    assert bound_status(claim("Bound", **told("True")), NOW) is None
    lost = bound_status(claim("Lost", **told("True")), NOW)
    assert lost
    assert lost["conditions"][0]["status"] == "False"
    assert bound_status(claim("Lost", **told("False")), NOW) is None
