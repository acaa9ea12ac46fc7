"""Releases here and in the cluster that are too far apart."""

from __future__ import annotations

import doctest
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from devctl.client import settings
from unit.client import objects
from unit.client.objects import SERVERS, server

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.cli.conftest import Devctl, Tty
    from unit.client.fake_cluster import FakeApi

ROOT = Path(__file__).parents[3]
WARNING = "warning: devctl here is 0.1.0, in the cluster 0.3.0: have the older one upgraded"


@pytest.fixture
def newer(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """A cluster with a release that is too new."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("devctl.client.doctor.own_version", lambda: "0.1.0")
    installed = objects.settings()
    installed["metadata"]["labels"] = {"app.kubernetes.io/version": "0.3.0"}
    api.add("configmaps", installed)
    api.add(SERVERS, server("lab"))
    return api


def test_examples() -> None:
    assert doctest.testmod(settings).failed == 0


def test_a_person_is_warned_once_a_day(
    newer: FakeApi, devctl: Devctl, tty: Callable[[], Tty]
) -> None:
    def said() -> str:
        screen = tty()
        assert devctl("list").code == 0
        return screen.written().decode()

    assert said().splitlines()[-1] == WARNING
    asked = newer.requests.count("GET configmaps/devctl-settings")
    assert WARNING not in said()
    assert newer.requests.count("GET configmaps/devctl-settings") == asked == 1
    (file,) = Path("~/.cache/devctl/skew").expanduser().iterdir()
    os.utime(file, (0, file.stat().st_mtime - 25 * 3600))
    assert WARNING in said()


def test_programs_are_told_nothing_and_cost_no_request(
    newer: FakeApi, devctl: Devctl, tty: Callable[[], Tty]
) -> None:
    assert devctl("list").stderr == ""
    tty()
    devctl("list", "-o", "name")
    assert newer.requests == ["GET devservers", "GET devservers"]


def test_a_cluster_that_does_not_say_is_no_trouble(
    newer: FakeApi, devctl: Devctl, tty: Callable[[], Tty]
) -> None:
    newer.refusals["GET", "configmaps"] = (500, "no")
    screen = tty()
    assert devctl("list").code == 0
    assert b"warning" not in screen.written()


def test_what_is_installed_says_which_release_it_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = yaml.safe_load((ROOT / "config/settings/settings.yaml").read_text())
    assert installed["metadata"]["labels"]["app.kubernetes.io/version"] == project["version"]
