"""Jobs: made once, followed to their end, and their volumes kept for their time."""

from __future__ import annotations

import doctest
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.ephemeral_acceleration_job import OWNER, Phase
from devctl.api.labels import owner_digest
from devctl.client import waiting
from devctl.client.jobs import claim as claims
from devctl.client.jobs import job as job_module
from devctl.client.jobs import jobs as jobs_module
from devctl.client.jobs.claim import Claim, Cleanup, Why, judge
from devctl.client.jobs.job import Job
from devctl.client.jobs.jobs import Jobs
from devctl.errors import (
    AlreadyExistsError,
    BusyError,
    DeniedError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from unit.client.fake_cluster import NAMESPACE, NOW, USER, FakeApi, Thing, ago, event
from unit.client.job_things import CLAIMS, JOBS, KEY, LATER, PODS, claim, job, suspended, user

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_RETRY", 0.01)
    for name in ("_POLL", "_PATIENCE"):
        monkeypatch.setattr(jobs_module, name, 0.01)


@pytest.fixture
def jobs(api: FakeApi) -> Jobs:
    return Jobs(api.cluster())


def becomes(api: FakeApi, thing: Thing) -> Callable[[], None]:
    def change() -> None:
        api.things[KEY] |= {"spec": thing["spec"], "status": thing["status"]}

    return change


def test_examples() -> None:
    assert doctest.testmod(job_module).failed == 0


def test_what_was_asked_for_is_in_the_manifest_and_nothing_else(jobs: Jobs) -> None:
    found = jobs.manifest(
        "my-job",
        model="mobilenet_v3_small",
        input_path="/artifacts/a.jpg",
        output_path="/artifacts/b.json",
        gpu=0,
        ttl=60,
        pvc_ttl=86400,
        storage_class="longhorn",
        pvc_size="2Gi",
        image="i:1",
        command=("sh", "-c", "true"),
        suspend=True,
    )
    assert found["spec"] == {
        "model": "mobilenet_v3_small",
        "input": {"path": "/artifacts/a.jpg"},
        "output": {"path": "/artifacts/b.json"},
        "resources": {"gpu": 0},
        "ttlSecondsAfterFinished": 60,
        "pvcTTLSecondsAfterFinished": 86400,
        "storageClass": "longhorn",
        "pvcSize": "2Gi",
        "image": "i:1",
        "command": ["sh", "-c", "true"],
        "suspend": True,
    }
    assert jobs.manifest("my-job")["spec"] == {}


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a" * 64, "a/b", "../x", "a\n", "ä"])
def test_a_name_that_none_can_have_is_refused(jobs: Jobs, name: str) -> None:
    for act in (jobs.get, jobs.create, jobs.claim, jobs.find):
        with pytest.raises(UsageError, match="cannot be a job's name"):
            act(name)


def test_a_job_is_made_once(api: FakeApi, jobs: Jobs) -> None:
    assert jobs.create("my-job").name == "my-job"
    with pytest.raises(AlreadyExistsError, match="there is a job `my-job` already"):
        jobs.create("my-job")
    assert not [request for request in api.requests if "PATCH" in request]


def test_a_job_that_waits_for_its_files_is_completed(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, suspended())
    found = jobs.create("my-job", model="mobilenet_v3_small")
    assert not found.suspended
    assert found.spec["model"] == "mobilenet_v3_small"
    api.add(JOBS, suspended())
    assert jobs.create("my-job", suspend=True).suspended
    assert not jobs.resume(jobs.get("my-job")).suspended


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (job("my-job", "Pending"), "already (Pending)"),
        (job("my-job", "Running", spec={"suspend": False}), "already (Running)"),
        (job("my-job", "Failed"), "already (Failed)"),
        (job("my-job", "Succeeded", spec={"suspend": True}), "already (Succeeded)"),
    ],
)
def test_a_job_that_has_begun_is_not_touched(
    api: FakeApi, jobs: Jobs, thing: Thing, said: str
) -> None:
    api.add(JOBS, thing)
    with pytest.raises(AlreadyExistsError) as raised:
        jobs.create("my-job", gpu=2)
    assert said in raised.value.message
    assert "egpu " in raised.value.fix
    assert api.things[KEY]["spec"] == thing["spec"]


@pytest.mark.parametrize(("owner", "refused"), [(USER, False), ("bob", True)])
def test_another_persons_job_that_waits_is_not_completed(
    api: FakeApi, jobs: Jobs, owner: str, *, refused: bool
) -> None:
    api.add(JOBS, job("my-job", "Pending", spec={"suspend": True, "owner": owner}))
    with pytest.raises(AlreadyExistsError, match="belongs to `bob`") if refused else nullcontext():
        assert not jobs.create("my-job").suspended


