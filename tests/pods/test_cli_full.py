"""A home that is full: it is said so, and what was there is as it was."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.command_line import CommandLine
    from support.servers import DevServer

TINY = "/run/devctl"
"""A volume of 1 MiB that every pod has: no other one can be filled in a moment."""
LARGE = 3 << 20
HOME_FULL = "  fix: delete files there, or raise spec.persistentHomeSize"


@pytest.fixture
def full(lab: DevServer) -> Iterator[str]:
    """A folder of both homes for which there is less than 1 MiB."""
    name = f"full-{uuid4().hex[:6]}"
    there = f"{TINY}/{name}"
    for rank in (0, 1):
        lab.run(f"mkdir {there} && ln -s {there} {name} && echo old > {name}/kept", rank)
    yield name
    for rank in (0, 1):
        lab.run(f"rm -rf {there} {name}", rank)


@pytest.fixture
def project(tmp_path: Path, full: str) -> Path:
    """A folder of the same name here, with a file that is new and one that does not fit."""
    folder = tmp_path / full
    folder.mkdir()
    (folder / "kept").write_text("newer\n")
    (folder / "large").write_bytes(os.urandom(LARGE))
    (folder / "train.py").write_text("print('it runs')\n")
    return folder


def as_it_was(lab: DevServer, full: str) -> bool:
    """Whether nothing has come, and nothing is left of what was on its way."""
    look = f"cd {full} && ls -A && cat kept"
    return [lab.run(look, rank).split() for rank in (0, 1)] == [["kept", "old"]] * 2


def test_what_does_not_fit_leaves_all_as_it_was(
    command_line: CommandLine, lab: DevServer, project: Path, full: str
) -> None:
    large = str(project / "large")
    for line in (
        ("cp", large, f"lab:{full}/"),
        ("sync", "lab", str(project), full, "--overwrite"),
        ("run", "--overwrite", "lab", str(project / "train.py")),
    ):
        said = command_line.fails(1, *line)
        error, fix = said.splitlines()[-2:]
        assert error.startswith("error: `lab-0:/home/dev")
        assert "`: the home is full: " in error
        assert error.endswith("; nothing was changed")
        assert fix == HOME_FULL
        assert as_it_was(lab, full), line
    error, fix = command_line.fails(1, "cp", large, f"lab:{TINY}/{full}/x").splitlines()[-2:]
    assert error.startswith(f"error: `lab-0:{TINY}/{full}`: the volume is full: ")
    assert fix == "  fix: delete files there, or copy to a place below /home/dev"
    assert as_it_was(lab, full)
    (project / "large").unlink()
    command_line.must("sync", "lab", str(project), full, "--overwrite")
    assert [lab.run(f"cat {full}/kept", rank) for rank in (0, 1)] == ["newer", "newer"]


def test_a_run_says_that_its_home_is_full(
    command_line: CommandLine, lab: DevServer, full: str
) -> None:
    # What a run prints goes to the home, its complaints too.
    script = "import os\nif os.environ['RANK'] == '0': print('x' * 500000, flush=True)"
    for rank in (0, 1):
        lab.run(f"cat > {full}.py <<'END'\n{script}\nEND", rank)
    fill = f"head -c 700000 /dev/zero >> {full}/more || true"
    lab.run(f"mv .devctl {full}.devctl && ln -s {TINY}/{full} .devctl && {fill}")
    line = ("run", "--no-sync", "lab", f"{full}.py")
    try:
        failed = command_line(*line)
        lab.run(fill)
        error, fix = command_line.fails(1, *line).splitlines()[-2:]
    finally:
        lab.run(f"rm .devctl && mv {full}.devctl .devctl")
    said = failed.stderr.decode()
    assert failed.returncode not in {0, 130}, said
    assert "rank 0: there is no room in its home: free space there, or raise spec" in said
    assert re.search(r"run `.*` has failed: rank 0 ended with exit code", said), said
    assert error.startswith("error: rank 0: the home is full: ")
    assert "No space left on device" in error
    assert fix == "  fix: free space in it, or raise spec.persistentHomeSize"
