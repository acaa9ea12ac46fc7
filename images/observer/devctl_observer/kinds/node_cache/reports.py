"""How old each node's report is, by a clock that nobody can set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from devctl.api.node_cache import SILENT_SECONDS


@dataclass
class Reports:
    """Remembers when each node's report arrived; one from before this process, when it started."""

    steady: Callable[[], float]
    """Monotonic seconds."""
    _seen: dict[str, tuple[str, float]] = field(default_factory=dict)

    def left(self, node: str, version: str) -> float:
        """For how many seconds more a report holds; 0 if it does not any more.

        Args:
            node: Whose it is.
            version: Identifies the report.
        """
        known = self._seen.get(node)
        if known is None or known[0] != version:
            known = self._seen[node] = version, self.steady()
        return max(0.0, known[1] + SILENT_SECONDS - self.steady())

    def forget(self, node: str) -> None:
        """Drop what is known of a node."""
        self._seen.pop(node, None)
