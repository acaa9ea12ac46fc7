"""`k8shazgpu` in this process, with an API server in memory, outside of any checkout."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from devctl.cli.vllm.group import main
from devctl.client import waiting
from unit.cli.conftest import Outcome, outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from unit.client.fake_cluster import FakeApi

    K8shazgpu = Callable[..., Outcome]


@pytest.fixture
def k8shazgpu(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> K8shazgpu:
    """Run the command line as a program would, without starting one."""
    assert api is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(waiting, "_RETRY", 0.01)
    monkeypatch.setattr(waiting, "_POLL", 0.01)

    def run(*arguments: str, typed: str = "") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["k8shazgpu", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        return outcome(main, capfd)

    return run
