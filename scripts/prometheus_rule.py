"""Writes config/monitoring/prometheus_rule.yaml, the rules for the Prometheus operator.

The rules themselves are in config/monitoring/rules/rules.yaml, which Prometheus and promtool read.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

MONITORING = Path(__file__).parents[1] / "config" / "monitoring"
RULES = MONITORING / "rules" / "rules.yaml"
TARGET = MONITORING / "prometheus_rule.yaml"
_HEAD = """\
---
# Generated from rules/rules.yaml by `make rules`.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: devctl
spec:
"""


def rendered() -> str:
    """The PrometheusRule; the rules become its spec as they are, without their comment."""
    rules = RULES.read_text(encoding="utf-8")
    return _HEAD + textwrap.indent(rules[rules.index("groups:\n") :], "  ")


if __name__ == "__main__":
    TARGET.write_text(rendered(), encoding="utf-8")
