from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from devctl_runner import paths
from devctl_runner.metrics import Metrics

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEVCTL_RUNNER_DIR", str(tmp_path))
    return tmp_path


def lines(metrics: Metrics) -> list[str]:
    return [line for line in metrics.text().splitlines() if not line.startswith("#")]


def test_counters_and_gauges() -> None:
    metrics = Metrics()
    metrics.add("runs_total", role="a", result="ok")
    metrics.add("runs_total", role="a", result="ok")
    metrics.put("queue", 3)

    assert lines(metrics) == [
        'devctl_runner_runs_total{role="a",result="ok"} 2',
        "devctl_runner_queue 3",
    ]
    assert "# TYPE devctl_runner_runs_total counter" in metrics.text()


def test_a_histogram_is_cumulative() -> None:
    metrics = Metrics()
    metrics.observe("run_seconds", 0.2, role="a")
    metrics.observe("run_seconds", 1000, role="a")

    found = lines(metrics)
    assert 'devctl_runner_run_seconds_bucket{role="a",le="0.1"} 0' in found
    assert 'devctl_runner_run_seconds_bucket{role="a",le="0.25"} 1' in found
    assert 'devctl_runner_run_seconds_bucket{role="a",le="+Inf"} 2' in found
    assert 'devctl_runner_run_seconds_sum{role="a"} 1000.2' in found
    assert 'devctl_runner_run_seconds_count{role="a"} 2' in found


def test_a_role_cannot_break_the_format() -> None:
    metrics = Metrics()
    metrics.add("runs_total", role='a"\n')

    assert lines(metrics) == ['devctl_runner_runs_total{role="a\\"\\n"} 1']


def test_the_clients_fallbacks_are_counted_once(folder: Path) -> None:
    metrics = Metrics()
    metrics.read_fallbacks()
    (folder / "fallbacks").write_text("down\ndown\ncmdl")
    metrics.read_fallbacks()
    with (folder / "fallbacks").open("a") as file:
        file.write("ine\n")

    successor = Metrics(metrics.save())
    successor.read_fallbacks()

    assert lines(successor) == [
        'devctl_runner_fallbacks_total{reason="down"} 2',
        'devctl_runner_fallbacks_total{reason="cmdline"} 1',
    ]


def test_settings_have_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (paths.max_runs(), paths.timeout(), paths.metrics_port()) == (4, 300, 8082)
    monkeypatch.setenv("DEVCTL_RUNNER_MAX_RUNS", "0")
    assert not paths.enabled()
