from __future__ import annotations

import os
import subprocess
import sys
from threading import Timer
from typing import TYPE_CHECKING

import pytest

from devctl.errors import BusyError
from devctl.local.lock import hold
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Holds the lock until its standard input ends.
HOLDER = """
import sys
from pathlib import Path
from devctl.local.lock import hold

with hold(Path(sys.argv[1]), "it"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "missing" / "folder" / "lock"


@pytest.fixture
def holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, lock],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_one_is_refused_with_the_holders_pid(
    lock: Path, holder: subprocess.Popen[str]
) -> None:
    with (
        pytest.raises(BusyError, match=rf"^cluster `x` is being .* \(pid {holder.pid}\)$"),
        hold(lock, "cluster `x`"),
    ):
        pytest.fail("two hold the lock")


def test_a_second_one_that_may_wait_says_so_once_and_gets_it_later(
    lock: Path, holder: subprocess.Popen[str]
) -> None:
    messages: list[str] = []

    def let_go(message: str) -> None:
        messages.append(message)
        assert holder.stdin is not None
        holder.stdin.close()

    # Whoever waits in silence gets it too, rather than for ever.
    patience = Timer(PATIENCE, holder.kill)
    patience.start()
    try:
        with hold(lock, "it", on_wait=let_go):
            assert holder.wait(PATIENCE) == 0
            assert lock.read_text() == f"{os.getpid()}\n"
    finally:
        patience.cancel()
    assert messages == [f"it is being changed by another devctl (pid {holder.pid})"]


def test_a_killed_holder_frees_it(lock: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait(PATIENCE)
    with hold(lock, "it"):
        assert lock.read_text() == f"{os.getpid()}\n"


def test_a_failed_change_frees_it(lock: Path) -> None:
    with pytest.raises(KeyError, match="ours"), hold(lock, "it"):
        raise KeyError("ours")
    with hold(lock, "it"):
        pass
