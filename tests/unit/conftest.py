"""What every unit test gets: no sockets, a state folder and a home of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from unit.threads import no_threads_left  # noqa: F401 - pytest looks for it here

if TYPE_CHECKING:
    from pathlib import Path

# How long an example takes says more about the machine than about the code.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A landing tries the same examples as the last one: a new one must not fail an unrelated change.
# Of what is always the same, thirty do; `make test-deep` tries a hundred others.
settings.register_profile("same", settings.get_profile("random"), derandomize=True, max_examples=30)
settings.load_profile("random" if os.environ.get("DEVCTL_TESTS_RANDOM") else "same")


@pytest.fixture(autouse=True)
def hermetic(
    no_threads_left: None,  # noqa: ARG001, F811 - asked for so that it is in force, and ends last
    socket_disabled: None,  # noqa: ARG001 - the same
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEVCTL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    # What the person who runs the tests has chosen.
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in list(os.environ):
        if name == "KUBECONFIG" or (name.startswith("DEVCTL_") and name != "DEVCTL_STATE_DIR"):
            monkeypatch.delenv(name)
