"""The extension of Jupyter's server, and that the node's agent understands what it writes."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from devctl_node_agent import jupyter

from unit.devserver_files.conftest import FILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def extension() -> Iterator[ModuleType]:
    """The extension, of which no bytecode is left among the role's files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        yield _loaded()


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("devctl_activity", FILES / "devctl_activity.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Kernels:
    """Jupyter's manager of kernels."""

    def __init__(self) -> None:
        self.models: dict[str, dict[str, Any]] = {}

    def list_kernel_ids(self) -> list[str]:
        return ["gone", *self.models]

    def kernel_model(self, name: str) -> dict[str, Any]:
        return self.models[name]

    def is_now(self, name: str, state: str, at: str) -> None:
        self.models[name] = {
            "id": name,
            "name": "python3",
            "execution_state": state,
            "last_activity": at,
        }


class Place:
    """A server of Jupyter's with the extension, in a time of its own."""

    def __init__(self, extension: ModuleType, root: Path) -> None:
        self.now, self.root = 100.0, root
        self.kernels = Kernels()
        self.terminals: list[dict[str, str]] = []
        self.settings: dict[str, Any] = {}
        self.folder = root / "run/devctl/jupyter"
        self.report = extension.Report(self.kernels, self.settings, self.folder, lambda: self.now)

    def written(self) -> Any:
        return json.loads(self.report.path.read_text())

    def understood(self) -> jupyter.Jupyter:
        found = jupyter.read(str(self.root), self.now)
        assert found
        return found


@pytest.fixture
def place(extension: ModuleType, tmp_path: Path) -> Place:
    return Place(extension, tmp_path)


def test_the_agent_learns_which_kernels_are_idle(place: Place) -> None:
    place.kernels.is_now("a", "busy", "10:00")
    place.kernels.is_now("b", "idle", "10:00")
    place.report.update()
    assert place.understood() == jupyter.Jupyter(frozenset({"b"}), ("python3",), 100.0)
    place.now = 105.0
    place.kernels.is_now("a", "idle", "10:05")
    place.report.update()
    assert place.understood() == jupyter.Jupyter(frozenset({"a", "b"}), (), 105.0)


def test_times_are_those_of_changes_whatever_the_wall_clock_says(place: Place) -> None:
    place.kernels.is_now("a", "idle", "10:00")
    place.report.update()
    place.now = 120.0
    place.report.update()
    assert place.understood().last == 100.0
    place.kernels.is_now("a", "idle", "09:00")
    place.report.update()
    assert place.understood().last == 120.0


def test_terminals_count_once_jupyter_has_any(place: Place) -> None:
    place.report.update()
    assert place.understood().last < 0
    place.settings["terminal_manager"] = SimpleNamespace(
        list=lambda: [{"name": "1", "last_activity": "10:00"}]
    )
    place.now = 103.0
    place.report.update()
    assert place.understood().last == 103.0


def test_it_writes_when_something_changes_and_every_ten_seconds(place: Place) -> None:
    times = set()
    for _ in range(25):
        place.report.update()
        times.add(place.written()["at"])
        place.now += 1
    assert sorted(times) == [100.0, 110.0, 120.0]
    place.kernels.is_now("a", "busy", "10:00")
    place.report.update()
    assert place.written()["at"] == 125.0


def test_others_can_read_it_whatever_the_umask(place: Place) -> None:
    before = os.umask(0o077)
    try:
        place.report.update()
    finally:
        os.umask(before)
    assert place.report.path.stat().st_mode & 0o777 == 0o644
    assert place.folder.stat().st_mode & 0o777 == 0o755
    assert [each.suffix for each in place.folder.iterdir()] == [".json"]


def test_it_goes_with_the_server(place: Place) -> None:
    place.report.remove()
    place.report.update()
    place.report.remove()
    assert not place.report.path.exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("/opt/devctl", None),
        ("/home/dev/lib:/opt/devctl", "/home/dev/lib"),
        ("/opt/devctl:/home/dev/lib", "/home/dev/lib"),
        ("/home/dev/lib", "/home/dev/lib"),
    ],
)
def test_kernels_do_not_inherit_its_folder(
    extension: ModuleType, before: str, after: str | None
) -> None:
    environment = {"PYTHONPATH": before}
    extension.leave_path(environment)
    assert environment.get("PYTHONPATH") == after


def test_whatever_fails_is_a_warning(
    extension: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    callbacks: list[Any] = []
    started = SimpleNamespace(start=lambda: None)

    def periodic(callback: Any, _milliseconds: float) -> Any:
        callbacks.append(callback)
        return started

    loop = ModuleType("tornado.ioloop")
    monkeypatch.setattr(loop, "PeriodicCallback", periodic, raising=False)
    monkeypatch.setitem(sys.modules, "tornado", ModuleType("tornado"))
    monkeypatch.setitem(sys.modules, "tornado.ioloop", loop)
    monkeypatch.setattr(extension.atexit, "register", lambda _: None)
    warnings: list[str] = []
    app = SimpleNamespace(
        kernel_manager=SimpleNamespace(list_kernel_ids=lambda: 1 / 0),
        web_app=SimpleNamespace(settings={}),
        log=SimpleNamespace(warning=lambda text, error: warnings.append(text % error)),
    )
    extension._load_jupyter_server_extension(app)  # noqa: SLF001 - Jupyter's name
    for callback in callbacks * 3:
        callback()
    assert warnings == ["devctl cannot report this server's activity: division by zero"]
    assert extension._jupyter_server_extension_points() == [  # noqa: SLF001
        {"module": "devctl_activity"}
    ]
