"""docs/metrics.md names every metric, with its type and labels."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import devctl_observer.app  # noqa: F401 - with every kind's package
from devctl_observer.control.figures import REGISTRY as OBSERVER
from devctl_runner.daemon.figures import REGISTRY as RUNNER
from prometheus_client import ProcessCollector
from prometheus_client.core import GaugeMetricFamily

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator


def told() -> Iterator[tuple[str, str, str]]:
    for line in (REPOSITORY / "docs/metrics.md").read_text().splitlines():
        if line.startswith(("| `devctl_", "| `process_")):
            name, kind, labels = (cell.strip(" ") for cell in line.split("|")[1:4])
            yield name.strip("`"), kind, labels


def counted() -> Iterator[tuple[str, str, str]]:
    registries: list[Any] = [OBSERVER, RUNNER]
    for made in chain.from_iterable(one._collector_to_names for one in registries):  # noqa: SLF001
        standard = isinstance(made, ProcessCollector)
        for metric in made.collect() if standard else made.describe():
            named = metric if isinstance(metric, GaugeMetricFamily) else made
            labels = ", ".join(f"`{label}`" for label in getattr(named, "_labelnames", ()))
            yield f"{metric.name}{'_total' * (metric.type == 'counter')}", metric.type, labels


def test_the_page_has_every_metric() -> None:
    assert sorted(told()) == sorted(counted())
