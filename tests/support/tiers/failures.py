"""What failed, a line for each test: below the table of a run that printed thousands of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_WIDTH = 200


def failures(results: Iterable[Path]) -> list[str]:
    """Where each test failed that did, and the first line of why.

    Args:
        results: What pytest has written with `--junitxml`.
    """
    return [line for file in sorted(results) for line in _of(file)]


def _of(file: Path) -> Iterator[str]:
    for case in ET.parse(file).iter("testcase"):  # noqa: S314 - our own pytest wrote it
        for found in (*case.findall("failure"), *case.findall("error")):
            where = (found.text or "").strip().rpartition("\n")[2].rpartition(": ")[0]
            why = found.get("message", "").partition("\n")[0]
            yield f"{where or case.get('classname')} in {case.get('name')}: {why}"[:_WIDTH]
