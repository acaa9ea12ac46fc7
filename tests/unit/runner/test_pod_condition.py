from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest
from devctl_runner.daemon.pod_condition import condition, publish

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_the_condition_says_why_the_runner_is_not_warm() -> None:
    assert condition("ansible-core 9 has no X", NOW) == {
        "type": "WarmRunner",
        "status": "False",
        "reason": "Incompatible",
        "message": "ansible-core 9 has no X",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }


def test_a_warm_runner_has_nothing_to_explain() -> None:
    found = condition("", NOW)
    assert (found["status"], found["reason"], found["message"]) == ("True", "Warm", "")


@pytest.mark.parametrize("missing", ["POD_NAME", "POD_NAMESPACE"])
def test_outside_of_a_pod_nothing_is_written(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    for name in ("POD_NAME", "POD_NAMESPACE"):
        monkeypatch.setenv(name, "one")
    monkeypatch.delenv(missing)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process was started"))
    publish("", print)
