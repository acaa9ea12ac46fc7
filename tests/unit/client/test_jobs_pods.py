"""The pods that a user makes for a job's volume: hardened, explained, and gone in the end."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api import ephemeral_acceleration_job as words
from devctl.client.jobs import helper_pod, pod_startup
from devctl.client.jobs.helper_pod import DEBUG, LOADER, helper, pod_name
from devctl.client.jobs.pod_startup import Trouble, trouble
from devctl.errors import (
    AlreadyExistsError,
    ConnectionLostError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from unit.client.fake_cluster import NAMESPACE, FakeApi, Thing
from unit.client.job_things import CLAIMS, JOBS, PODS, claim, helpers_run, job, settings, user

NAMES = st.from_regex(words.NAME, fullmatch=True)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATIENCE", "_POLL", "_SLOW"):
        monkeypatch.setattr(pod_startup, name, 0.01)


def test_examples() -> None:
    assert doctest.testmod(helper_pod).failed == 0


@given(NAMES)
def test_names_are_those_of_pods_and_say_which_job(name: str) -> None:
    for role in (LOADER, DEBUG):
        made = pod_name(role, name)
        assert words.NAME.fullmatch(made)
        assert len(made) <= 63
        assert made.startswith(f"{role.name}-{name[:20].rstrip('-')}")
    assert pod_name(LOADER, name) != pod_name(LOADER, name)


@pytest.mark.parametrize("role", [LOADER, DEBUG], ids=lambda role: role.name)
def test_the_pod_may_next_to_nothing_and_is_not_taken_for_the_jobs_own(role: Any) -> None:
    made = helper_pod.helper_pod(role, "my-job", "artifacts-my-job", "image:1")
    spec, (container,) = made["spec"], made["spec"]["containers"]
    assert not [key for key in made["metadata"]["labels"] if key.startswith(words.GROUP)]
    assert made["metadata"]["labels"]["app.kubernetes.io/managed-by"] != "devctl"
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert {spec["securityContext"][name] for name in ("runAsUser", "runAsGroup", "fsGroup")} == {
        1000
    }
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert spec["activeDeadlineSeconds"] == (3600 if role is LOADER else 8 * 3600)
    assert container["command"] == ["sleep", str(spec["activeDeadlineSeconds"])]
    assert spec["restartPolicy"] == "Never"
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts["artifacts"] == ("/artifacts" if role is LOADER else "/mnt")


def test_it_is_there_for_as_long_as_it_is_needed(api: FakeApi) -> None:
    made = helpers_run(api)
    api.add(CLAIMS, claim())
    with helper(api.cluster(), "my-job", LOADER) as place:
        assert api.names(PODS) == [place.pod]
        assert place.path == "/artifacts"
    assert api.names(PODS) == []
    assert made[0]["spec"]["containers"][0]["image"] == "loader:1"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, DevctlError("no"), OSError])
def test_it_goes_however_the_block_ends(api: FakeApi, error: Any) -> None:
    helpers_run(api)
    api.add(CLAIMS, claim())
    with (
        pytest.raises(error if isinstance(error, type) else type(error)),
        helper(api.cluster(), "my-job", LOADER),
    ):
        raise error
    assert api.names(PODS) == []


def test_one_that_was_made_though_nobody_heard_of_it_goes_too(api: FakeApi) -> None:
    api.add(CLAIMS, claim())
    api.add("configmaps", settings(image="servers:1"))

    def interrupt(plural: str, _thing: Thing) -> None:
        if plural == PODS:
            raise KeyboardInterrupt

    api.made = interrupt
    with pytest.raises(KeyboardInterrupt), helper(api.cluster(), "my-job", LOADER):
        pass
    assert api.names(PODS) == []


def test_one_that_somebody_put_in_its_place_is_left_alone(api: FakeApi) -> None:
    helpers_run(api)
    api.add(CLAIMS, claim())
    with pytest.raises(DevctlError, match=r"could not be deleted: .*recreated"):  # noqa: SIM117
        with helper(api.cluster(), "my-job", LOADER) as place:
            api.things[PODS, NAMESPACE, place.pod]["metadata"]["uid"] = "other"
    assert len(api.names(PODS)) == 1


def test_a_connection_that_is_lost_says_what_to_do_with_a_job(api: FakeApi) -> None:
    helpers_run(api)
    api.add(CLAIMS, claim())
    with pytest.raises(ConnectionLostError) as raised, helper(api.cluster(), "my-job", LOADER):
        raise ConnectionLostError("the connection to `x` was lost", "see `devctl describe`")
    assert "repeat the command" in raised.value.fix


def test_it_may_stay(api: FakeApi) -> None:
    helpers_run(api)
    api.add(CLAIMS, claim())
    with helper(api.cluster(), "my-job", DEBUG, keep=lambda: True):
        pass
    assert len(api.names(PODS)) == 1


def test_the_first_pod_on_a_volume_asks_for_what_its_job_will(api: FakeApi) -> None:
    """Its node is the volume's from then on: a GPU has to be there."""
    made = helpers_run(api)
    resources = {"gpu": 2, "cpu": "1500m", "memory": "4Gi"}
    api.add("ephemeralaccelerationjobs", job(spec={"resources": resources}))
    api.add(CLAIMS, claim(phase="Pending"))
    with helper(api.cluster(), "my-job", LOADER):
        pass
    asked = made[0]["spec"]["containers"][0]["resources"]
    assert asked["requests"] == {"cpu": "1500m", "memory": "4Gi", "nvidia.com/gpu": "2"}
    assert asked["limits"] == {"cpu": "1500m", "memory": "4Gi", "nvidia.com/gpu": "2"}
    api.things[CLAIMS, NAMESPACE, "artifacts-my-job"]["status"]["phase"] = "Bound"
    with helper(api.cluster(), "my-job", LOADER):
        pass
    asked = made[1]["spec"]["containers"][0]["resources"]
    assert asked["requests"] == {"cpu": "50m", "memory": "64Mi"}


