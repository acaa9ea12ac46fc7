"""Commands start quickly: beside a bare Python, since machines differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bounds.ratios import ratio

DEVCTL = Path(sys.executable).with_name("devctl")


def run(*words: str | Path) -> None:
    subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("words", "bound"),
    [(("--help",), 14), (("create", "--help"), 16), (("jobs", "submit", "--help"), 16)],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_help_costs_little_more_than_a_bare_python(words: tuple[str, ...], bound: float) -> None:
    """Measured: 5.5 times with `--help` (docs/performance.md)."""
    bare = (sys.executable, "-c", "pass")
    assert ratio(lambda: run(DEVCTL, *words), lambda: run(*bare)) < bound
