"""Why a replica does not run: objects as in real clusters, and what users read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from devctl_observer.judging.model import Verdict
from devctl_observer.judging.pods import Surroundings, judge_pod
from devctl_observer.kinds.servers.replicas import Replica, observe_replicas, ordinal, to_statuses
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.devserver import Phase
from unit.observer.objects import ago, claim, container, exited, pod, unscheduled, warning

PULL = 'Back-off pulling image "torch:1"'
NOT_FOUND = "failed to resolve reference: torch:1: not found"


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return container(state={"waiting": {"reason": reason, "message": message}})


def back_off(restarts: int, last: dict[str, Any]) -> dict[str, Any]:
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting"}}
    return container(restarts=restarts, state=state, last=last)


@pytest.mark.parametrize(
    ("status", "phase", "reason", "said"),
    [
        (waiting("ContainerCreating"), Phase.STARTING, "Creating", "container is starting"),
        (waiting("PodInitializing"), Phase.STARTING, "Creating", "container is starting"),
        (
            waiting("ErrImagePull", NOT_FOUND),
            Phase.FAILED,
            "ImagePullFailed",
            "does not exist: correct its name",
        ),
        (
            waiting("ImagePullBackOff", PULL),
            Phase.FAILED,
            "ImagePullFailed",
            "registry can be reached",
        ),
        (
            waiting("ErrImagePull", "pull access denied, repository does not exist"),
            Phase.FAILED,
            "ImagePullFailed",
            "ask an administrator for access",
        ),
        (waiting("InvalidImageName"), Phase.FAILED, "ImagePullFailed", "the name is invalid"),
        (
            waiting("CreateContainerConfigError", 'secret "hf" not found'),
            Phase.FAILED,
            "ConfigError",
            'secret "hf" not found',
        ),
        (waiting("RunContainerError", "no such file"), Phase.FAILED, "StartFailed", "no such file"),
        (
            back_off(4, exited(1)),
            Phase.FAILED,
            "CrashLoop",
            "exited with code 1 (restarted 4 times)",
        ),
        (
            back_off(1, exited(139)),
            Phase.FAILED,
            "CrashLoop",
            "was terminated by SIGSEGV (exit code 139)",
        ),
        (
            back_off(2, exited(137, "OOMKilled")),
            Phase.FAILED,
            "OutOfMemory",
            "choose a flavor with more memory",
        ),
        (
            back_off(1, exited(128, "StartError", message="exec: nothing: not found")),
            Phase.FAILED,
            "StartFailed",
            "exec: nothing: not found",
        ),
        # The first exit: Kubernetes restarts the container, which may help.
        (container(state=exited(2)), Phase.STARTING, "CrashLoop", "(not restarted)"),
        # The container runs between two crashes, but is known to crash by now.
        (
            container(restarts=3, state={"running": {"startedAt": ago(seconds=1)}}, last=exited(1)),
            Phase.FAILED,
            "CrashLoop",
            "kubectl logs --previous",
        ),
        (
            container(restarts=1, state={"running": {"startedAt": ago(seconds=1)}}, last=exited(1)),
            Phase.STARTING,
            "NotReady",
            "not ready yet",
        ),
        (
            container(state={"running": {"startedAt": ago(seconds=1)}}),
            Phase.STARTING,
            "NotReady",
            "not ready yet",
        ),
    ],
)
def test_a_container_says_why(status: dict[str, Any], phase: Phase, reason: str, said: str) -> None:
    verdict = judge_pod(pod(containerStatuses=[status]), Surroundings())
    assert (verdict.phase, verdict.reason) == (phase, reason)
    assert said in verdict.message


def test_the_kubelets_two_words_for_a_failed_pull_read_the_same() -> None:
    detail = "failed to resolve: not found"
    first = judge_pod(pod(containerStatuses=[waiting("ErrImagePull", detail)]), Surroundings())
    text = f"{PULL}: ErrImagePull: {detail}"
    second = judge_pod(pod(containerStatuses=[waiting("ImagePullBackOff", text)]), Surroundings())
    assert first == second


def test_a_failing_init_container_is_seen() -> None:
    init = container(state={"waiting": {"reason": "ImagePullBackOff", "message": PULL}})
    verdict = judge_pod(pod(initContainerStatuses=[init]), Surroundings())
    assert verdict.reason == "ImagePullFailed"


@pytest.mark.parametrize(
    ("message", "reason", "said"),
    [
        (
            (
                "0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient nvidia.com/gpu. "
                "preemption: 0/2 nodes are available: 2 No preemption victims found."
            ),
            "Unschedulable",
            "no node has enough free `cpu` and `nvidia.com/gpu`; wait until others stop",
        ),
        (
            "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
            "Unschedulable",
            "no available node fits the flavor",
        ),
        (
            "0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}.",
            "Unschedulable",
            "no available node fits the flavor",
        ),
        (
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            "VolumePending",
            "no node can use its volumes",
        ),
        (
            'persistentvolumeclaim "home-my-dev-0" not found',
            "VolumePending",
            "claim `home-my-dev-0` does not exist yet; it is about to be created",
        ),
        (
            (
                "0/2 nodes are available: 1 node(s) were unschedulable, 1 node(s) didn't match "
                "PersistentVolume's node affinity. no new claims to deallocate, preemption: none"
            ),
            "Unschedulable",
            "no node that can reach its home accepts pods now; it starts once one does",
        ),
        (
            "0/2 nodes are available: 2 node(s) had volume node affinity conflict.",
            "Unschedulable",
            "no node that can reach its home accepts pods now",
        ),
        (
            (
                "0/2 nodes are available: 1 node(s) had untolerated taint {a: b}, 1 node(s) were "
                "unschedulable."
            ),
            "Unschedulable",
            "no node that it may use accepts pods now; it starts once one does; ask an",
        ),
        (
            "0/1 nodes are available: 1 node(s) exceed max volume limit.",
            "VolumePending",
            "no node can use its volumes",
        ),
        ("0/1 nodes are available: 1 node(s) were odd.", "Unschedulable", "no node accepts it"),
        ("", "Unschedulable", "waiting for the scheduler"),
    ],
)
def test_the_scheduler_says_why(message: str, reason: str, said: str) -> None:
    verdict = judge_pod(unscheduled(message), Surroundings())
    assert (verdict.phase, verdict.reason) == (Phase.PENDING, reason)
    assert said in verdict.message
    assert "preemption" not in verdict.message
    assert "deallocate" not in verdict.message


def test_a_shared_claim_that_is_not_there_is_named_before_all_that_follows_from_it() -> None:
    said = warning("PersistentVolumeClaim", "home-my-dev-0", "ProvisioningFailed", "no space left")
    around = Surroundings({"home-my-dev-0": claim("Pending")}, [said], absent="data")
    verdict = judge_pod(unscheduled("0/2 nodes are available: 2 Insufficient cpu"), around)
    assert (verdict.phase, verdict.reason) == (Phase.PENDING, "VolumeNotFound")
    assert verdict.message == (
        "the PersistentVolumeClaim `data` in spec.sharedVolumeClaimName does not exist: create it, "
        "or name an existing one"
    )


def test_a_gated_pod_waits_in_the_queue() -> None:
    assert judge_pod(unscheduled("gated", "SchedulingGated"), Surroundings()).reason == "Queued"


def test_a_pod_that_nobody_has_looked_at_waits_for_the_scheduler() -> None:
    verdict = judge_pod(pod(conditions=[], containerStatuses=[]), Surroundings())
    assert (verdict.phase, verdict.reason) == (Phase.PENDING, "Scheduling")


def test_a_claim_without_a_volume_is_named_with_its_class_and_the_provisioners_words() -> None:
    claims = {"home-my-dev-0": claim("Pending")}
    unbound = unscheduled(
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    )
    silent = judge_pod(unbound, Surroundings(claims))
    assert silent.message == "claim `home-my-dev-0` (storage class `devctl-home`) has no volume yet"

    said = warning("PersistentVolumeClaim", "home-my-dev-0", "ProvisioningFailed", "no space left")
    verdict = judge_pod(unbound, Surroundings(claims, (said,)))
    assert (verdict.phase, verdict.reason) == (Phase.PENDING, "VolumePending")
    assert "(no space left)" in verdict.message


def test_a_lost_volume_needs_an_administrator() -> None:
    verdict = judge_pod(unscheduled("x"), Surroundings({"home-my-dev-0": claim("Lost")}))
    assert (verdict.phase, verdict.reason) == (Phase.FAILED, "VolumeLost")


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("FailedMount", "MountFailed"), ("FailedCreatePodSandBox", "SandboxFailed")],
)
def test_a_nodes_warning_explains_a_pod_that_is_not_set_up(reason: str, expected: str) -> None:
    said = warning("Pod", "my-dev-0", reason, "timed out waiting")
    others = warning("Pod", "my-dev-1", reason, "another pod's")
    verdict = judge_pod(pod(), Surroundings(warnings=(said, others)))
    assert verdict.reason == expected
    assert "timed out waiting" in verdict.message


def test_running_ending_ended_and_lost_pods() -> None:
    assert judge_pod(pod(ready=True), Surroundings()).phase is Phase.RUNNING
    ending = pod(ready=True, meta={"deletionTimestamp": ago(seconds=1)})
    assert judge_pod(ending, Surroundings()).phase is Phase.STOPPING
    evicted = pod(phase="Failed", reason="Evicted", message="node was low on memory", conditions=[])
    verdict = judge_pod(evicted, Surroundings())
    assert (verdict.phase, verdict.reason) == (Phase.STARTING, "Evicted")
    assert "node was low on memory; a new pod" in verdict.message
    lost = judge_pod(pod(ready=True), Surroundings(lost_nodes=frozenset({"node-a"})))
    assert (lost.phase, lost.reason) == (Phase.PENDING, "NodeLost")


QUOTA = (
    'create Pod my-dev-0 in StatefulSet my-dev failed error: pods "my-dev-0" is forbidden: '
    "exceeded quota: team, requested: requests.cpu=4, used: requests.cpu=6, limited: requests.cpu=8"
)


@pytest.mark.parametrize(
    ("message", "phase", "reason", "said"),
    [
        (
            QUOTA,
            Phase.PENDING,
            "QuotaExceeded",
            "it needs requests.cpu=4, but requests.cpu=6 of requests.cpu=8 are in use; stop",
        ),
        (
            "failed quota: team: must specify cpu",
            Phase.PENDING,
            "QuotaExceeded",
            "must specify cpu",
        ),
        ('violates PodSecurity "restricted"', Phase.FAILED, "PodRefused", "violates PodSecurity"),
    ],
)
def test_a_pod_that_cannot_be_made_says_why(
    message: str, phase: Phase, reason: str, said: str
) -> None:
    event = warning("StatefulSet", "my-dev", "FailedCreate", message)
    replica = observe_replicas(1, [], Surroundings(warnings=(event,)))[0]
    assert (replica.verdict.phase, replica.verdict.reason) == (phase, reason)
    assert said in replica.verdict.message


def test_the_latest_refusal_counts_and_events_of_both_kinds_have_a_time() -> None:
    old = warning("StatefulSet", "my-dev", "FailedCreate", "exceeded quota: old")
    new = warning(
        *("StatefulSet", "my-dev", "FailedCreate", "refused"),
        lastTimestamp=None,
        eventTime=ago(seconds=1),
    )
    found = observe_replicas(1, [], Surroundings(warnings=(new, old)))[0]
    assert found.verdict.reason == "PodRefused"


def test_every_wanted_replica_and_every_left_one_is_listed_in_order() -> None:
    replicas = observe_replicas(2, [pod(3), pod(0, ready=True)], Surroundings())
    assert [(r.ordinal, r.verdict.reason) for r in replicas] == [
        (0, "Ready"),
        (1, "PodMissing"),
        (3, "Creating"),
    ]
    assert replicas[0].to_status("my-dev-0") == {
        "ordinal": 0,
        "pod": "my-dev-0",
        "node": "node-a",
        "ip": "10.0.0.7",
        "phase": "Running",
        "reason": "Ready",
        "restarts": 0,
    }


@given(st.text())
def test_no_name_breaks_the_ordinal(name: str) -> None:
    number = ordinal(name)
    assert number is None or name.endswith(str(number).rjust(1))


@given(st.text(max_size=300), st.text(max_size=50))
def test_any_message_gives_a_verdict(message: str, reason: str) -> None:
    assert judge_pod(unscheduled(message, reason), Surroundings()).phase is Phase.PENDING
    judge_pod(pod(containerStatuses=[waiting(reason, message)]), Surroundings())
    event = warning("StatefulSet", "my-dev", "FailedCreate", message)
    assert observe_replicas(1, [], Surroundings(warnings=(event,)))[0].verdict.message


def test_a_thousand_replicas_that_fail_make_no_object_that_is_too_large() -> None:
    waits = Verdict(Phase.STARTING, "ImagePullFailed", "x" * 5000)
    runs = Verdict(Phase.RUNNING, "Running", "it runs")
    replicas = [Replica(n, runs if n < 500 else waits) for n in range(1024)]

    entries = to_statuses(replicas, "lab")

    assert [entry["reason"] for entry in entries].count("ImagePullFailed") == 524
    assert [entry["ordinal"] for entry in entries if "message" in entry] == list(range(500, 516))
    assert len(json.dumps(entries)) < 200_000
