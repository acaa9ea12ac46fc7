"""README's main job: a training on two nodes, and a job that reads a digit with what it learnt."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.paths import ClusterPaths

# Both ranks compute all the time: what runs beside them would wait, and they for it.
pytestmark = [
    pytest.mark.exclusive,
    pytest.mark.usefixtures("torch_image", "inference_image"),
]


@pytest.fixture
def no_trace(kubectl: Kubectl) -> Iterator[None]:
    """Removes what the script leaves for its reader to look at."""
    yield
    kubectl("delete", "devserver,ephemeralaccelerationjob", "--all", "-n", "dev-alice")
    kubectl("delete", "-f", str(REPOSITORY / "config/samples/namespace.yaml"), "--wait=false")
    kubectl("delete", "-f", str(REPOSITORY / "config/samples/devserverflavor-training.yaml"))


@pytest.mark.usefixtures("no_trace")
def test_what_a_training_learnt_reads_a_digit(paths: ClusterPaths) -> None:
    done = subprocess.run(
        ["sh", "scripts/demo.sh", str(paths.kubeconfig)],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    last = re.search(r"^\[0\] epoch 10  accuracy (\d+\.\d)%$", done.stdout, re.MULTILINE)
    assert last
    assert float(last[1]) > 90
    assert "Two nodes have trained a model" in done.stdout
