"""The values for the role `ephemeral_acceleration_job`."""

from __future__ import annotations

import pytest
from apply.errors import ApplyError
from apply.manifests import Key, Kind
from apply.values import entries
from ephemeral_acceleration_job.pod import environment, made_from, pod_values
from ephemeral_acceleration_job.values import identity
from hypothesis import given
from hypothesis import strategies as st
from unit.plugins.jobs import FINISHED, Thing, claim, decided, expired, job, names, pod

from devctl.api.applied import Reason
from devctl.api.ephemeral_acceleration_job import JOB_UID, OWNER, OWNER_NAME
from devctl.api.labels import owner_digest

VOLUME = Key(Kind("v1", "PersistentVolumeClaim"), "artifacts-scan", "team")
RUNNING = {"phase": "Running"}
GOING = {"deletionTimestamp": "now"}
ALICE, BOB = "alice@company.com", "bob@company.com"


def had_by(owner: str | None, uid: str = "u0", **metadata: str) -> Thing:
    """A claim last used by a user's job; None is a job from a release without owners."""
    labels = {OWNER: owner_digest(owner)} if owner else {}
    notes = {JOB_UID: uid} | ({OWNER_NAME: owner} if owner else {})
    return claim(labels=identity(job()) | labels, annotations=notes, **metadata)


def test_a_new_job_gets_its_claim_and_its_pod() -> None:
    found = decided(job(storageClass="longhorn"))
    made = found.names

    assert made["claim"] == {
        "name": "artifacts-scan",
        "labels": {},
        "annotations": {
            "gpu.yourdomain.io/job-uid": "u1",
            "gpu.yourdomain.io/pvc-ttl-seconds": "3600",
        },
        "size": "1Gi",
        "storage_class": "longhorn",
    }
    assert made["pod"]["name"] == "ephemeralaccelerationjob-scan"
    assert made["pod"]["claim"] == "artifacts-scan"
    assert (found.remove, found.update_only) == ([], frozenset())


def test_a_suspended_job_has_its_claim_and_no_pod() -> None:
    made = names(job(suspend=True), [], [])

    assert made["claim"]
    assert made["pod"] is None


def test_a_pod_that_is_there_is_not_applied_again() -> None:
    assert names(job(), [pod()], [claim()])["pod"] is None


def test_a_pod_is_removed_as_it_was_read() -> None:
    there = pod()

    assert decided(job(image="other"), [there], [claim()]).remove == [there]


def test_a_pod_of_an_earlier_job_is_no_start_of_this_one() -> None:
    """It is rendered: the run is then retried until the other one is gone."""
    found = decided(job(), [pod(RUNNING, uid="u0")], [claim()])

    assert found.names["pod"]
    assert (found.remove, found.update_only) == ([], frozenset())


def test_only_the_pod_of_the_jobs_name_is_its_pod() -> None:
    loader = pod(RUNNING, name="load-scan")

    assert names(job(), [loader], [claim()])["pod"]
    assert decided(job(expired("PodExpired")), [loader], [claim()]).remove == []


@pytest.mark.parametrize(
    ("wanted", "there", "volume", "rendered"),
    [
        (job(), None, None, True),
        (job(), None, claim(), True),
        # The run fails until it is gone, and then recreates it.
        (job(), None, claim(**GOING), True),
        (job(suspend=True), None, None, True),
        # What a started job has lost is not recreated.
        (job({"startedAt": "t1"}), None, None, False),
        (job(), pod(RUNNING), None, False),
        (job(), pod(RUNNING), claim(), True),
        (job(), pod(RUNNING), claim(**GOING), False),
        (job(FINISHED), None, claim(), True),
        (job(FINISHED), None, None, False),
        (job(FINISHED), None, claim(**GOING), False),
        (job(expired("ArtifactsExpired", "False")), None, claim(), True),
        (job(expired("ArtifactsExpired")), None, claim(), False),
    ],
)
def test_when_a_claim_is_applied(
    wanted: Thing, there: Thing | None, volume: Thing | None, *, rendered: bool
) -> None:
    made = names(wanted, [there] if there else [], [volume] if volume else [])

    assert bool(made["claim"]) is rendered


