"""What a tier is: tests/tiers.toml has them."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = REPOSITORY / "tests/tiers.toml"
RESULTS = REPOSITORY / ".test-results"


@dataclass(frozen=True)
class Tier:
    """One tier.

    Attributes:
        name: Its name.
        proves: What its tests show.
        needs: What has to be there.
        minutes: What its fast tests take, with programs and images cached.
        runs: The command lines, one after the other; none for a tier that only `test-deep` has.
        deep: The command lines of `make test-deep`, where they differ.
        cluster: Whether it needs the tests' cluster of real nodes.
        beside: The tier with which it begins, giving way to it; empty for none.
    """

    name: str
    proves: str
    needs: str
    minutes: float
    runs: tuple[tuple[str, ...], ...] = ()
    deep: tuple[tuple[str, ...], ...] = ()
    cluster: bool = False
    beside: str = ""

    def commands(self, *, deep: bool = False, without: Iterable[str] = ()) -> list[list[str]]:
        """The command lines with this environment's programs in them.

        Args:
            deep: Whether everything is to run.
            without: Ids of modules and tests to leave out.
        """
        venv = Path(sys.executable).parents[1]
        # The id of a file is that of each test in it, which would still be collected.
        left_out = [f"--{'deselect' if '::' in id_ else 'ignore'}={id_}" for id_ in without]
        found = []
        for number, words in enumerate(self.deep if deep and self.deep else self.runs):
            line: list[str] = []
            for word in words:
                if word == "{pytest}":
                    results = f"--junitxml={RESULTS}/{self.name}-{number}.xml"
                    line += [str(venv / "bin/pytest"), results, *left_out]
                else:
                    line.append(word.format(venv=venv))
            found.append(line)
        return found


def load(file: Path = FILE) -> dict[str, Tier]:
    """All tiers, in order."""
    return {
        name: Tier(name, **{key: _frozen(value) for key, value in fields.items()})
        for name, fields in tomllib.loads(file.read_text()).items()
    }


def tier_of(test: str, tiers: dict[str, Tier]) -> Tier | None:
    """The tier that a test belongs to, by its path; None for none of them.

    >>> tier_of("tests/plane/test_kinds.py::test_x", load()).name
    'plane'
    """
    parts = Path(test.partition("::")[0]).parts
    return tiers.get(parts[1]) if len(parts) > 1 and parts[0] == "tests" else None


def _frozen(value: Any) -> Any:
    """Command lines as tuples."""
    return tuple(tuple(words) for words in value) if isinstance(value, list) else value
