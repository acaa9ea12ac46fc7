"""A GPUWorkload, from its creation to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.plane.scenarios import FAILS, NO_IMAGE
from support.servers import wait_until
from support.workloads import PLURAL, Workload

from devctl.api.gpu_workload import job_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

pytestmark = pytest.mark.usefixtures("deployed")
NOW = {"maxRetries": 2, "backoffSeconds": 1}


@pytest.fixture
def one(kubectl: Kubectl, namespace: str) -> Iterator[Workload]:
    made = Workload(kubectl.api, namespace)
    yield made
    made.delete()


def test_it_runs_and_succeeds(one: Workload) -> None:
    one.apply(modelName="my-model", gpuCount=2)
    running = one.wait("Running")
    assert (running["attempt"], running["retryCount"]) == (1, 0)
    assert running["jobName"] == "one-1"
    (pod,) = one.pods()
    assert running["assignedNode"] == pod["spec"]["nodeName"]
    assert pod["metadata"]["labels"]["app"] == "my-model"
    scores = {entry["node"]: entry.get("score") for entry in running["considered"]}
    assert scores[running["assignedNode"]] == max(scores.values())
    one.end()
    ended = one.wait("Succeeded", "Completed")
    assert ended["exitCode"] == 0
    assert ended["startedAt"] <= ended["finishedAt"]
    assert one.condition("Succeeded")["status"] == "True"
    assert len(one.jobs()) == 1


def test_each_failure_is_retried_and_counted_once(one: Workload) -> None:
    one.apply(command=["sh", "-c", FAILS], retryPolicy=NOW)
    failed = one.wait("Failed")
    assert (failed["retryCount"], failed["attempt"], failed["exitCode"]) == (2, 3, 7)
    assert failed["reason"] == "NonZeroExit"
    assert "it is broken" in failed["message"]
    assert "after 2 retries" in failed["message"]
    names = [job["metadata"]["name"] for job in one.jobs()]
    assert names == [job_name("one", attempt) for attempt in (1, 2, 3)]
    assert len(one.pods()) == 3


def test_without_a_suitable_node_a_retry_is_counted_and_it_says_what_is_missing(
    one: Workload,
) -> None:
    one.apply(gpuCount=8, retryPolicy={"maxRetries": 1, "backoffSeconds": 1})
    failed = one.wait("Failed", "NoSuitableNode")
    assert (failed["retryCount"], failed.get("attempt", 0)) == (1, 0)
    assert "no node has 8 free GPUs" in failed["message"]
    assert "nvidia.com/gpu 8 wanted, 4 there" in failed["message"]
    assert not one.jobs()
    assert {entry["node"] for entry in failed["considered"]} >= {"plane-1", "plane-2"}


def test_an_unknown_strategy_is_reported_with_those_there_are(one: Workload) -> None:
    one.apply(schedulingStrategy="best")
    failed = one.wait("Failed", "UnknownStrategy")
    assert "`cacheAware`, `costOptimized`, `leastLoaded`, `packed`, `random`" in failed["message"]
    one.apply(schedulingStrategy="packed")
    one.wait("Running")


def test_a_node_that_has_the_image_is_preferred(one: Workload) -> None:
    wanted: dict[str, Any] = {"schedulingStrategy": "cacheAware", "image": "nobody.example/train:1"}
    images = [{"names": [wanted["image"]], "sizeBytes": 1}]
    one.api.patch("node", "plane-2", {"status": {"images": images}}, sub="status")

    def is_there() -> bool:
        # The observer may read of the workload before it reads of the images.
        one.apply(**wanted, stopped=True)
        one.wait("Pending", "Stopped")
        one.apply(**wanted)
        best = one.wait("Running")["considered"][0]
        return bool(best["node"] == "plane-2" and best["reason"].startswith("its image is there"))

    wait_until(is_there, "the node is preferred for its image")


def test_a_stopped_workload_starts_again_without_a_retry(one: Workload) -> None:
    one.apply()
    one.wait("Running")
    one.apply(stopped=True)
    one.wait("Pending", "Stopped")
    wait_until(lambda: not one.jobs() and not one.pods(), "its Job is removed")
    one.apply(stopped=False)
    running = one.wait("Running")
    assert (running["attempt"], running["retryCount"]) == (2, 0)


def test_a_job_that_somebody_deletes_is_a_failed_attempt(one: Workload) -> None:
    one.apply(retryPolicy=NOW)
    one.wait("Running")
    one.api.delete("job", "one-1", one.namespace)
    running = one.follow(lambda s: s.get("attempt") == 2 and s["phase"] == "Running", "again")
    assert running["retryCount"] == 1


def test_a_missing_image_is_told_at_once(one: Workload) -> None:
    one.apply(image=NO_IMAGE)
    told = one.wait("Scheduled", "ImagePullFailed")
    assert NO_IMAGE in told["message"]


def test_a_timeout_is_final(one: Workload) -> None:
    one.apply(timeout="2s", retryPolicy=NOW)
    failed = one.wait("Failed", "DeadlineExceeded")
    assert failed["retryCount"] == 0
    assert "spec.timeout" in failed["message"]


def test_what_is_somebody_elses_stays_and_status_says_so(one: Workload) -> None:
    container = {"name": "main", "image": "any:1"}
    spec = {"restartPolicy": "Never", "containers": [container]}
    theirs = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": spec}}}
    theirs["spec"]["suspend"] = True  # type: ignore[index]
    one.api.create(theirs | {"metadata": {"name": "one-1", "namespace": one.namespace}})
    one.apply()
    one.wait("Scheduling", "Conflict")
    one.api.delete("job", "one-1", one.namespace)
    one.wait("Running")


def test_figures_after_a_known_load(one: Workload, deployed: Plane) -> None:
    def figure(name: str) -> float:
        return deployed.observer.figures().get(f"warp_gpuworkload_{name}", 0)

    names = (
        'scheduled_total{strategy="packed"}',
        'failed_total{reason="no_suitable_node"}',
        "retries_total",
        'reconcile_duration_seconds_count{result="error"}',
    )
    looks = 'reconcile_duration_seconds_count{result="success"}'
    wait_until(lambda: not one.api.list(PLURAL), "nothing else is counted")
    before, looked = {name: figure(name) for name in names}, figure(looks)
    one.apply(schedulingStrategy="packed")
    one.wait("Running")
    large = Workload(one.api, one.namespace, "large")
    large.apply(gpuCount=8, retryPolicy=NOW)
    large.wait("Failed", "NoSuitableNode")

    def more() -> list[float]:
        return [figure(name) - count for name, count in before.items()]

    # A status is written before it is counted.
    wait_until(lambda: more() == [1, 3, 2, 0], lambda: str(more()))
    assert figure(looks) > looked + 3
    assert deployed.observer.figures()['gpuworkloads{phase="Running"}'] >= 1


def test_a_workspace_outlives_its_workload(one: Workload) -> None:
    one.apply(workspace={"size": "1Gi", "configMapName": "code"}, retryPolicy=NOW)
    one.wait("Running")
    (pod,) = one.pods()
    assert [each["name"] for each in pod["spec"]["initContainers"]] == ["unpack"]
    one.end("fail")
    one.follow(lambda status: status.get("attempt") == 2, "another attempt")
    one.delete()
    claim = one.api.get("persistentvolumeclaim", "workspace-one", one.namespace)
    assert claim
    assert "ownerReferences" not in claim["metadata"]
    one.api.delete("persistentvolumeclaim", "workspace-one", one.namespace)
