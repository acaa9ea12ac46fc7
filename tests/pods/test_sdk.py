"""`from devctl import Client`, as docs/devctl.md shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from support.user_place import UserPlace

TRAIN = "from pathlib import Path; Path('model.safetensors').write_bytes(b'weights'); print('ok')"


def test_the_example_of_the_manual_runs(place: UserPlace, torch_image: str, tmp_path: Path) -> None:
    (example,) = re.findall(
        r"```python\n(.*?)```", (REPOSITORY / "docs/devctl.md").read_text(), re.DOTALL
    )
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
