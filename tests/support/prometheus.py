"""What Prometheus knows, and whether it can answer the queries of Grafana's boards."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BOARDS = REPOSITORY / "config/monitoring/boards"
_VARIABLES = {"$__rate_interval": "1m", "$namespace": ".*", "$flavor": ".*"}
"""What Grafana would write for them: everything, and a window with some samples."""


class Prometheus:
    """Prometheus' API; `get` gives the answer to a path of it."""

    def __init__(self, get: Callable[[str], str]) -> None:
        """Ask nothing yet."""
        self._get = get

    def ask(self, path: str) -> Any:
        """The data of an answer."""
        answer = json.loads(self._get(path))
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression has now."""
        found: list[dict[str, Any]] = self.ask(f"query?query={quote(expression)}")["result"]
        return found

    def value(self, expression: str) -> float | None:
        """The value of the only series; None if there is none."""
        found = self.query(expression)
        assert len(found) < 2, found
        return float(found[0]["value"][1]) if found else None

    def targets(self) -> dict[str, list[str]]:
        """The health of each job's targets: `up`, or why it is not."""
        found: dict[str, list[str]] = {}
        for target in self.ask("targets?state=active")["activeTargets"]:
            said = target["lastError"] or target["health"]
            found.setdefault(target["labels"]["job"], []).append(said)
        return found

    def unanswered(self) -> list[BoardQuery]:
        """The queries of all boards that have no data."""
        return [query for query in board_queries() if not self._answers(query)]

    def _answers(self, query: BoardQuery) -> bool:
        values = [float(each["value"][1]) for each in self.query(query.expression)]
        return any(map(math.isfinite, values))


class BoardQuery(NamedTuple):
    """A query of a panel."""

    board: str
    panel: str
    expression: str
    """With the board's variables filled in."""


def board_queries() -> Iterator[BoardQuery]:
    """Every query of every panel, from the files that Grafana reads."""
    for file in sorted(BOARDS.glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel["targets"]:
                expression = target["expr"]
                for name, value in _VARIABLES.items():
                    expression = expression.replace(name, value)
                yield BoardQuery(file.stem, panel["title"], expression)
