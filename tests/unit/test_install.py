"""The script that creates the virtual environment."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("end", ["", "/"])
def test_an_environment_behind_a_link_is_left_alone(tmp_path: Path, end: str) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/installed").touch()
    link = tmp_path / "venv"
    link.symlink_to("theirs")
    done = subprocess.run(
        ["sh", str(REPOSITORY / "scripts/install.sh"), f"{link}{end}"],
        cwd=tmp_path,
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"{link} is a symbolic link; remove it" in done.stderr
    assert [path.name for path in (tmp_path / "theirs").iterdir()] == ["installed"]
