"""Whose turn it is, what is told of it, and when it is reported."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from devctl_cache_agent.agent import Board, Reporter, Worker
from devctl_cache_agent.plan import Item, Sort
from devctl_cache_agent.problems import CacheError, DroppedError
from devctl_cache_agent.status import READY, Entry

from devctl.api.node_cache import MIN_REPORT_SECONDS, REPORT_SECONDS
from unit.cache_agent.items import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

A = {"type": "model", "name": "a", "model": {"repoId": "x/a"}}
B = {"type": "model", "name": "b", "model": {"repoId": "x/b"}}
C = {"type": "image", "name": "c", "image": {"ref": "c"}}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Keeper:
    """Keeps what it is not told to fail at."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.present: set[str] = set()
        self.problems: dict[str, Exception] = {}
        self.seen: list[Entry] = []
        self.board: Board | None = None
        self.meanwhile: Callable[[], object] = lambda: None

    def is_present(self, item: Item) -> bool:
        return item.name in self.present

    def keep(self, item: Item, tell: Callable[[Entry], None]) -> Entry:
        self.kept.append(item.name)
        if self.board:
            self.seen.append(self.board.entry(item))
        self.meanwhile()
        if item.name in self.problems:
            raise self.problems[item.name]
        tell(Entry(present=item.name in self.present, percent=50))
        return Entry(READY, present=True, message="at commit 1")


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def keeper(board: Board) -> Keeper:
    keeper = Keeper()
    keeper.board = board
    return keeper


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def worker(board: Board, keeper: Keeper, clock: Clock) -> Worker:
    return Worker(board, {Sort.MODEL: keeper}, clock, lambda: 0.5)


def lines(board: Board) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in board.content()["models"]}


def test_each_item_has_its_turn_and_other_sorts_are_others_work(
    board: Board, worker: Worker, keeper: Keeper
) -> None:
    board.want(plan(A, B, C), {})
    assert worker.step() == worker.step() == 0.0
    assert worker.step() > 0.0
    assert keeper.kept == ["a", "b"]
    assert lines(board)["a"] == {
        "name": "a",
        "status": "ready",
        "present": True,
        "message": "at commit 1",
    }
    assert board.content()["images"][0]["status"] == "pulling"


def test_what_a_node_has_from_before_is_never_told_to_be_missing(
    board: Board, worker: Worker, keeper: Keeper
) -> None:
    keeper.present = {"a"}
    board.want(plan(A), {})
    worker.step()
    assert keeper.seen[0].present


def test_what_is_ready_stays_ready_while_it_is_looked_at_again(
    board: Board, worker: Worker, keeper: Keeper, clock: Clock
) -> None:
    board.want(plan(A), {})
    worker.step()
    clock.now += 1000
    worker.step()
    assert keeper.seen[1].status == READY


def test_what_was_dropped_and_is_wanted_anew_has_its_turn_at_once(
    board: Board, worker: Worker, keeper: Keeper
) -> None:
    board.want(plan(A), {})
    worker.step()
    board.want(plan(), {})
    board.want(plan(A), {})
    worker.step()
    assert keeper.kept == ["a", "a"]
    assert lines(board)["a"]["status"] == "ready"


@pytest.mark.parametrize("problem", [CacheError("no route"), OSError("no route")])
def test_a_failure_is_told_and_tried_again(
    board: Board, worker: Worker, keeper: Keeper, clock: Clock, problem: Exception
) -> None:
    board.want(plan(A, B), {})
    keeper.problems["a"] = problem
    worker.step()
    worker.step()
    assert lines(board)["a"]["status"] == "failed"
    assert lines(board)["a"]["message"] == "no route"
    assert lines(board)["b"]["status"] == "ready"
    keeper.problems.clear()
    clock.now += 11
    worker.step()
    assert lines(board)["a"]["status"] == "ready"


def test_an_update_that_fails_leaves_it_present(
    board: Board, worker: Worker, keeper: Keeper, clock: Clock
) -> None:
    board.want(plan(A), {})
    worker.step()
    keeper.present = {"a"}
    keeper.problems["a"] = CacheError("no route")
    clock.now += 1000
    worker.step()
    assert lines(board)["a"]["present"]
    assert lines(board)["a"]["status"] == "failed"


@pytest.mark.parametrize("problem", [CacheError("x"), DroppedError("x"), None])
def test_what_the_plan_drops_meanwhile_is_gone_from_the_report(
    board: Board, worker: Worker, keeper: Keeper, problem: Exception | None
) -> None:
    board.want(plan(A), {})
    keeper.meanwhile = lambda: board.want(plan(B), {})
    if problem:
        keeper.problems["a"] = problem
    worker.step()
    assert set(lines(board)) == {"b"}


def test_an_item_that_changes_begins_anew(board: Board, worker: Worker) -> None:
    board.want(plan(A), {})
    worker.step()
    board.want(plan({**A, "model": {"repoId": "x/other"}}), {})
    assert lines(board)["a"]["status"] == "pulling"


def test_errors_are_those_of_now(board: Board) -> None:
    board.want(plan({**A, "name": ".."}), {})
    board.tell_errors("use", ["unknown"])
    assert len(board.content()["errors"]) == 2
    board.want(plan(A), {})
    board.tell_errors("use", [])
    assert board.content()["errors"] == []


class Api:
    def __init__(self) -> None:
        self.written: list[Mapping[str, Any]] = []
        self.problem: Exception | None = None

    def __call__(self, status: Mapping[str, Any]) -> None:
        if self.problem:
            raise self.problem
        self.written.append(status)


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def reporter(board: Board, api: Api, clock: Clock) -> Reporter:
    return Reporter(board, api, (LookupError,), clock, lambda: datetime.now(UTC))


def test_what_changes_is_reported_and_what_does_not_only_now_and_then(
    board: Board, reporter: Reporter, api: Api, clock: Clock
) -> None:
    reporter.step()
    # What the plan wants is not known yet: nothing is not what it wants.
    assert api.written == []
    board.want(plan(A), {})
    assert reporter.step() == MIN_REPORT_SECONDS
    reporter.step()
    assert len(api.written) == 1
    board.tell(board.items()[0], Entry(percent=3))
    reporter.step()
    assert len(api.written) == 2
    clock.now += REPORT_SECONDS
    reporter.step()
    assert len(api.written) == 3


def test_a_report_that_failed_is_tried_again_and_is_the_agents_problem(
    board: Board, reporter: Reporter, api: Api
) -> None:
    board.want(plan(A), {})
    assert reporter.problem
    api.problem = LookupError("HTTP 500")
    reporter.step()
    assert reporter.problem == "HTTP 500"
    api.problem = None
    reporter.step()
    assert reporter.problem == ""
    assert len(api.written) == 1
