"""What a tier is: tests/tiers.toml has them."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from devctl.local.paths import REPOSITORY

FILE = REPOSITORY / "tests/tiers.toml"
RESULTS = REPOSITORY / ".test-results"


@dataclass(frozen=True)
class Tier:
    """One tier.

    Attributes:
        name: Its name.
        proves: What its tests show.
        needs: What has to be there.
        minutes: What it may take, with programs and images cached.
        runs: The command lines, one after the other.
        inputs: What decides about its result, as git names it.
        cluster: Whether it needs the tests' cluster of real nodes.
        beside: The tier with which it begins, giving way to it; empty for none.
    """

    name: str
    proves: str
    needs: str
    minutes: float
    runs: tuple[tuple[str, ...], ...]
    inputs: tuple[str, ...]
    cluster: bool = False
    beside: str = ""

    def commands(self) -> list[list[str]]:
        """The command lines with this environment's programs in them."""
        venv = Path(sys.executable).parents[1]
        pytest = [str(venv / "bin/pytest"), "--durations=25", "--durations-min=5"]
        found = []
        for number, words in enumerate(self.runs):
            line: list[str] = []
            for word in words:
                if word == "{pytest}":
                    line += [*pytest, f"--junitxml={RESULTS}/{self.name}-{number}.xml"]
                else:
                    line.append(word.format(venv=venv))
            found.append(line)
        return found


def load(file: Path = FILE) -> dict[str, Tier]:
    """All tiers, in order."""
    return {
        name: Tier(
            name,
            **{
                **fields,
                "runs": tuple(tuple(words) for words in fields["runs"]),
                "inputs": tuple(fields["inputs"]),
            },
        )
        for name, fields in tomllib.loads(file.read_text()).items()
    }


def tier_of(test: str, tiers: dict[str, Tier]) -> Tier | None:
    """The tier that a test belongs to, by its path; None for none of them.

    >>> tier_of("tests/plane/test_kinds.py::test_x", load()).name
    'plane'
    """
    parts = Path(test.partition("::")[0]).parts
    return tiers.get(parts[1]) if len(parts) > 1 and parts[0] == "tests" else None
