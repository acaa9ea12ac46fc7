"""What several processes of the end-to-end tests do once; threads stand for them here."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from support.scheduling import together
from support.sharing import Shared
from unit.patience import PATIENCE, eventually

if TYPE_CHECKING:
    from pathlib import Path

MANY = 8


def test_what_is_done_once_is_done_before_anybody_goes_on(tmp_path: Path) -> None:
    come: list[int] = []
    done: list[str] = []

    def action(what: str) -> None:
        eventually(lambda: len(come) == MANY)
        done.append(what)

    def process(number: int) -> int:
        come.append(number)
        Shared(tmp_path).once(action, "up")
        return len(done)

    with ThreadPoolExecutor(MANY) as pool:
        assert list(pool.map(process, range(MANY))) == [1] * MANY
    assert done == ["up"]


def test_what_failed_is_tried_by_the_next(tmp_path: Path) -> None:
    tries: list[int] = []

    def action() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        Shared(tmp_path).once(action)
    Shared(tmp_path).once(action)
    Shared(tmp_path).once(action)
    assert len(tries) == 2


def test_a_time_that_is_shared_has_one_beginning_and_one_end(tmp_path: Path) -> None:
    said: list[str] = []
    all_in = threading.Barrier(MANY, timeout=PATIENCE)

    def process(_: int) -> None:
        shared = Shared(tmp_path)
        with shared.between("away", lambda: said.append("first"), lambda: said.append("last")):
            said.append("in")
            all_in.wait()

    for _ in range(2):
        said.clear()
        with ThreadPoolExecutor(MANY) as pool:
            list(pool.map(process, range(MANY)))
        assert said == ["first", *["in"] * MANY, "last"]


def test_what_one_holds_the_others_wait_for(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def process(number: int) -> None:
        with Shared(tmp_path).held("plan"):
            inside.append(number)
            time.sleep(0.01)
            most.append(len(inside))
            inside.remove(number)

    with ThreadPoolExecutor(MANY) as pool:
        list(pool.map(process, range(MANY)))
    assert most == [1] * MANY


def test_a_time_that_is_shared_ends_after_a_failure_too(tmp_path: Path) -> None:
    said: list[str] = []
    shared = Shared(tmp_path)
    for _ in range(2):
        with (
            pytest.raises(ValueError, match="ours"),
            shared.between("away", lambda: said.append("first"), lambda: said.append("last")),
        ):
            raise ValueError("ours")
    assert said == ["first", "last"] * 2


@pytest.mark.parametrize(
    ("test", "group"),
    [
        ("tests/pods/test_egpu.py::test_a[x::y]", "test_egpu"),
        ("tests/pods/test_cli_run.py::test_a", "test_cli_run"),
        ("tests/plane/test_kinds.py::test_a[1]", "tests/plane/test_kinds.py::test_a[1]"),
        ("tests/plane/test_job_turns.py::test_a", "kueue"),
        ("tests/plane/test_dra.py::test_a", "test_dra"),
        ("tests/pods/test_dra.py::test_a", "claims"),
    ],
)
def test_what_shares_a_place_stays_together(test: str, group: str) -> None:
    assert together(test) == group