@pytest.mark.parametrize(
    ("wanted", "pods", "kept"),
    [
        (job(), [], []),
        (job(), [pod()], []),
        (job(), [pod(RUNNING)], [VOLUME]),
        (job({"startedAt": "t1"}), [], [VOLUME]),
        (job(FINISHED), [], [VOLUME]),
    ],
)
def test_a_started_jobs_claim_is_updated_and_not_made(
    wanted: Thing, pods: list[Thing], kept: list[Key]
) -> None:
    assert decided(wanted, pods, [claim()]).update_only == set(kept)


def test_a_claim_says_when_its_job_finished_and_how_long_it_stays() -> None:
    annotations = names(job(FINISHED, pvcTTLSecondsAfterFinished=0), [], [claim()])["claim"]

    assert annotations["annotations"] == {
        "gpu.yourdomain.io/job-uid": "u1",
        "gpu.yourdomain.io/pvc-ttl-seconds": "0",
        "gpu.yourdomain.io/finished-at": "t2",
    }


def test_a_claim_says_whose_files_it_has() -> None:
    made = names(job(owner=ALICE), [], [])["claim"]

    assert made["labels"] == {OWNER: owner_digest(ALICE)}
    assert made["annotations"][OWNER_NAME] == ALICE


@pytest.mark.parametrize(
    ("owner", "there"),
    [
        (ALICE, had_by(ALICE)),
        # From a release without owners: the job's own, and that of an earlier such job.
        (None, had_by(None, "u1")),
        (None, had_by(None)),
        # A release without owners has removed hers meanwhile.
        (ALICE, had_by(None, "u1")),
        # A terminating claim is waited for, whoever owns it.
        (BOB, had_by(ALICE, **GOING)),
    ],
)
def test_a_job_gets_the_claim_of_its_owners_earlier_one(owner: str | None, there: Thing) -> None:
    wanted: Thing = {"owner": owner} if owner else {}
    assert names(job(**wanted), [], [there])["claim"]


@pytest.mark.parametrize(
    ("there", "whose", "advice"),
    [
        (had_by(ALICE), f"of `{ALICE}`", f"have `{ALICE}` or an administrator delete it"),
        (had_by(None), "of an unknown owner", "choose another name for the job, or delete it"),
    ],
)
def test_a_job_does_not_get_another_persons_claim(there: Thing, whose: str, advice: str) -> None:
    with pytest.raises(ApplyError) as refused:
        names(job(owner=BOB), [], [there])

    assert refused.value.reason == Reason.CONFLICT
    for part in ("artifacts-scan", whose, advice, "`egpu delete scan --delete-pvc`"):
        assert part in str(refused.value)


@pytest.mark.parametrize(
    ("there", "wanted", "size"),
    [
        ("10Gi", "1Gi", "10Gi"),
        ("1Gi", "10Gi", "10Gi"),
        ("1024Mi", "1Gi", "1024Mi"),
        ("1Gi", 1073741824, "1Gi"),
        ("1Gi", 1073741825, "1073741825"),
    ],
)
def test_a_claim_that_is_there_never_shrinks(there: str, wanted: str | int, size: str) -> None:
    assert names(job(pvcSize=wanted), [], [claim(there)])["claim"]["size"] == size


@pytest.mark.parametrize("wanted", [{}, {"storageClass": "longhorn"}])
@pytest.mark.parametrize(
    ("there", "rendered"),
    [
        (claim(storage_class="fast", applied="Apply"), "fast"),
        (claim(storage_class="fast", applied="Update"), None),
        (claim(storage_class="fast"), None),
        (claim(managedFields=None), None),
        (claim(managedFields=[{"operation": "Apply"}]), None),
    ],
)
def test_a_claim_that_is_there_keeps_its_class(
    there: Thing, rendered: str | None, wanted: Thing
) -> None:
    assert names(job(**wanted), [], [there])["claim"]["storage_class"] == rendered


