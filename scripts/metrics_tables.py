"""Writes the tables of docs/metrics.md from what observer and warm runner export.

The meaning of a metric is its help text in the code, which Prometheus shows as well.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import devctl_observer.app  # noqa: F401 - with every kind's package
from devctl_observer.control.figures import REGISTRY as OBSERVER
from devctl_runner.daemon.figures import REGISTRY as RUNNER
from prometheus_client import ProcessCollector
from prometheus_client.core import GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
REGISTRIES: Mapping[str, Any] = {"observer": OBSERVER, "runner": RUNNER}
"""By the word that marks an endpoint's table on the page."""
_HEAD = ["| metric | type | labels | meaning |", "|---|---|---|---|"]


class Metric(NamedTuple):
    """A row of a table."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str

    @property
    def row(self) -> str:
        """The row in Markdown."""
        labels = ", ".join(f"`{label}`" for label in self.labels)
        return f"| `{self.name}` | {self.kind} | {labels} | {self.meaning.removesuffix('.')} |"


def exported(registry: Any) -> Iterator[Metric]:
    """What a registry exports."""
    for made in registry._collector_to_names:  # noqa: SLF001 - there is no public way
        standard = isinstance(made, ProcessCollector)
        for metric in made.collect() if standard else made.describe():
            named = metric if isinstance(metric, GaugeMetricFamily) else made
            name = f"{metric.name}{'_total' * (metric.type == 'counter')}"
            labels = tuple(getattr(named, "_labelnames", ()))
            yield Metric(name, metric.type, labels, metric.documentation)


def every_metric() -> Iterator[Metric]:
    """What all registries export."""
    return chain.from_iterable(exported(registry) for registry in REGISTRIES.values())


def rendered(page: str) -> str:
    """The page with tables of what is exported now."""
    for word, registry in REGISTRIES.items():
        start, end = f"<!-- `make metrics`: {word} -->\n", "<!-- end -->"
        before, mark, rest = page.partition(start)
        if not mark:
            raise SystemExit(f"{PAGE} has no `{start.strip()}`: add it where the table is to be")
        rows = [metric.row for metric in sorted(exported(registry))]
        _, mark, after = rest.partition(end)
        page = "\n".join([before + start.strip(), *_HEAD, *rows, mark + after])
    return page


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
