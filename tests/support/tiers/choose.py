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
        proven: The day on which each module last passed here with all its files as they are.
    """

    today: date
    changed: AbstractSet[str] | None
    reach: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    green: Mapping[str, date] = field(default_factory=dict)
    failed: AbstractSet[str] = frozenset()
    proven: Mapping[str, date] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """What becomes of one module.

    Attributes:
        module: The module.
        why: The reason to run it; empty if it is left out.
        green: The day on which it last passed, if any.
        proven: Whether it is left out because it passed here with the same files.
    """

    module: Deep
    why: str
    green: date | None
    proven: bool = False


def choose(plan: Plan, known: Known) -> list[Choice]:
    """What becomes of each module at a landing."""
    turns = slices(plan)
    common = _for_all(plan, known)
    found = []
    for module in plan.modules:
        why = common or _for_one(plan, known, module, turns[module.id])
        proven = bool(why) and _is_proven(known, module, turns[module.id])
        green = known.green.get(module.id)
        found.append(Choice(module, "" if proven else why, green, proven))
    return found


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


def concerns_all(plan: Plan, reach: Mapping[str, AbstractSet[str]], file: str) -> bool:
    """Whether the outcome of all of them may depend on a file."""
    return matches(file, plan.everything) or not _is_known(plan, reach, file)


def _for_all(plan: Plan, known: Known) -> str:
    """Why all of them have to run; empty if only some have."""
    if known.changed is None:
        return "the last landing is not in this clone's history"
    for file in sorted(known.changed):
        if matches(file, plan.everything):
            return f"{file} changed, on which everything depends"
        if matches(file, plan.chooser):
            return f"{file} changed, which decides what runs"
        if not _is_known(plan, known.reach, file):
            return f"{file} changed, which belongs to no room"
    return ""


def _is_known(plan: Plan, reach: Mapping[str, AbstractSet[str]], file: str) -> bool:
    """Whether a file's dependents are known: by imports for tests, by rooms for the product."""
    if file.startswith("tests/") and (file.endswith(".py") or file.startswith("tests/unit/")):
        return True
    patterns = (
        *plan.fast,
        *plan.chooser,
        *(pattern for room in plan.rooms.values() for pattern in room),
    )
    return matches(file, patterns) or any(file in files for files in reach.values())


def _is_proven(known: Known, module: Deep, turn: int) -> bool:
    """Whether a run would repeat a recent one; on its day it runs all the same, once."""
    day = known.proven.get(module.id) if known.changed is not None else None
    if day is None or module.id in known.failed or (known.today - day).days >= LONGEST_DAYS:
        return False
    return day == known.today or known.today.toordinal() % SLICES != turn


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
