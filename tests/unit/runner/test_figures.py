from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from devctl_runner import paths
from devctl_runner.daemon import figures
from devctl_runner.daemon.figures import Scraper

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEVCTL_RUNNER_DIR", str(tmp_path))
    return tmp_path


def value(name: str, **labels: str) -> float:
    return figures.REGISTRY.get_sample_value(f"devctl_runner_{name}", labels) or 0


AT_FIRST = {
    reason: figures.REGISTRY.get_sample_value("devctl_runner_fallbacks_total", {"reason": reason})
    for reason in figures.REASONS
}
"""The fallbacks as the module's import leaves them."""


def test_the_next_process_of_a_daemon_goes_on_counting() -> None:
    role = 'a"\n'
    figures.RUNS.labels(role=role, result="ok").inc()
    figures.WARM_UPS.inc()
    warm_ups = value("warm_ups_total")
    saved = figures.save()
    figures.RUNS.clear()
    figures.WARM_UPS.reset()

    figures.restore(saved)

    assert value("runs_total", role=role, result="ok") == 1
    assert value("warm_ups_total") == warm_ups


def test_the_clients_fallbacks_are_counted_once(folder: Path) -> None:
    figures.FALLBACKS.clear()
    scraper = Scraper()
    scraper.count_fallbacks()
    (folder / "fallbacks").write_text("down\ndown\ncmdl")
    scraper.count_fallbacks()
    assert value("fallbacks_total", reason="down") == 2
    with (folder / "fallbacks").open("a") as file:
        file.write("ine\n")
    scraper.count_fallbacks()
    assert value("fallbacks_total", reason="cmdline") == 1

    # Like its successor, which starts with only the file.
    figures.FALLBACKS.clear()
    Scraper().count_fallbacks()
    assert value("fallbacks_total", reason="down") == 2
    assert value("fallbacks_total", reason="cmdline") == 1


def test_every_fallback_is_exported_before_the_first() -> None:
    assert dict.fromkeys(figures.REASONS, 0.0) == AT_FIRST


def test_what_has_not_happened_yet_is_exported_as_0() -> None:
    figures.expect(["a", "b"])
    for metric in ("runs_total", "run_seconds_count"):
        labels = {"role": "b"} | ({"result": "timeout"} if metric == "runs_total" else {})
        name = f"devctl_runner_{metric}"
        assert figures.REGISTRY.get_sample_value(name, labels) == 0
    figures.RUNS.clear()
    figures.RUN_SECONDS.clear()


def test_settings_have_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (paths.max_runs(), paths.timeout(), paths.metrics_port()) == (4, 300, 8082)
    monkeypatch.setenv("DEVCTL_RUNNER_MAX_RUNS", "0")
    assert not paths.enabled()
