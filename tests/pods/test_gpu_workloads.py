"""What of a GPUWorkload only containers show: its program, its last lines, and who makes room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.servers import wait_until
from support.workloads import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")
WAITS = ["/bin/sh", "-c", "trap 'exit 143' TERM; while :; do sleep 0.1; done"]


class Maker:
    """Makes workloads whose programs run in a small image."""

    def __init__(self, kubectl: Kubectl, namespace: str, image: str) -> None:
        self.kubectl, self.namespace, self._image = kubectl, namespace, image
        self.made: list[Workload] = []

    def __call__(self, name: str, script: str = "", **spec: object) -> Workload:
        one = Workload(self.kubectl.api, self.namespace, name)
        command = ["/bin/sh", "-c", script] if script else WAITS
        one.apply(image=self._image, command=command, **spec)
        self.made.append(one)
        return one


@pytest.fixture
def make(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[Maker]:
    maker = Maker(kubectl, namespace, images["base"].reference)
    yield maker
    for one in maker.made:
        one.delete()


def test_a_program_gets_its_gpus_and_its_model(make: Maker) -> None:
    one = make("one", 'echo "$MODEL_NAME $GPU_COUNT"; id -u', modelName="my-model", gpuCount=2)
    ended = one.wait("Succeeded", seconds=180)
    assert ended["exitCode"] == 0
    said = make.kubectl("-n", make.namespace, "logs", "-l", "app=my-model").splitlines()
    assert said == ["my-model 2", "1000"]


def test_a_failure_is_retried_and_its_last_lines_are_told(make: Maker) -> None:
    policy = {"maxRetries": 1, "backoffSeconds": 1}
    one = make("one", "echo it is broken; exit 7", retryPolicy=policy)
    failed = one.wait("Failed", "NonZeroExit", 180)
    assert (failed["attempt"], failed["retryCount"], failed["exitCode"]) == (2, 1, 7)
    assert failed["message"] == "exit code 7: it is broken (after 1 retry)"


def test_one_that_is_stopped_ends_and_keeps_its_object(make: Maker) -> None:
    one = make("one")
    one.wait("Running", seconds=180)
    one.api.patch("gpuworkload", one.name, {"spec": {"stopped": True}}, one.namespace)
    one.wait("Pending", "Stopped")
    wait_until(lambda: not one.pods(), "its pod ends")


@pytest.mark.exclusive
def test_a_workload_of_high_priority_takes_the_gpus_of_one_of_low_priority(make: Maker) -> None:
    nodes = make.kubectl.api.list("node")
    gpus = [int(n["status"]["allocatable"].get("nvidia.com/gpu", 0)) for n in nodes]
    all_, most = [count for count in gpus if count], max(gpus)
    low = [make(f"low-{i}", priority="low", gpuCount=count) for i, count in enumerate(all_)]
    # Until the GPUs of earlier tests are free, no node is suitable, which counts.
    retries = {one.name: one.wait("Running", seconds=180)["retryCount"] for one in low}
    high = make("high", "sleep 3", priority="high", gpuCount=most)
    high.wait("Succeeded", seconds=240)
    preempted = [
        one for one in low if one.status["attempt"] > 1 or one.status["phase"] != "Running"
    ]
    assert preempted
    for one in preempted:
        running = one.wait("Running", seconds=240)
        assert (running["attempt"], running["retryCount"]) == (2, retries[one.name])
