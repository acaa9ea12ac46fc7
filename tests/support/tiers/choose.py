"""Which deep modules run at a landing, and why: a pure function of what is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.tiers.deep import matches

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet
    from datetime import date

    from support.tiers.deep import Deep, Plan

LONGEST_DAYS = 14
"""After so many days without a green run, a module runs whatever has changed."""

SLICES = 7
"""Each module runs on one day out of these at least."""


@dataclass(frozen=True)
class Known:
    """What a choice is made from.

    Attributes:
        today: The day.
        changed: Files that differ from the last landing; None if that cannot be found out.
        reach: The files that each module imports, itself or through its rooms, by its id.
        green: The day on which each module last passed, by its id.
        failed: Modules that failed when they last ran on this machine.
    """

    today: date
    changed: AbstractSet[str] | None
    reach: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    green: Mapping[str, date] = field(default_factory=dict)
    failed: AbstractSet[str] = frozenset()


@dataclass(frozen=True)
class Choice:
    """What becomes of one module.

    Attributes:
        module: The module.
        why: The reason to run it; empty if it is left out.
        green: The day on which it last passed, if any.
    """

    module: Deep
    why: str
    green: date | None


def choose(plan: Plan, known: Known) -> list[Choice]:
    """What becomes of each module at a landing."""
    turns = slices(plan)
    common = _for_all(plan, known)
    return [
        Choice(
            module,
            common or _for_one(plan, known, module, turns[module.id]),
            known.green.get(module.id),
        )
        for module in plan.modules
    ]


def run_all(plan: Plan, known: Known, why: str) -> list[Choice]:
    """All of them, for a reason of their own."""
    return [Choice(module, why, known.green.get(module.id)) for module in plan.modules]


def slices(plan: Plan) -> dict[str, int]:
    """The day on which each module has its turn: as much work on each of them as possible."""
    work = [0.0] * SLICES
    found = {}
    for module in sorted(plan.modules, key=lambda module: (-module.minutes, module.id)):
        day = work.index(min(work))
        work[day] += module.minutes
        found[module.id] = day
    return found


def _for_all(plan: Plan, known: Known) -> str:
    """Why all of them have to run; empty if only some have."""
    if known.changed is None:
        return "the last landing is not in this clone's history"
    for file in sorted(known.changed):
        if matches(file, plan.everything):
            return f"{file} changed, on which everything depends"
        if not _is_known(plan, known, file):
            return f"{file} changed, which belongs to no room"
    return ""


def _is_known(plan: Plan, known: Known, file: str) -> bool:
    """Whether a file's dependents are known: by imports for tests, by rooms for the product."""
    if file.startswith("tests/"):
        return file.endswith(".py") or not file.startswith("tests/support/")
    patterns = (*plan.fast, *(pattern for room in plan.rooms.values() for pattern in room))
    return matches(file, patterns) or any(file in files for files in known.reach.values())


def _for_one(plan: Plan, known: Known, module: Deep, turn: int) -> str:
    touched = [
        file
        for file in sorted(known.changed or ())
        if matches(file, plan.patterns(module)) or file in known.reach.get(module.id, ())
    ]
    green = known.green.get(module.id)
    if touched:
        more = f" and {len(touched) - 1} more" if len(touched) > 1 else ""
        return f"touched: {touched[0]}{more}"
    if module.id in known.failed:
        return "failed last time"
    if green is None:
        return "no green run is known"
    if (days := (known.today - green).days) >= LONGEST_DAYS:
        return f"not green for {days} days"
    return "its turn today" if known.today.toordinal() % SLICES == turn else ""
