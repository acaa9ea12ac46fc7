"""Which deep modules run at a landing: a change that touches one cannot leave it out."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from support.tiers.choose import LONGEST_DAYS, SLICES, Known, choose, run_all, slices
from support.tiers.deep import Deep, Plan

TODAY = date(2026, 11, 28)
CROWD = Deep("tests/plane/test_crowd.py", "many at once", 3.0, ("gpus",))
IDLE = Deep("tests/pods/test_idle.py", "real processes", 4.0, ("agent", "servers"))
FILLED = Deep("tests/pods/test_files.py::test_full", "a full disk", 1.0, ("servers",))
PLAN = Plan(
    (CROWD, IDLE, FILLED),
    {"gpus": ("roles/gpu",), "agent": ("images/agent",), "servers": ("roles/server", "x/*.lock")},
    everything=("requirements/dev.txt",),
    fast=("docs", "README.md"),
    chooser=("tests/support/tiers", "tests/deep.toml"),
)
GREEN = {module.id: TODAY - timedelta(days=1) for module in PLAN.modules}
TURNS = slices(PLAN)
QUIET = next(
    day
    for day in (TODAY + timedelta(days=n) for n in range(SLICES))
    if day.toordinal() % SLICES not in TURNS.values()
)
"""A day on which no module has its turn."""

KNOWN = Known(QUIET, frozenset(), green=GREEN)


def ran(known: Known) -> dict[str, str]:
    return {choice.module.id: choice.why for choice in choose(PLAN, known) if choice.why}


def test_without_a_reason_nothing_deep_runs() -> None:
    assert ran(KNOWN) == {}
    assert [choice.green for choice in choose(PLAN, KNOWN)] == list(GREEN.values())


@pytest.mark.parametrize(
    ("file", "modules"),
    [
        ("roles/gpu/templates/pod.yaml.j2", [CROWD]),
        ("roles/server/tasks/main.yml", [IDLE, FILLED]),
        ("x/y/any.lock", [IDLE, FILLED]),
        ("images/agent/loop.py", [IDLE]),
        ("docs/page.md", []),
        ("README.md", []),
        ("tests/unit/test_other.py", []),
    ],
)
def test_a_change_runs_the_modules_of_its_room(file: str, modules: list[Deep]) -> None:
    found = ran(replace(KNOWN, changed={file}))
    assert found == {module.id: f"touched: {file}" for module in modules}


def test_a_change_runs_what_imports_it_through_any_number_of_modules() -> None:
    reach = {CROWD.id: {"devctl/api/words.py"}, IDLE.id: {"tests/support/servers.py"}}
    known = replace(KNOWN, reach=reach)
    assert list(ran(replace(known, changed={"devctl/api/words.py"}))) == [CROWD.id]
    assert list(ran(replace(known, changed={"tests/support/servers.py"}))) == [IDLE.id]
    assert ran(replace(known, changed={"tests/support/of_no_deep_module.py"})) == {}


@pytest.mark.parametrize(
    "file",
    [
        "requirements/dev.txt",
        "tests/support/tiers/choose.py",
        "tests/deep.toml",
        # Nobody said what these are.
        "new/room.py",
        "tests/support/recording.json",
    ],
)
def test_everything_runs_where_everything_may_depend_on_a_change(file: str) -> None:
    found = ran(replace(KNOWN, changed={"docs/page.md", file}))
    assert list(found) == [module.id for module in PLAN.modules]
    assert all(file in why for why in found.values())


def test_everything_runs_where_the_last_landing_is_unknown() -> None:
    assert list(ran(replace(KNOWN, changed=None))) == [module.id for module in PLAN.modules]


def test_what_failed_last_time_runs() -> None:
    assert ran(replace(KNOWN, failed={IDLE.id})) == {IDLE.id: "failed last time"}


def test_a_module_that_was_not_green_for_a_fortnight_runs() -> None:
    old = {**GREEN, CROWD.id: QUIET - timedelta(days=LONGEST_DAYS)}
    young = {**GREEN, CROWD.id: QUIET - timedelta(days=LONGEST_DAYS - 1)}
    assert list(ran(replace(KNOWN, green=old))) == [CROWD.id]
    assert ran(replace(KNOWN, green=young)) == {}
    del old[CROWD.id]
    assert ran(replace(KNOWN, green=old)) == {CROWD.id: "no green run is known"}


def test_each_module_has_its_turn_once_a_week() -> None:
    days = [TODAY + timedelta(days=n) for n in range(SLICES)]
    green = {module.id: days[-1] for module in PLAN.modules}
    found = [id_ for day in days for id_ in ran(replace(KNOWN, today=day, green=green))]
    assert sorted(found) == sorted(module.id for module in PLAN.modules)


def test_the_work_of_the_days_is_as_even_as_it_can_be() -> None:
    modules = tuple(Deep(f"tests/plane/test_{n}.py", "x", 1 + n % 3, ()) for n in range(40))
    turns = slices(Plan(modules, {}))
    work = [sum(m.minutes for m in modules if turns[m.id] == day) for day in range(SLICES)]
    assert max(work) - min(work) <= 1


def test_what_has_passed_here_with_the_same_files_is_not_repeated() -> None:
    touched = replace(KNOWN, changed={"roles/server/tasks/main.yml"})
    known = replace(touched, proven={IDLE.id: QUIET - timedelta(days=1)})
    assert list(ran(known)) == [FILLED.id]
    left = {choice.module.id: choice.proven for choice in choose(PLAN, known)}
    assert left == {CROWD.id: False, IDLE.id: True, FILLED.id: False}
    everything = replace(known, changed={"new/room.py"})
    assert list(ran(everything)) == [CROWD.id, FILLED.id]


def test_a_proof_does_not_count_where_it_may_not() -> None:
    known = replace(
        KNOWN,
        changed={"roles/server/tasks/main.yml"},
        proven={IDLE.id: QUIET - timedelta(days=1)},
    )
    assert IDLE.id in ran(replace(known, failed={IDLE.id}))
    assert IDLE.id in ran(replace(known, changed=None)), "in doubt, everything runs"
    assert IDLE.id in ran(replace(known, proven={IDLE.id: QUIET - timedelta(days=LONGEST_DAYS)}))
    its_day = next(
        day
        for day in (QUIET + timedelta(days=n) for n in range(SLICES))
        if day.toordinal() % SLICES == TURNS[IDLE.id]
    )
    assert IDLE.id in ran(replace(known, today=its_day))
    assert IDLE.id not in ran(replace(known, today=its_day, proven={IDLE.id: its_day}))


def test_all_run_for_a_release() -> None:
    found = run_all(PLAN, KNOWN, "everything runs")
    assert [choice.why for choice in found] == ["everything runs"] * len(PLAN.modules)
