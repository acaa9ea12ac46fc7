from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from devctl.errors import HostError
from devctl.local import leftovers
from devctl.local.leftovers import VARIABLE, end, find

if TYPE_CHECKING:
    from pathlib import Path


def test_only_what_carries_the_clusters_name_is_found(tmp_path: Path) -> None:
    for pid, environment in {
        "11": f"HOME=/\0{VARIABLE}=lab\0",
        "12": f"{VARIABLE}=lab-2\0",
        "13": f"MY_{VARIABLE}=lab\0",
        "14": "",
        "self": f"{VARIABLE}=lab\0",
        str(os.getpid()): f"{VARIABLE}=lab\0",
    }.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "environ").write_text(environment)
    # Gone while we look.
    (tmp_path / "15").mkdir()
    assert find("lab", tmp_path) == {11}


def test_end_kills_it_and_waits() -> None:
    # Not the name of a cluster that may be on this machine.
    name = f"unit-{os.getpid()}"
    with subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, VARIABLE: name},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert find(name) == {process.pid}
        end(name)
        assert process.wait(5) == -signal.SIGKILL
    assert find(name) == set()


def test_what_does_not_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "find", lambda _: {12, 11})
    with pytest.raises(HostError, match=r"^pid 11 of an earlier run does not end$"):
        end("lab", seconds=-1)
