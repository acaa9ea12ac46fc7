"""The rules of config/monitoring, as Prometheus evaluates them."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.prometheus_programs import find_program

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = REPOSITORY / "config/monitoring/rules/rules.yaml"
TESTS = REPOSITORY / "tests/plane/alerts.yaml"


@pytest.fixture(scope="module")
def promtool() -> Path:
    return find_program("promtool")


def test_each_rule_does_what_it_is_for(promtool: Path) -> None:
    done = subprocess.run(
        [promtool, "test", "rules", TESTS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_sound(promtool: Path) -> None:
    command: list[str | Path] = [promtool, "check", "rules", "--lint=all", "--lint-fatal", RULES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def cases(key: str) -> Iterator[dict[str, Any]]:
    for test in yaml.safe_load(TESTS.read_text())["tests"]:
        yield from test.get(key, [])


def test_no_rule_is_without_a_test() -> None:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    alerts = {rule["alert"] for rule in rules if "alert" in rule}
    fired = {case["alertname"] for case in cases("alert_rule_test") if case.get("exp_alerts")}
    waited = {case["alertname"] for case in cases("alert_rule_test") if not case.get("exp_alerts")}
    assert (fired, waited) == (alerts, alerts)
    expressions = " ".join(case["expr"] for case in cases("promql_expr_test"))
    records = {rule["record"] for rule in rules if "record" in rule}
    assert records <= set(re.findall(r"[\w:]+", expressions))
