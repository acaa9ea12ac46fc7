"""The end of a run's output: each tier, each deep module, the slowest tests, and what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.tiers.budget import table
from support.tiers.results import failures, slowest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from support.tiers.budget import Used
    from support.tiers.choose import Choice
    from support.tiers.results import Case


def closing(
    rows: list[Used],
    choices: Sequence[Choice],
    outcomes: Mapping[str, bool],
    cases: Sequence[Case],
    notes: Iterable[str],
) -> str:
    """All of it.

    Args:
        rows: What tiers and steps took.
        choices: What was decided about each deep module.
        outcomes: Whether those that ran are green.
        cases: All tests that ran.
        notes: Lines about repetitions.
    """
    parts = [table(rows), *deep_modules(choices, outcomes)]
    if slow := slowest(cases):
        parts += ["", "SLOWEST TESTS, and their share of all", *slow]
    if noted := list(notes):
        parts += ["", *noted]
    if failed := failures(cases):
        parts += ["", "FAILED", *failed]
    return "\n".join(parts)


def deep_modules(choices: Sequence[Choice], outcomes: Mapping[str, bool]) -> list[str]:
    """What became of each deep module and why; the last green day of those that were left out."""
    if not choices:
        return []
    ran = [choice for choice in choices if choice.why]
    others = [choice for choice in choices if not choice.why]
    lines = ["", f"DEEP MODULES: {len(ran)} ran, {len(others)} were left out"]
    for choice in ran:
        passed = outcomes.get(choice.module.id)
        word = {True: "passed", False: "FAILED", None: "did not run"}[passed]
        lines.append(f"{choice.module.id}: {word}; {choice.why}")
    for choice in others:
        same = ", with the same files" if choice.proven else ""
        lines.append(f"{choice.module.id}: left out; green on {choice.green}{same}")
    return lines
