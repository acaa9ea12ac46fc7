"""docs/metrics.md names every metric, with its type and labels."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import devctl_observer.app  # noqa: F401 - with every kind's package
from devctl_observer.control.figures import REGISTRY as OBSERVER
from devctl_runner.daemon.figures import REGISTRY as RUNNER

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator


def told() -> Iterator[tuple[str, str, str]]:
    for line in (REPOSITORY / "docs/metrics.md").read_text().splitlines():
        if line.startswith("| `devctl_"):
            name, kind, labels = (cell.strip(" ") for cell in line.split("|")[1:4])
            yield name.strip("`"), kind, labels


def counted() -> Iterator[tuple[str, str, str]]:
    registries: list[Any] = [OBSERVER, RUNNER]
    for made in chain.from_iterable(one._collector_to_names for one in registries):  # noqa: SLF001
        (metric,) = made.describe()
        labels = ", ".join(f"`{label}`" for label in made._labelnames)  # noqa: SLF001
        yield f"{metric.name}{'_total' * (metric.type == 'counter')}", metric.type, labels


def test_the_page_has_every_metric() -> None:
    assert sorted(told()) == sorted(counted())
