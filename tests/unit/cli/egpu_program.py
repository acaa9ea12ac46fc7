"""`egpu` in this process, with an API server in memory and a volume that is a folder here."""

from __future__ import annotations

import io
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from devctl.cli.egpu.group import main
from devctl.client.jobs import jobs, pod_startup
from unit.cli.conftest import Outcome
from unit.client.job_things import CLAIMS, JOBS, claim, helpers_run, volume

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devctl.client.jobs.fetch import Limits
    from unit.client.fake_cluster import FakeApi

    Egpu = Callable[..., Outcome]


@pytest.fixture
def egpu(api: FakeApi, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Egpu:
    """Run the command line as a program would, without starting one."""
    assert api is not None
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    # What the person who runs the tests has chosen.
    monkeypatch.delenv("EGPU_LOADER_IMAGE", raising=False)
    for module, names in (
        (jobs, ("_POLL", "_PATIENCE")),
        (pod_startup, ("_POLL", "PATIENCE", "_SLOW")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, 0.01)

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["egpu", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        with pytest.raises(SystemExit) as raised:
            main()
        assert isinstance(raised.value.code, int)
        return Outcome(raised.value.code, *capfd.readouterr())

    return run


@pytest.fixture
def there(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The volumes of jobs; claims come with their jobs, and pods run at once."""
    made = helpers_run(api)
    assert made == []
    run = api.made

    def come(plural: str, thing: Any) -> None:
        run(plural, thing)
        if plural == JOBS:
            api.add(CLAIMS, claim(thing["metadata"]["name"]))

    api.made = come
    folder = tmp_path / "volume"
    folder.mkdir()
    volume(folder, monkeypatch)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my-code"
    folder.mkdir()
    (folder / "image.jpg").write_bytes(b"image")
    (folder / ".env").write_text("PASSWORD=x")
    return folder


def fetches(monkeypatch: pytest.MonkeyPatch) -> list[Limits]:
    """URLs hold an image; with which limits they were fetched."""
    from devctl.client.jobs import copy_url, fetch, files  # noqa: PLC0415

    asked: list[Limits] = []

    def fetched(_url: str, limits: Limits, announced: Any) -> Any:
        asked.append(limits)
        announced(len(b"image"))
        yield b"image"

    monkeypatch.setattr(copy_url, "fetch", fetched)
    for module in (fetch, files):
        monkeypatch.setattr(module, "look_up", lambda *_: None)
    return asked
