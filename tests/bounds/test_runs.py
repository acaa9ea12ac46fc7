"""A run of a role is much cheaper in the warm runner than in the stock one."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from support.runs import Operator, operator_python

if TYPE_CHECKING:
    from pathlib import Path

TASKS = "- name: Say\n  ansible.builtin.debug:\n    msg: hello\n"
RUNS = 7


def test_a_warm_run_takes_a_fraction_of_a_stock_one(tmp_path: Path) -> None:
    """Measured: a tenth (docs/metrics.md)."""
    role = tmp_path / "roles" / "small"
    (role / "tasks").mkdir(parents=True)
    (role / "tasks/main.yml").write_text(TASKS)
    operator = Operator(tmp_path, operator_python())
    operator.start(role)

    def seconds(kind: str) -> float:
        found = [operator.run(kind, role, name=f"{kind}{n}").seconds for n in range(RUNS)]
        return statistics.median(found)

    try:
        seconds("warm")
        assert seconds("warm") * 3 < seconds("stock")
    finally:
        operator.stop()
