"""The SDK as docs/sdk.md shows it, and its examples that need a container."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import CommandLine
    from support.user_place import UserPlace

    from devctl.local.images import Image

TRAIN = "from pathlib import Path; Path('model.safetensors').write_bytes(b'weights'); print('ok')"


def test_the_example_of_the_manual_runs(place: UserPlace, torch_image: str, tmp_path: Path) -> None:
    manual = (REPOSITORY / "docs/sdk.md").read_text()
    example, *_ = re.findall(r"```python\n(.*?)```", manual, re.DOTALL)
    for written, here in (("dev-alice", place.name), ("cpu-small", place.name)):
        assert written in example
        example = example.replace(written, here)
    (tmp_path / "project").mkdir()
    (tmp_path / "project/train.py").write_text(TRAIN)
    done = subprocess.run(
        [sys.executable, "-c", example],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=place.user.variables | {"DEVCTL_IMAGE": torch_image},
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert any(line.startswith("Starting ") for line in said)
    assert "0 ok" in said
    assert (tmp_path / "model.safetensors").read_bytes() == b"weights"
    assert said[-1].startswith("home-lab-0 ")


def test_an_example_makes_a_server_and_uses_it(place: UserPlace, torch_image: str) -> None:
    place.user.environment["DEVCTL_IMAGE"] = torch_image
    said = example(place.user, "first_server.py", "first", place.name).splitlines()
    assert said[0].startswith("first runs on ")
    assert int(said[1]) >= 1
    assert "first" not in place.user.must("list", "-o", "name")


@pytest.mark.usefixtures("lab")
def test_an_example_trains_and_fetches_the_result(
    command_line: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/fit.py").write_text(TRAIN)
    words = ("lab", "work/fit.py", "model.safetensors", "--epochs", "2")
    said = example(command_line, "train.py", *words, cwd=tmp_path)
    # torchrun may have something to say, too, as the first rank does not wait for the other.
    assert sum(line.endswith("ok") for line in said.splitlines()) == 2, said
    assert (tmp_path / "model.safetensors").read_bytes() == b"weights"


@pytest.mark.usefixtures("lab")
def test_an_example_runs_jobs_at_once(command_line: CommandLine, images: dict[str, Image]) -> None:
    said = example(command_line, "sweep.py", images["base"].reference, "0.1", "0.01")
    assert said == "rate-0-1 Succeeded Completed\nrate-0-01 Succeeded Completed\n"


def example(user: CommandLine, name: str, *arguments: str, cwd: Path | None = None) -> str:
    """What an example prints, which has to succeed."""
    done = subprocess.run(
        [sys.executable, REPOSITORY / "examples/sdk" / name, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=user.variables,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
