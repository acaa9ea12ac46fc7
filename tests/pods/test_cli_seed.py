"""The commands with which devctl was first described, in their order and as they are written."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.servers import apply_flavor

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import CommandLine
    from support.commands import Kubectl
    from support.user_place import UserPlace

TRAIN = "import os, sys; print(os.environ['RANK'], os.environ['WORLD_SIZE'], sys.argv[1:])"


@pytest.fixture
def user(place: UserPlace, kubectl: Kubectl, torch_image: str) -> Iterator[CommandLine]:
    """A user where there is a flavor `gpu-large`; it is small, and has no GPU."""
    resources = {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "2Gi"}}
    apply_flavor(kubectl, "gpu-large", resources=resources)
    yield replace(place.user, environment={"DEVCTL_IMAGE": torch_image})
    kubectl("-n", place.name, "delete", "devserver", "--all")
    kubectl("delete", "devserverflavor", "gpu-large")


def test_the_commands_run_as_written(user: CommandLine) -> None:
    manual = (REPOSITORY / "docs/devctl.md").read_text()
    block, *_ = re.findall(r"```bash\n(.*?)```", manual, re.DOTALL)
    lines = [line.split()[1:] for line in block.splitlines() if line.startswith("devctl ")]
    single, several, shell, run, monitor, delete = lines
    assert user.must(*single) == "devserver/my-dev created\n"
    assert user.must(*several) == "devserver/training-job created\n"
    user.must("start", "my-dev", "training-job", "--wait", timeout=240)

    inside = user.terminal(*shell)
    inside.expect("[$] ")
    inside.sendline("hostname; exit")
    inside.expect("my-dev-0")
    inside.wait()
    assert inside.exitstatus == 0

    folder = user.home / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    said = user.must(*run, cwd=folder, timeout=240)
    for rank in range(4):
        assert f"{rank} 4 ['--batch-size', '32']" in said

    screen = user.terminal(*monitor)
    screen.expect("training-job-3 ")
    screen.sendintr()
    screen.wait()
    assert screen.exitstatus == 130
    assert user.must(*delete) == "devserver/my-dev deleted\n"