def test_another_job_of_the_name_is_not_completed(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, suspended())
    seen = jobs.get("my-job")
    api.things[KEY]["metadata"]["uid"] = "other"
    with pytest.raises(DevctlError, match="UID"):
        jobs.resume(seen)
    assert api.things[KEY]["spec"]["suspend"]


def test_a_job_is_followed_to_its_end(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, job())
    api.then = [
        becomes(api, job("my-job", "Pending", reason="Unschedulable")),
        becomes(api, job("my-job", "Running")),
        becomes(api, job("my-job", "Succeeded", artifactPath="/artifacts/output.json")),
    ]
    phases = [found.phase for found in jobs.follow("my-job", 5)]
    assert list(dict.fromkeys(phases)) == [Phase.PENDING, Phase.RUNNING, Phase.SUCCEEDED]
    assert jobs.wait("my-job").artifact_path == "/artifacts/output.json"


def test_a_job_that_does_not_end_in_time(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, job("my-job", "Pending", reason="Unschedulable", message="no node has a GPU"))
    with pytest.raises(WaitTimeoutError, match="Unschedulable: no node has a GPU"):
        jobs.wait("my-job", 0.05)


def test_a_job_that_goes_while_it_is_waited_for(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, job())
    api.then = [lambda: api.drop(JOBS, "my-job")]
    with pytest.raises(NotFoundError, match="was deleted while it was waited for"):
        jobs.wait("my-job", 5)
    api.add(JOBS, job())
    api.then = [lambda: api.things[KEY]["metadata"].update(uid="other")]
    with pytest.raises(NotFoundError, match="recreated"):
        jobs.wait("my-job", 5)


@pytest.mark.parametrize("code", [410, 429, 500, 503])
def test_an_api_server_that_stumbles_is_asked_again(api: FakeApi, jobs: Jobs, code: int) -> None:
    api.add(JOBS, job())

    def stumble() -> None:
        becomes(api, job("my-job", "Succeeded"))()
        api.refusals["GET", JOBS] = (code, "not now")
        api.then = []

        class Recovers(list[str]):
            def append(self, request: str) -> None:
                super().append(request)
                api.refusals.clear()

        api.requests = Recovers(api.requests)

    api.then = [stumble]
    assert jobs.wait("my-job", 5).finished


def test_what_the_role_could_not_do_is_why_a_job_does_not_begin() -> None:
    failed = {"type": "Applied", "status": "False", "reason": "Conflict", "message": "not ours"}
    found = Job(job("my-job", "Pending", reason="PodMissing", conditions=[failed]))
    assert (found.reason, found.message) == ("Conflict", "not ours")
    ended = Job(job("my-job", "Failed", reason="OutOfMemory", conditions=[failed]))
    assert ended.reason == "OutOfMemory"


def test_the_volume_is_waited_for(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, suspended())
    seen: list[str] = []

    def come(found: Job) -> None:
        seen.append(found.reason)
        api.add(CLAIMS, claim(phase="Pending"))

    assert jobs.wait_claim("my-job", 5, come).name == "artifacts-my-job"
    assert seen == ["Suspended"]
    api.drop(CLAIMS, "artifacts-my-job")
    with pytest.raises(WaitTimeoutError, match="has no volume"):
        jobs.wait_claim("my-job", 0.05)


def test_a_volume_that_is_somebody_elses_is_not_waited_for(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, suspended())
    api.add(CLAIMS, claim(ours=False))
    with pytest.raises(AlreadyExistsError, match="left alone"):
        jobs.wait_claim("my-job", 60)
    api.drop(CLAIMS, "artifacts-my-job")
    failed = {"type": "Applied", "status": "False", "reason": "Failed", "message": "quota is full"}
    api.things[KEY]["status"]["conditions"] = [failed]
    with pytest.raises(DevctlError, match="cannot be created: quota is full"):
        jobs.wait_claim("my-job", 60)


def test_another_persons_volume_is_not_taken_for_the_jobs(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, job("my-job", "Pending", spec={"suspend": True, "owner": "bob"}))
    hers = claim(job_uid="earlier", owner_name="alice")
    hers["metadata"]["labels"][OWNER] = owner_digest("alice")
    api.add(CLAIMS, hers)
    with pytest.raises(WaitTimeoutError, match="has no volume"):
        jobs.wait_claim("my-job", 0.05)


def test_output(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, job("my-job", "Running"))
    pod = user("ephemeralaccelerationjob-my-job") | {"log": "one\ntwo\n"}
    api.add(PODS, pod)
    assert b"".join(jobs.logs("my-job")) == b"one\ntwo\n"
    api.drop(PODS, "ephemeralaccelerationjob-my-job")
    with pytest.raises(NotFoundError, match="kept for 0 s after the end") as raised:
        list(jobs.logs("my-job"))
    assert "--ttl" in raised.value.fix


