"""Grafana's boards: the files are what the code gives, and each panel is whole."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import metrics_tables
import yaml
from boards import generate
from support.prometheus import BOARDS, board_queries

from devctl.local.paths import REPOSITORY
from unit.test_monitoring_config import rules

if TYPE_CHECKING:
    from collections.abc import Iterator

OF_OTHERS = {
    *("up", "workqueue_depth", "controller_runtime_reconcile_total"),
    *("controller_runtime_reconcile_time_seconds", "rest_client_requests_total"),
}
"""Metrics that boards use and devctl does not define."""
FUNCTIONS = {"histogram_quantile", "clamp_min"}


def boards() -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(BOARDS.glob("*.json"))]


def all_panels() -> list[dict[str, Any]]:
    return [panel for board in boards() for panel in board["panels"]]


def test_the_files_are_what_the_code_gives() -> None:
    """Otherwise, run `make boards`."""
    there = {file: file.read_text() for file in BOARDS.glob("*.json")}
    assert there == generate.rendered()


def test_each_file_is_a_config_map_that_grafana_finds() -> None:
    found = yaml.safe_load((BOARDS / "kustomization.yaml").read_text())
    files = [file for one in found["configMapGenerator"] for file in one["files"]]
    assert sorted(files) == sorted(file.name for file in BOARDS.glob("*.json"))
    assert found["generatorOptions"]["labels"] == {"grafana_dashboard": "1"}
    monitoring = REPOSITORY / "config/monitoring/kustomization.yaml"
    assert "boards" in yaml.safe_load(monitoring.read_text())["components"]


def test_boards_differ_in_name_and_id() -> None:
    for name in ("uid", "title"):
        assert len({board[name] for board in boards()}) == len(boards()) > 0
    for board in boards():
        ids = [panel["id"] for panel in board["panels"]]
        assert ids == sorted(set(ids))


def lacks(panel: dict[str, Any]) -> Iterator[str]:
    """What a panel does not say."""
    said = {
        "a title": panel["title"],
        "a sentence": panel["description"].endswith("."),
        "a unit": panel["fieldConfig"]["defaults"]["unit"],
        "a query": panel["targets"],
        "a legend": all(target["legendFormat"] for target in panel["targets"]),
    }
    yield from (what for what, there in said.items() if not there)
    for part in (panel, *panel["targets"]):
        if part["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
            yield "the datasource that people choose"
    for target in panel["targets"]:
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            if not re.search(rf"by \([^)]*\b{label}\b|^flavor:", target["expr"]):
                yield f"the label `{label}` of its legend: {target['expr']}"


def test_a_panel_says_what_it_shows_and_in_which_unit() -> None:
    found = all_panels()
    assert len(found) > 20
    missing = [(panel["title"], what) for panel in found for what in lacks(panel)]
    assert not missing, missing


def test_panels_fill_their_rows_without_overlapping() -> None:
    for board in boards():
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(at["x"], at["x"] + at["w"])
                for y in range(at["y"], at["y"] + at["h"])
            }
            assert not cells & taken
            assert at["x"] + at["w"] <= 24
            taken |= cells
        height = max(y for _, y in taken) + 1
        assert len(taken) == 24 * height


def test_queries_use_only_metrics_that_exist() -> None:
    exported = {metric.name for metric in metrics_tables.every_metric()}
    records = {rule["record"] for rule in rules() if "record" in rule}
    for query in board_queries():
        text = re.sub(r"\{.*?\}|by \(.*?\)", "", query.expression)
        names = {word for word in re.findall(r"[\w:]+", text) if "_" in word or word == "up"}
        assert names - FUNCTIONS
        for name in names - FUNCTIONS - records - OF_OTHERS:
            base = re.sub(r"_bucket$", "", name)
            assert base in exported | OF_OTHERS, query


def test_every_variable_of_a_query_is_one_of_its_board() -> None:
    for board in boards():
        names = {variable["name"] for variable in board["templating"]["list"]}
        assert "datasource" in names
        for panel in board["panels"]:
            for target in panel["targets"]:
                used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
                assert used <= names, target
    assert not any("$" in query.expression for query in board_queries())