def test_the_first_pod_on_a_volume_goes_to_nodes_of_the_jobs_flavor(api: FakeApi) -> None:
    """The volume may be tied to its node, and Kueue puts the job on one of the flavor's."""
    made = helpers_run(api)
    spec = {"nodeSelector": {"gpu": "t4"}, "resources": {}}
    api.add("devserverflavors", {"metadata": {"name": "t4"}, "spec": spec})
    api.add(CLAIMS, claim(phase="Pending"))
    for team, expected in (({}, None), ({"team": "vision"}, {"gpu": "t4"})):
        api.add(JOBS, job(spec={"flavor": "t4"} | team))
        with helper(api.cluster(), "my-job", LOADER, image="image"):
            assert made[-1]["spec"].get("nodeSelector") == expected


def test_it_goes_where_the_volume_is_in_use(api: FakeApi) -> None:
    made = helpers_run(api)
    api.add(CLAIMS, claim())
    api.add(PODS, user(), user("ended", phase="Succeeded"))
    with helper(api.cluster(), "my-job", LOADER):
        pass
    assert "gpu-1" in str(made[0]["spec"]["affinity"])


def test_without_an_image_it_is_said_who_names_one(api: FakeApi) -> None:
    api.add(CLAIMS, claim())
    with pytest.raises(UsageError, match="no image is named") as raised:
        helper(api.cluster(), "my-job", LOADER).__enter__()
    assert "EGPU_LOADER_IMAGE" in raised.value.fix
    assert "loaderImage" in raised.value.fix


def test_a_claim_that_is_not_ours_or_on_its_way_out_is_not_mounted(api: FakeApi) -> None:
    helpers_run(api)
    with pytest.raises(NotFoundError, match="has no volume"):
        helper(api.cluster(), "my-job", LOADER).__enter__()
    api.add(CLAIMS, claim(ours=False))
    with pytest.raises(AlreadyExistsError, match="was not made for job"):
        helper(api.cluster(), "my-job", LOADER).__enter__()
    going = claim()
    going["metadata"]["deletionTimestamp"] = "2026-01-02T12:00:00Z"
    api.add(CLAIMS, going)
    with pytest.raises(NotFoundError, match="is being deleted"):
        helper(api.cluster(), "my-job", LOADER).__enter__()
    assert api.names(PODS) == []


def waiting(reason: str, message: str = "") -> Thing:
    state = {"waiting": {"reason": reason, "message": message}}
    return {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [{"image": "loader:1", "state": state}],
    }


def unscheduled(message: str) -> Thing:
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


