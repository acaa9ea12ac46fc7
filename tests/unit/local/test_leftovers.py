from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from devctl.errors import HostError
from devctl.local import playbook
from devctl.local.playbook import RUN_VARIABLE, end_leftovers, leftovers
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


def test_only_what_carries_the_clusters_name_is_found(tmp_path: Path) -> None:
    for pid, environment in {
        "11": f"HOME=/\0{RUN_VARIABLE}=lab\0",
        "12": f"{RUN_VARIABLE}=lab-2\0",
        "13": f"MY_{RUN_VARIABLE}=lab\0",
        "14": "",
        "self": f"{RUN_VARIABLE}=lab\0",
        str(os.getpid()): f"{RUN_VARIABLE}=lab\0",
    }.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "environ").write_text(environment)
    # Gone while we look.
    (tmp_path / "15").mkdir()
    assert leftovers("lab", tmp_path) == {11}


def test_end_kills_it_and_waits() -> None:
    # Not the name of a cluster that may be on this machine.
    name = f"unit-{os.getpid()}"
    with subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, RUN_VARIABLE: name},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert leftovers(name) == {process.pid}
        end_leftovers(name)
        assert process.wait(PATIENCE) == -signal.SIGKILL
    assert leftovers(name) == set()


def test_what_does_not_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playbook, "leftovers", lambda _: {12, 11})
    with pytest.raises(HostError, match=r"^pid 11 of an earlier run does not end$"):
        end_leftovers("lab", seconds=-1)