def test_a_job_is_known_by_its_name() -> None:
    assert identity(job()) == {
        "app.kubernetes.io/managed-by": "devctl",
        "gpu.yourdomain.io/job": "scan",
    }


def test_the_environment_says_what_to_do() -> None:
    found = {entry["name"]: entry["value"] for entry in environment(job()["spec"])}

    assert found == {
        "MODEL": "resnet50",
        "INPUT_PATH": "/artifacts/input.jpg",
        "INPUT_WAIT_SECONDS": "120",
        "OUTPUT_PATH": "/artifacts/output.json",
    }


@pytest.mark.parametrize(
    ("weights", "names"),
    [
        ({"path": "/artifacts/w"}, {"WEIGHTS_PATH"}),
        ({"path": "/artifacts/w", "labelsPath": "/artifacts/l"}, {"WEIGHTS_PATH", "LABELS_PATH"}),
    ],
)
def test_weights_of_the_job_are_named(weights: Thing, names: set[str]) -> None:
    found = {entry["name"] for entry in environment(job(weights=weights)["spec"])}

    assert found - {"MODEL", "INPUT_PATH", "INPUT_WAIT_SECONDS", "OUTPUT_PATH"} == names


def as_the_kubelet_reads(text: str) -> str:
    """Kubernetes' third_party/forked/golang/expansion, without any variables."""
    out, at = "", 0
    while at < len(text):
        if text[at] == "$" and at + 1 < len(text):
            following = text[at + 1]
            end = text.find(")", at)
            if following == "(" and end >= 0:
                out, at = f"{out}VARIABLE", end + 1
                continue
            out += "$" if following == "$" else f"${following}"
            at += 2
            continue
        out += text[at]
        at += 1
    return out


@given(st.text("$()aA", max_size=12))
def test_the_kubelet_hands_a_value_on_as_it_was(value: str) -> None:
    (entry,) = entries({"A": value})
    assert as_the_kubelet_reads(entry["value"]) == value


@pytest.mark.parametrize(
    ("gpus", "limits", "tolerated"),
    [
        (0, {"memory": "2Gi"}, set()),
        (2, {"memory": "2Gi", "nvidia.com/gpu": "2"}, {"nvidia.com/gpu"}),
    ],
)
def test_a_gpu_is_asked_for_only_if_it_is_wanted(
    gpus: int, limits: Thing, tolerated: set[str]
) -> None:
    made = pod_values(job(resources={"gpu": gpus, "cpu": 2, "memory": "2Gi"}))

    assert made["resources"] == {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": limits}
    lost = {"node.kubernetes.io/not-ready": 60, "node.kubernetes.io/unreachable": 60}
    found = {t["key"]: t.get("tolerationSeconds") for t in made["tolerations"]}
    assert found == lost | dict.fromkeys(tolerated)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "mobilenet_v3_small"},
        {"input": {"type": "image", "path": "/artifacts/b", "waitSeconds": 1}},
        {"output": {"path": "/artifacts/b"}},
        {"weights": {"path": "/artifacts/w.safetensors"}},
        {"resources": {"gpu": 0, "cpu": "500m", "memory": "1Gi"}},
        {"image": "b"},
        {"command": ["b"]},
        {"activeDeadlineSeconds": 5},
    ],
)
def test_whatever_shapes_a_pod_is_in_its_digest(changes: Thing) -> None:
    assert made_from(job(**changes)) != made_from(job())


@pytest.mark.parametrize(
    "changes",
    [
        {"ttlSecondsAfterFinished": 9},
        {"pvcTTLSecondsAfterFinished": 9},
        {"suspend": True},
        {"pvcSize": "2Gi"},
        {"storageClass": "fast"},
    ],
)
def test_what_shapes_no_pod_is_not(changes: Thing) -> None:
    assert made_from(job(**changes)) == made_from(job())


def test_the_digest_is_the_same_whatever_the_order_of_its_fields() -> None:
    turned = job()
    turned["spec"] = dict(reversed(list(turned["spec"].items())))

    assert made_from(turned) == made_from(job())
