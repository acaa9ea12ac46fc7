"""What pytest wrote with `--junitxml`: what failed, what took long, and which modules are green."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from support.tiers.deep import Deep

_WIDTH = 200
SLOWEST = 25


@dataclass(frozen=True)
class Case:
    """One test that ran.

    Attributes:
        file: The path of its file.
        name: Its name, with its parameters.
        seconds: How long it took, with its fixtures.
        failure: The place and the first line of why it failed; empty if it did not.
    """

    file: str
    name: str
    seconds: float
    failure: str = ""

    @property
    def id(self) -> str:
        """As pytest takes it."""
        return f"{self.file}::{self.name}"


def read(results: Iterable[Path]) -> list[Case]:
    """All tests of some files."""
    return [case for file in sorted(results) for case in _cases(file)]


def failures(cases: Iterable[Case]) -> list[str]:
    """A line for each test that failed, to be printed below the table."""
    return [case.failure for case in cases if case.failure]


def slowest(cases: Iterable[Case]) -> list[str]:
    """The tests that took longest, with their share of all."""
    ordered = sorted(cases, key=lambda case: -case.seconds)
    whole = sum(case.seconds for case in ordered) or 1
    return [
        f"{case.seconds:7.1f} s {case.seconds / whole:6.1%}  {case.id}"
        for case in ordered[:SLOWEST]
        if case.seconds >= 1
    ]


def outcomes(cases: Iterable[Case], modules: Iterable[Deep]) -> dict[str, bool]:
    """Whether each deep module that ran is green, by its id."""
    found: dict[str, bool] = {}
    modules = tuple(modules)
    for case in cases:
        for module in modules:
            if case.id.startswith(module.id):
                found[module.id] = found.get(module.id, True) and not case.failure
    return found


def _cases(file: Path) -> Iterator[Case]:
    for case in ET.parse(file).iter("testcase"):  # noqa: S314 - our own pytest wrote it
        # A module that cannot be imported is a case without a class.
        path = (case.get("classname") or case.get("name") or "").replace(".", "/") + ".py"
        name, seconds = case.get("name") or "", float(case.get("time") or 0)
        yield Case(path, name, seconds, _failure(case))


def _failure(case: ET.Element) -> str:
    found = [*case.findall("failure"), *case.findall("error")]
    if not found:
        return ""
    where = (found[0].text or "").strip().rpartition("\n")[2].rpartition(": ")[0]
    why = found[0].get("message", "").partition("\n")[0]
    return f"{where or case.get('classname')} in {case.get('name')}: {why}"[:_WIDTH]