def test_output_that_is_not_there_yet_is_waited_for_by_who_follows(
    api: FakeApi, jobs: Jobs
) -> None:
    api.add(JOBS, job("my-job", "Pending", reason="Unschedulable", message="no node has a GPU"))
    with pytest.raises(DevctlError, match="printed nothing yet: Pending, Unschedulable") as raised:
        list(jobs.logs("my-job"))
    assert raised.value.fix == "no node has a GPU"
    api.add(PODS, user("ephemeralaccelerationjob-my-job") | {"log": "one\n"})
    api.then = [becomes(api, job("my-job", "Running"))]
    assert b"".join(jobs.logs("my-job", follow=True, tail=1)) == b"one\n"


def test_events_are_those_of_the_job_its_pod_and_its_volume(api: FakeApi, jobs: Jobs) -> None:
    api.add(
        "events",
        event("Pod/ephemeralaccelerationjob-my-job", minutes=1),
        event("PersistentVolumeClaim/artifacts-my-job", minutes=3),
        event("EphemeralAccelerationJob/my-job", minutes=2),
        event("Pod/ephemeralaccelerationjob-my-job-2"),
        event("EphemeralAccelerationJob/other"),
    )
    assert [found.about.partition("/")[0] for found in jobs.events("my-job")] == [
        "volume",
        "ephemeralaccelerationjob",
        "pod",
    ]


def test_a_volume_in_use_is_not_deleted(api: FakeApi, jobs: Jobs) -> None:
    api.add(CLAIMS, claim())
    api.add(PODS, user(), user("done", phase="Succeeded"))
    with pytest.raises(BusyError, match="pod `reader` uses it"):
        jobs.delete_claim(jobs.claim("my-job"))
    api.drop(PODS, "reader")
    jobs.delete_claim(jobs.claim("my-job"))
    assert api.names(CLAIMS) == []


def test_a_deleted_job_is_gone_with_its_pod(api: FakeApi, jobs: Jobs) -> None:
    api.add(JOBS, job())
    gone = jobs.delete("my-job")
    jobs.wait_gone("my-job", gone.uid, 1)
    api.add(PODS, user("ephemeralaccelerationjob-my-job"))
    with pytest.raises(WaitTimeoutError, match="its pod still exists") as raised:
        jobs.wait_gone("my-job", gone.uid, 0.05)
    assert "its volume is kept" in raised.value.fix
    api.add(JOBS, job())
    with pytest.raises(AlreadyExistsError, match="recreated"):
        jobs.wait_gone("my-job", "another", 1)


def test_rights_that_are_missing_are_no_missing_job(api: FakeApi, jobs: Jobs) -> None:
    api.refusals["GET", JOBS] = (403, "no")
    with pytest.raises(DeniedError, match=r"^no$"):
        jobs.find("my-job")
    api.refusals["GET", JOBS] = (404, "the server could not find the requested resource")
    with pytest.raises(NotFoundError, match="the cluster does not know what was asked for"):
        jobs.create("my-job")


PAST = ago(hours=2)


@pytest.mark.parametrize(
    ("made", "thing", "pods", "why"),
    [
        (claim(), job("my-job", "Running"), [], Why.ACTIVE),
        (claim(finished_at=PAST), suspended(), [], Why.ACTIVE),
        # The trap of the seed: the pod's time is over, and the volume's is not.
        (
            claim(finished_at=PAST),
            job("my-job", "Succeeded", podExpiresAt=ago(minutes=9)),
            [],
            Why.EARLY,
        ),
        (claim(), job("my-job", "Succeeded", artifactsExpireAt=ago(minutes=1)), [], Why.DUE),
        (claim(), job("my-job", "Failed", artifactsExpireAt=ago(minutes=1)), [], Why.DUE),
        (claim(), job("my-job", "Failed", artifactsExpireAt=""), [], Why.UNKNOWN),
        (claim(), job("my-job", "Failed", artifactsExpireAt=ago(minutes=1)), ["a"], Why.IN_USE),
        # Another person's job has the name by now.
        (claim(finished_at=PAST), job(spec={"owner": "bob"}), [], Why.DUE),
        (claim(finished_at=PAST), None, [], Why.DUE),
        (claim(finished_at=ago(minutes=59)), None, [], Why.EARLY),
        (claim(finished_at=ago(minutes=60)), None, [], Why.DUE),
        (claim(released_at=PAST), None, [], Why.DUE),
        (claim(released_at=ago(minutes=2)), None, [], Why.EARLY),
        (claim(released_at=PAST, released_uid="1", job_uid="1"), None, [], Why.DUE),
        # Another job of its name has had it since.
        (claim(released_at=PAST, released_uid="1", job_uid="2"), None, [], Why.UNKNOWN),
        (claim(released_at=PAST, job_uid="2"), None, [], Why.UNKNOWN),
        (claim(finished_at=PAST), None, ["a"], Why.IN_USE),
        (claim(), None, [], Why.UNKNOWN),
        (claim(pvc_ttl_seconds="", finished_at=PAST), None, [], Why.UNKNOWN),
        (claim(pvc_ttl_seconds="-1", finished_at=PAST), None, [], Why.UNKNOWN),
        (claim(pvc_ttl_seconds="1e3", finished_at=PAST), None, [], Why.UNKNOWN),
        (claim(pvc_ttl_seconds="0", finished_at="soon"), None, [], Why.UNKNOWN),
        (claim(pvc_ttl_seconds="0", finished_at="2026-01-02T11:00:00"), None, [], Why.UNKNOWN),
        (claim(finished_at=LATER), None, [], Why.EARLY),
    ],
)
def test_when_a_volume_goes(made: Thing, thing: Thing | None, pods: list[str], why: Why) -> None:
    if thing:
        thing["metadata"]["uid"] = "2"
    found = judge(Claim(made), Job(thing) if thing else None, pods, NOW)
    assert found.why is why