def warning(reason: str, kind: str = "Pod", message: str = "the disk is away") -> Thing:
    return {"reason": reason, "message": message, "involvedObject": {"kind": kind}}


@pytest.mark.parametrize(
    ("status", "warnings", "reason", "said", "fatal"),
    [
        ({}, [], "Scheduling", "waiting for the scheduler", False),
        (unscheduled("0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2"), [],
         "Unschedulable", "no node has enough free `nvidia.com/gpu`", False),
        (unscheduled("0/2 nodes: node(s) had volume node affinity conflict"), [],
         "VolumePending", "no node can use its volume", False),
        (unscheduled("0/2 nodes: 2 node(s) had untolerated taint(s)"), [],
         "Unschedulable", "no node accepts it", False),
        (unscheduled("x"), [warning("ProvisioningFailed", "PersistentVolumeClaim")],
         "VolumePending", "its claim gets no volume", False),
        (waiting("ContainerCreating"), [], "Creating", "is being created", False),
        (waiting("ContainerCreating"), [warning("FailedAttachVolume")],
         "MountFailed", "cannot be mounted yet: the disk is away", False),
        (waiting("ContainerCreating"), [warning("FailedCreatePodSandBox")],
         "SandboxFailed", "its node cannot set it up", False),
        (waiting("ImagePullBackOff", 'Back-off pulling image "l:1": ErrImagePull: no host'), [],
         "ImagePullFailed", "image `loader:1` cannot be pulled (no host)", True),
        (waiting("ErrImageNeverPull"), [], "ImagePullFailed", "cannot be pulled", True),
        (waiting("CreateContainerError", "no user"), [],
         "StartFailed", "cannot be started: no user", True),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, [],
         "Evicted", "low on memory", True),
        ({"phase": "Failed", "containerStatuses": [
            {"state": {"terminated": {"exitCode": 127, "message": "no sleep"}}}]}, [],
         "PodEnded", "its container ended: no sleep", True),
        ({"phase": "Succeeded"}, [], "PodEnded", "it ended by itself", True),
    ],
)  # fmt: skip
def test_why_it_does_not_run(
    status: Thing, warnings: list[Thing], reason: str, said: str, fatal: object
) -> None:
    found = trouble({"metadata": {"name": "x"}, "status": status}, warnings)
    assert found
    assert (found.reason, found.fatal) == (reason, fatal)
    assert said in found.message


def test_one_that_runs_or_is_deleted() -> None:
    running = {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}
    assert trouble({"metadata": {}, "status": running}) is None
    found = trouble({"metadata": {"deletionTimestamp": "now"}, "status": running})
    assert found == ("Deleted", "somebody has deleted it", True)


def stuck(api: FakeApi, status: Thing) -> None:
    helpers_run(api)

    def stay(plural: str, thing: Thing) -> None:
        if plural == PODS:
            thing["status"] = status

    api.made = stay
    api.add(CLAIMS, claim())


@pytest.mark.parametrize(
    ("status", "seconds", "error", "fix"),
    [
        (waiting("ErrImagePull", "manifest unknown"), 60, DevctlError, "--loader-image"),
        (unscheduled("Insufficient cpu"), 0.05, WaitTimeoutError, "kubectl get pods"),
        ({"phase": "Failed", "reason": "Evicted"}, 60, DevctlError, "try again"),
    ],
)
def test_one_that_does_not_start_is_explained_and_goes(
    api: FakeApi, status: Thing, seconds: float, error: type[DevctlError], fix: str
) -> None:
    stuck(api, status)
    seen: list[Trouble] = []
    with pytest.raises(error, match="pod `loader-my-job-") as raised:
        helper(api.cluster(), "my-job", LOADER, seconds=seconds, progress=seen.append).__enter__()
    assert fix in raised.value.fix
    assert seen
    assert api.names(PODS) == []


def test_a_registry_that_stumbles_is_waited_for(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_startup, "PATIENCE", 60)
    stuck(api, waiting("ErrImagePull"))
    seen: list[str] = []

    def mends(found: Trouble) -> None:
        seen.append(str(found))
        (name,) = api.names(PODS)
        api.things[PODS, NAMESPACE, name]["status"] = {
            "containerStatuses": [{"state": {"running": {}}}]
        }

    with helper(api.cluster(), "my-job", LOADER, progress=mends):
        assert seen == ["ImagePullFailed: image `loader:1` cannot be pulled"]
