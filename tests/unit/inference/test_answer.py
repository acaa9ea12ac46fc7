from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from devctl_inference.answer import answer, top5
from devctl_inference.failure import Failure, Reason
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_likeliest_come_first_and_at_most_five(probabilities: list[float]) -> None:
    names = [str(number) for number in range(len(probabilities))]
    found = top5(names, probabilities)
    assert len(found) == min(5, len(names))
    shown = [entry["probability"] for entry in found]
    assert shown == sorted(shown, reverse=True)
    for entry in found:
        assert abs(probabilities[int(entry["label"])] - entry["probability"]) <= 1e-6
    assert probabilities[int(found[0]["label"])] == max(probabilities)


@pytest.mark.parametrize("said", [[math.nan, 1], [math.inf, 0], [1.0], [0.2, 0.3, 0.5], []])
def test_what_is_no_number_for_each_class_is_no_answer(said: list[float]) -> None:
    with pytest.raises(Failure) as caught:
        top5(["a", "b"], said)
    assert caught.value.reason is Reason.WEIGHTS_INVALID


def test_the_answer_has_these_fields_and_no_others() -> None:
    at = datetime(2024, 1, 1, 14, 1, 30, 999, timezone(timedelta(hours=2)))
    assert answer("resnet50", [], 0.045231, "cuda", at) == {
        "model": "resnet50",
        "top5": [],
        "elapsed_ms": 45.23,
        "device": "cuda",
        "timestamp": "2024-01-01T12:01:30Z",
    }
    assert datetime.fromisoformat("2024-01-01T12:01:30Z") == datetime(
        2024, 1, 1, 12, 1, 30, tzinfo=UTC
    )
