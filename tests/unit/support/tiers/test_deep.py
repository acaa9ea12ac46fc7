"""tests/deep.toml: its modules exist, and the chooser knows about every file of the repository."""

from __future__ import annotations

import ast
from datetime import date
from functools import cache

import pytest
from support.tiers.choose import Known, choose
from support.tiers.deep import Deep, Plan, load, matches
from support.tiers.landed import landed
from support.tiers.one import tracked
from support.tiers.reach import reach_of, support_of
from support.tiers.tier import load as load_tiers

from devctl.local.paths import REPOSITORY

PLAN = load()


@cache
def reach() -> dict[str, frozenset[str]]:
    return reach_of(PLAN)


def test_every_module_is_a_test_of_a_tier() -> None:
    tiers = load_tiers()
    for module in PLAN.modules:
        text = (REPOSITORY / module.file).read_text()
        names = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        name = module.id.removeprefix(module.file).removeprefix("::").partition("[")[0]
        assert not name or name in names, module.id
        assert module.tier in tiers
        assert module.proves
        assert module.minutes > 0


def test_every_room_has_files_and_a_module() -> None:
    files = tracked(["."])
    for room, patterns in PLAN.rooms.items():
        assert any(room in module.rooms for module in PLAN.modules), room
        for pattern in patterns:
            assert any(matches(file, [pattern]) for file in files), (room, pattern)
    for pattern in (*PLAN.everything, *PLAN.chooser, *PLAN.fast):
        assert any(matches(file, [pattern]) for file in files), pattern


def test_a_module_without_its_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="there is no room none"):
        Plan((Deep("tests/plane/test_a.py", "x", 1.0, ("none",)),), {})


def test_every_file_of_the_product_is_in_a_room_or_proved_by_fast_tests() -> None:
    """Otherwise its change would run everything, which is safe and slow."""
    rooms = [pattern for patterns in PLAN.rooms.values() for pattern in patterns]
    imported = frozenset[str]().union(*reach().values())
    known = (*rooms, *PLAN.everything, *PLAN.chooser, *PLAN.fast)
    product = [file for file in tracked(["."]) if not file.startswith("tests/")]
    assert [file for file in product if file not in imported and not matches(file, known)] == []


def test_what_a_module_imports_is_followed_through_support_and_product() -> None:
    crowd = next(id_ for id_ in reach() if "gpu_crowd" in id_)
    assert {
        "tests/plane/conftest.py",
        "tests/support/workloads.py",
        "tests/support/plane/plane.py",
        "devctl/api/labels.py",
        "images/observer/devctl_observer/control/controller.py",
    } <= reach()[crowd]
    assert "devctl/cli/main.py" not in reach()[crowd]
    assert support_of("tests/unit/test_text.py") == frozenset()


def test_the_days_on_record_are_those_of_modules() -> None:
    assert landed().green.keys() <= {module.id for module in PLAN.modules}


def test_a_change_of_a_modules_file_runs_it() -> None:
    for module in PLAN.modules:
        known = Known(date(2026, 11, 28), {module.file}, reach())
        why = {choice.module.id: choice.why for choice in choose(PLAN, known)}
        assert why[module.id] == f"touched: {module.file}"
