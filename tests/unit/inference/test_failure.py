from __future__ import annotations

import json
from typing import TYPE_CHECKING

from devctl_inference.failure import Failure, Reason, record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=3000) | st.text('\U0001f600"\\\n\ud800', max_size=3000))
def test_any_message_is_one_object_that_the_kubelet_keeps_whole(tmp_path: Path, text: str) -> None:
    log = tmp_path / "termination-log"
    record(Failure(Reason.INPUT_INVALID, text), log)
    written = log.read_bytes()
    assert len(written) <= 4096
    found = json.loads(written)
    assert found.keys() == {"reason", "message"}
    assert found["reason"] == "InputInvalid"
    assert found["message"].isprintable()


def test_without_a_kubelet_nothing_breaks(tmp_path: Path) -> None:
    record(Failure(Reason.INPUT_INVALID, "x"), tmp_path / "nowhere" / "log")
