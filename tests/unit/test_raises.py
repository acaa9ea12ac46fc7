"""Tests of errors say which error they mean, where its class does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devctl.local.paths import REPOSITORY

BROAD = {
    *("ApiError", "ApplyError", "AssertionError", "BaseException", "CacheError", "DeniedError"),
    *("DevctlError", "Exception", "HostError", "IssuerError", "KeyError", "NotFoundError"),
    *("OSError", "Problem", "RuntimeError", "StepError", "SystemExit", "TypeError"),
    *("UnauthenticatedError", "UsageError", "ValidationError", "ValueError"),
    *("pytest.fail.Exception", "subprocess.CalledProcessError"),
}
"""Classes with many causes: the wrong one would pass."""
RAISES = re.compile(r"pytest\.raises\(\s*([\w.]+|\([^()]*\))\s*,?\s*\)(?!\s+as\s)")


def unsaid(text: str) -> list[str]:
    """The classes in BROAD whose errors nothing in a text looks at."""
    found = (match[1] for match in RAISES.finditer(text))
    return [classes for classes in found if BROAD & set(re.findall(r"[\w.]+", classes))]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("with pytest.raises(UsageError):", ["UsageError"]),
        ("with pytest.raises(\n    (OSError, Own)\n):", ["(OSError, Own)"]),
        ("with one(), pytest.raises(ValueError), two():", ["ValueError"]),
        ("with pytest.raises(pytest.fail.Exception):", ["pytest.fail.Exception"]),
        ("with pytest.raises(UsageError, match='empty'):", []),
        ("with pytest.raises(UsageError) as raised:", []),
        ("with pytest.raises(NoRoomError):", []),
    ],
)
def test_an_error_that_nothing_looks_at_is_found(line: str, found: list[str]) -> None:
    assert unsaid(line) == found


def test_an_error_of_many_causes_is_looked_at() -> None:
    folders = (REPOSITORY / "tests" / name for name in ("unit", "support"))
    paths = (path for folder in folders for path in folder.rglob("*.py"))
    texts = {path: path.read_text() for path in paths if path != Path(__file__)}
    found = {str(path): said for path, text in texts.items() if (said := unsaid(text))}
    assert found == {}, "add match=, with the words that only this cause has"
