"""What each tier took, beside what it may."""

from __future__ import annotations

from dataclasses import dataclass

TOO_MUCH = 1.5
"""How many times its budget a tier may take before a run fails: machines differ, and days."""


@dataclass(frozen=True)
class Used:
    """One line of the table; all times in minutes.

    Attributes:
        name: The tier, or a step between two of them.
        minutes: What it took.
        budget: What it may take; None where nobody said.
        passed: Whether all of it was green; None where it was left out.
        note: What else there is to say.
        beside: At the same time as which other row; empty where it had its own.
    """

    name: str
    minutes: float
    budget: float | None = None
    passed: bool | None = True
    note: str = ""
    beside: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it took so much that the run fails."""
        return self.budget is not None and self.minutes > self.budget * TOO_MUCH


def table(rows: list[Used]) -> str:
    """The rows, one a line, with their sum below."""
    lines = [f"{'TIER':<10}{'MINUTES':>8}{'BUDGET':>8}  RESULT"]
    for row in rows:
        budget = "" if row.budget is None else f"{row.budget:.1f}"
        lines.append(f"{row.name:<10}{row.minutes:>8.1f}{budget:>8}  {_result(row)}")
    lines.append(f"{'all':<10}{sum(row.minutes for row in rows if not row.beside):>8.1f}")
    return "\n".join(lines)


def _result(row: Used) -> str:
    if row.passed is None:
        return f"left out: {row.note}"
    words = ["passed" if row.passed else "FAILED"]
    if row.is_over:
        words.append(f"OVER ITS BUDGET by more than half, see .test-results/{row.name}-*.xml")
    if row.beside:
        words.append(f"beside {row.beside}")
    if row.note:
        words.append(row.note)
    return "; ".join(words)


def is_good(rows: list[Used]) -> bool:
    """Whether a run with these rows has passed."""
    return all(row.passed is not False and not row.is_over for row in rows)
