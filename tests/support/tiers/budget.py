"""What each tier took, beside what it takes on an ordinary day."""

from __future__ import annotations

from dataclasses import dataclass

TOO_MUCH = 1.5
"""How many times its budget a tier may take before the table says so: machines differ, and days."""


@dataclass(frozen=True)
class Used:
    """One line of the table; times in minutes.

    Attributes:
        name: The tier, or a step between two of them.
        minutes: What it took.
        budget: What it takes on an ordinary day; None if unknown.
        passed: Whether all of it was green.
        note: What else there is to say.
        beside: At the same time as which other row; empty where it had its own.
        cpu: CPU seconds of the whole machine meanwhile.
    """

    name: str
    minutes: float
    budget: float | None = None
    passed: bool = True
    note: str = ""
    beside: str = ""
    cpu: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether it took much more than it does on an ordinary day."""
        return self.budget is not None and self.minutes > self.budget * TOO_MUCH


def table(rows: list[Used]) -> str:
    """The rows, one a line, with their sum below."""
    lines = [f"{'TIER':<10}{'MINUTES':>8}{'BUDGET':>8}{'CPU S':>8}  RESULT"]
    for row in rows:
        budget = "" if row.budget is None else f"{row.budget:.1f}"
        lines.append(
            f"{row.name:<10}{row.minutes:>8.1f}{budget:>8}{_whole(row.cpu):>8}  {_result(row)}"
        )
    own = [row for row in rows if not row.beside]
    cpu = sum(row.cpu or 0 for row in own)
    lines.append(f"{'all':<10}{sum(row.minutes for row in own):>8.1f}{'':>8}{_whole(cpu):>8}")
    return "\n".join(lines)


def machine_seconds() -> float:
    """CPU seconds that all processes of this machine have used since it started."""
    with open("/proc/stat") as file:  # noqa: PTH123 - a line of it is enough
        user, nice, system, _idle, _wait, irq, softirq = map(int, file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / 100


def _whole(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.0f}"


def _result(row: Used) -> str:
    words = ["passed" if row.passed else "FAILED"]
    if row.is_over:
        words.append("OVER ITS BUDGET by more than half")
    if row.beside:
        words.append(f"beside {row.beside}")
    if row.note:
        words.append(row.note)
    return "; ".join(words)


def is_good(rows: list[Used]) -> bool:
    """Whether a run with these rows has passed; minutes depend on the machine and do not count."""
    return all(row.passed for row in rows)