@given(st.text(max_size=30), st.text(max_size=12), st.text(max_size=30))
def test_what_cannot_be_read_deletes_nothing(since: str, seconds: str, released: str) -> None:
    made = claim(finished_at=since, pvc_ttl_seconds=seconds, released_at=released)
    found = Claim(made).expires_at
    if found is not None:
        begun = datetime.fromisoformat(since or released)
        assert found >= begun.astimezone(UTC)
        assert seconds.isdecimal()


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our clock and the API server's agree."""
    clock(monkeypatch, NOW)


def clock(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    class Clock:
        @staticmethod
        def now(_zone: object) -> datetime:
            return now

    monkeypatch.setattr(claims, "datetime", Clock)


@pytest.mark.usefixtures("noon")
def test_a_look_sees_the_volumes_of_jobs_alone(api: FakeApi) -> None:
    going = claim("going", finished_at=PAST)
    going["metadata"]["deletionTimestamp"] = ago(minutes=1)
    misnamed = claim("other", finished_at=PAST)
    misnamed["metadata"]["name"] = "somebody-elses"
    api.add(CLAIMS, claim("gone", finished_at=PAST), claim("b", finished_at=PAST), going, misnamed)
    api.add(CLAIMS, claim("foreign", ours=False))
    api.add(JOBS, job("b", "Running"))
    found = Cleanup(api.cluster()).look()
    assert [(judged.claim.job, judged.why) for judged in found] == [
        ("b", Why.ACTIVE),
        ("gone", Why.DUE),
    ]


@pytest.mark.usefixtures("noon")
@pytest.mark.parametrize("what", ["new job", "used", "touched", "gone", "recreated", "nothing"])
def test_what_has_changed_since_the_look_is_kept(api: FakeApi, what: str) -> None:
    api.add(CLAIMS, claim(finished_at=PAST))
    cleanup = Cleanup(api.cluster())
    (judged,) = cleanup.look()
    there = api.things[CLAIMS, NAMESPACE, "artifacts-my-job"]["metadata"]
    match what:
        case "new job":
            api.add(JOBS, job("my-job", "Pending"))
        case "used":
            api.add(PODS, user())
        case "touched":
            there["resourceVersion"] = "2"
        case "recreated":
            there["uid"] = "other"
        case "gone":
            api.drop(CLAIMS, "artifacts-my-job")
    assert cleanup.delete(judged) is (what == "nothing")
    assert bool(api.names(CLAIMS)) is (what not in {"nothing", "gone"})


def test_a_clock_that_is_fast_deletes_nothing(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.add(CLAIMS, claim(finished_at=ago(minutes=30)))
    clock(monkeypatch, NOW + timedelta(days=1))
    (judged,) = Cleanup(api.cluster()).look()
    assert judged.why is Why.EARLY


def test_a_clock_that_is_slow_deletes_late(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api.add(CLAIMS, claim(finished_at=PAST))
    clock(monkeypatch, NOW - timedelta(days=1))
    (judged,) = Cleanup(api.cluster()).look()
    assert judged.why is Why.EARLY


def test_numbers_of_a_job() -> None:
    found: Any = Job(job("my-job", "Succeeded"))
    assert (found.gpus, found.claim, found.input_path) == (
        1,
        "artifacts-my-job",
        "/artifacts/input.jpg",
    )
    assert found.moment("artifactsExpireAt") == NOW + timedelta(hours=1)
    assert found.moment("podExpiresAt") is None
