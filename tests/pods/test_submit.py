"""A project that runs as a GPU job: its code travels, and what it writes comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.command_line import CommandLine
from support.servers import wait_until
from support.workloads import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths

pytestmark = pytest.mark.usefixtures("deployed")
SCRIPT = """#!/bin/sh
echo "$(cat data/greeting) $1"
mkdir -p out
echo weights > out/model.txt
exit "${2:-0}"
"""
ALL_REDUCE = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {total.item():g}")
dist.destroy_process_group()
"""


@pytest.fixture
def shell(
    kubectl: Kubectl,
    paths: ClusterPaths,
    namespace: str,
    images: dict[str, Image],
    tmp_path: Path,
) -> Iterator[CommandLine]:
    """A user with a project."""
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    (project / "data/greeting").write_text("hello")
    (project / "run.sh").write_text(SCRIPT)
    (project / "run.sh").chmod(0o755)
    image = {"DEVCTL_IMAGE": images["base"].reference}
    yield CommandLine(paths.kubeconfig, namespace, tmp_path, image)
    kubectl("delete", "gpuworkload", "--all", "-n", namespace)


def test_a_project_runs_and_what_it_wrote_comes_back(
    shell: CommandLine, kubectl: Kubectl, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    asked = ("--name", "job", "--memory", "64Mi", "--cpu", "10m", "--retries", "1")
    where = ("--pull", "results", "--loader-image", shell.environment["DEVCTL_IMAGE"])
    result = shell("submit", *asked, *where, "run.sh", "Alice", cwd=project)
    assert (result.returncode, result.stdout) == (0, b"hello Alice\n"), result.stderr
    there = {file.name for file in (project / "results").rglob("*") if file.is_file()}
    assert there == {"model.txt"}
    wait_until(
        lambda: not kubectl.api.list("persistentvolumeclaim", shell.namespace), "its volume goes"
    )
    again = ("--retries", "0", "--memory", "64Mi", "run.sh", "Bob", "7")
    failed = shell("submit", *again, cwd=project)
    assert (failed.returncode, failed.stdout) == (7, b"hello Bob\n"), failed.stderr
    assert b"NonZeroExit: exit code 7" in failed.stderr


def test_a_detached_job_is_followed_and_cancelled(
    shell: CommandLine, kubectl: Kubectl, tmp_path: Path
) -> None:
    small = ("--memory", "64Mi", "--cpu", "10m")
    words = ("sh", "-c", "echo up; trap 'exit 143' TERM; while :; do sleep 0.1; done")
    asked = ("--detach", *small, "--name", "waits", "--", *words)
    name = shell.must("submit", *asked, cwd=tmp_path / "project").strip()
    one = Workload(kubectl.api, shell.namespace, name)
    one.wait("Running", seconds=180)
    assert shell.must("jobs", "logs", name) == "up\n"
    shell.must("jobs", "cancel", name)
    one.wait("Pending", "Stopped")
    wait_until(lambda: not one.pods(), "its pod ends")


def test_the_ranks_of_a_training_find_each_other(
    shell: CommandLine, kubectl: Kubectl, torch_image: str, tmp_path: Path
) -> None:
    (tmp_path / "project/train.py").write_text(ALL_REDUCE)
    asked = ("--nodes", "2", "--memory", "1Gi", "--cpu", "100m", "--image", torch_image)
    result = shell(
        "submit", *asked, "--name", "pair", "train.py", cwd=tmp_path / "project", timeout=300
    )
    assert result.returncode == 0, result.stderr
    said = set(result.stdout.decode().splitlines())
    assert {"[0] rank 0 of 2: 3", "[1] rank 1 of 2: 3"} <= said
    one = Workload(kubectl.api, shell.namespace, "pair")
    assert len(one.status["assignedNodes"]) == 2
