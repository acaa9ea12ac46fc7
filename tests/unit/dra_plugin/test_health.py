from __future__ import annotations

from dataclasses import replace

from devctl_dra_plugin import health
from devctl_dra_plugin.devices import made_up
from devctl_dra_plugin.health import Board
from devctl_dra_plugin.messages import Health

from unit.dra_plugin.cluster import NODE


def test_each_device_says_how_it_is() -> None:
    first, second = made_up(NODE, 2)
    one, two = health.reports(NODE, [first, replace(second, problem="lost")], 1764000000.9)
    assert (one.pool, one.device, one.health, one.message) == (NODE, "gpu-0", Health.HEALTHY, "")
    assert (two.health, two.message, two.updated) == (Health.UNHEALTHY, "lost", 1764000000)
    assert two.timeout > 60


def test_a_watcher_gets_the_newest_reports_and_every_later_one() -> None:
    board = Board()
    reports = health.reports(NODE, made_up(NODE, 1), 1.0)
    board.show(())
    board.show(reports)
    watch = board.watch(lambda: True)
    assert next(watch) == reports
    board.show(reports)
    assert next(watch) == reports, "also what has not changed"
    board.close()
    assert list(watch) == []


def test_a_watcher_who_has_gone_is_let_go() -> None:
    assert list(Board().watch(lambda: False)) == []
