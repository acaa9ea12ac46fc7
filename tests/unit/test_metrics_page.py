"""docs/metrics.md says what observer and warm runner export, in the words of their code."""

from __future__ import annotations

import re

import metrics_tables
import pytest
from devctl_runner.daemon import figures


def test_the_tables_are_those_of_what_is_exported() -> None:
    """Otherwise, run `make metrics`."""
    page = metrics_tables.PAGE.read_text()
    assert metrics_tables.rendered(page) == page


def test_a_page_without_a_table_is_an_error() -> None:
    with pytest.raises(SystemExit, match="has no"):
        metrics_tables.rendered("# Metrics")


def test_every_metric_says_what_it_means() -> None:
    for metric in metrics_tables.every_metric():
        assert metric.meaning
        assert not set("|\n") & set(metric.meaning), metric


def test_the_page_explains_every_fallback() -> None:
    page = metrics_tables.PAGE.read_text()
    table = page.partition("| reason | meaning |")[2].partition("\n\n")[0]
    told = [
        reason
        for line in table.splitlines()[2:]
        for reason in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    assert sorted(told) == sorted(figures.REASONS)
