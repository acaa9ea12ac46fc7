"""The decision about a job's pod, in every state of the job, its pod and its claim."""

from __future__ import annotations

from itertools import product

import pytest
from ephemeral_acceleration_job.decision import Decision, decide
from ephemeral_acceleration_job.pod import made_from
from unit.plugins.jobs import FINISHED, Thing, claim, expired, job, pod

KEEP, MAKE, REMOVE = Decision.KEEP, Decision.MAKE, Decision.REMOVE
GOING = {"deletionTimestamp": "now"}
STARTED = {"phase": "Running", "startedAt": "t1"}
RUNNING: Thing = {"phase": "Running"}
WAITING: Thing = {"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]}
ENDED: Thing = {"containerStatuses": [{"state": {"terminated": {"exitCode": 0}}}]}
RESTARTED: Thing = {"containerStatuses": [{"state": {"waiting": {}}, "lastState": {"running": {}}}]}


def decided(job: Thing, pod: Thing | None, claim: Thing | None) -> Decision:
    return decide(job, pod, claim, made_from(job))


@pytest.mark.parametrize(
    ("wanted", "there", "volume", "expected"),
    [
        # Nothing exists yet.
        (job(), None, None, MAKE),
        (job(), None, claim(), MAKE),
        (job({"phase": "Pending"}), None, claim(), MAKE),
        (job(), None, claim(**GOING), KEEP),
        (job(suspend=True), None, claim(), KEEP),
        # It existed: it never runs twice.
        (job(STARTED), None, claim(), KEEP),
        (job({"phase": "Pending", "startedAt": "t1"}), None, claim(), KEEP),
        (job(FINISHED), None, claim(), KEEP),
        (job({"phase": "Failed"}), None, claim(), KEEP),
        (job(expired("PodExpired")), None, claim(), KEEP),
        # It is pending.
        (job(), pod(), claim(), KEEP),
        (job(), pod(WAITING), claim(), KEEP),
        (job(), pod(), None, KEEP),
        (job(), pod(), claim(**GOING), REMOVE),
        (job(suspend=True), pod(), claim(), REMOVE),
        (job(image="other"), pod(WAITING), claim(), REMOVE),
        (job(), pod(annotations=None), claim(), REMOVE),
        (job(ttlSecondsAfterFinished=9), pod(), claim(), KEEP),
        # It is or was running, according to either status.
        (job(STARTED, image="other"), pod(), claim(), KEEP),
        (job(image="other"), pod(RUNNING), claim(), KEEP),
        (job(image="other"), pod(ENDED), claim(), KEEP),
        (job(image="other"), pod(RESTARTED), claim(), KEEP),
        (job(image="other"), pod({"phase": "Failed"}), claim(), KEEP),
        (job(suspend=True), pod(RUNNING), claim(), KEEP),
        (job(), pod(RUNNING), claim(**GOING), KEEP),
        # It has finished.
        (job(FINISHED), pod({"phase": "Succeeded"}), claim(), KEEP),
        (job(FINISHED, image="other", suspend=True), pod(), claim(**GOING), KEEP),
        (job(expired("PodExpired", "False")), pod({"phase": "Succeeded"}), claim(), KEEP),
        (job(expired("ArtifactsExpired")), pod({"phase": "Succeeded"}), claim(), KEEP),
        (job(expired("PodExpired")), pod({"phase": "Succeeded"}), claim(), REMOVE),
        (job(expired("PodExpired")), pod(RUNNING), None, REMOVE),
    ],
)
def test_the_table(
    wanted: Thing, there: Thing | None, volume: Thing | None, expected: Decision
) -> None:
    assert decided(wanted, there, volume) is expected


JOBS = [job(), job(suspend=True), job(image="other"), job(STARTED), job(expired("PodExpired"))]
PODS = [pod(), pod(RUNNING), pod(ENDED), pod(made="")]


@pytest.mark.parametrize(("wanted", "there"), list(product(JOBS, PODS)))
def test_a_pod_that_goes_is_let_go(wanted: Thing, there: Thing) -> None:
    going = there | {"metadata": there["metadata"] | GOING}

    for volume in (None, claim(), claim(**GOING)):
        assert decided(wanted, going, volume) is KEEP


@pytest.mark.parametrize(("wanted", "there"), list(product(JOBS, PODS)))
def test_where_a_pod_is_none_is_made(wanted: Thing, there: Thing) -> None:
    assert decided(wanted, there, claim()) is not MAKE


@pytest.mark.parametrize("volume", [None, claim(), claim(**GOING)])
@pytest.mark.parametrize("wanted", [job(STARTED), job(FINISHED), job(expired("PodExpired"))])
def test_what_has_started_is_never_made_again(wanted: Thing, volume: Thing | None) -> None:
    assert decided(wanted, None, volume) is KEEP


@pytest.mark.parametrize("there", [pod(RUNNING), pod(ENDED), pod({"phase": "Succeeded"})])
@pytest.mark.parametrize("changes", [{}, {"image": "other"}, {"suspend": True}])
def test_what_runs_is_never_removed_before_its_time(there: Thing, changes: Thing) -> None:
    for status in (None, STARTED, FINISHED, expired("PodExpired", "Unknown")):
        for volume in (None, claim(), claim(**GOING)):
            assert decided(job(status, **changes), there, volume) is KEEP
