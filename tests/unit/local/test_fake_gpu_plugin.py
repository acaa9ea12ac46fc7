from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, NoReturn

import pytest
from fake_gpu_plugin import devices
from fake_gpu_plugin.registration import NotRegisteredError, keep_registered
from hypothesis import given
from hypothesis import strategies as st

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

FOLDER = REPOSITORY / "images/fake-gpu-plugin"


@pytest.mark.parametrize(("text", "count"), [("", 4), ("0", 0), ("8", 8), ("64", 64)], ids=repr)
def test_a_node_gets_as_many_as_the_variable_says(text: str, count: int) -> None:
    assert len(devices.names(devices.count_from({devices.COUNT: text}))) == count


@pytest.mark.parametrize("text", ["65", "-1", "four", "1.5", " 4", "٤", "1e2"])
def test_a_count_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"from 0 to {devices.MAX_COUNT}, not `{re.escape(text)}`"):
        devices.count_from({devices.COUNT: text})


def test_a_container_is_told_that_its_devices_are_made_up() -> None:
    told = devices.environment_of(["fake-gpu-10", "fake-gpu-2"])
    assert told == {
        "NVIDIA_VISIBLE_DEVICES": "fake-gpu-2,fake-gpu-10",
        "DEVCTL_FAKE_GPUS": "fake-gpu-2,fake-gpu-10",
    }


def test_what_a_kubelet_still_holds_from_before_is_told_apart() -> None:
    assert devices.unknown(["fake-gpu-1", "fake-gpu-9"], devices.names(2)) == ["fake-gpu-9"]


@given(st.sets(st.integers(0, 63)), st.data())
def test_a_preference_takes_what_it_must_and_no_more(
    numbers: set[int], data: st.DataObject
) -> None:
    available = [f"fake-gpu-{number}" for number in numbers]
    needed = data.draw(st.sets(st.sampled_from(available)) if available else st.just(set()))
    size = data.draw(st.integers(len(needed), max(len(available), len(needed))))
    chosen = devices.preferred(available, needed, size)
    assert needed <= set(chosen) <= set(available)
    assert len(chosen) == len(set(chosen)) == size


def outcomes(*each: Exception | None) -> Callable[[], Coroutine[object, None, None]]:
    """A session with these outcomes in turn, cancelled after the last."""
    left = list(each)

    async def session() -> None:
        if not left:
            raise asyncio.CancelledError
        outcome = left.pop(0)
        if outcome:
            raise outcome

    return session


def drive(steps: Coroutine[object, None, NoReturn]) -> None:
    """Run a coroutine that never suspends, without an event loop, which would open sockets."""
    while True:
        steps.send(None)


def test_it_registers_again_and_again_and_says_a_trouble_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    away = NotRegisteredError("it does not respond")
    caplog.set_level(logging.INFO)
    with pytest.raises(asyncio.CancelledError):
        drive(keep_registered(outcomes(away, away, None, away), pause=0))
    trouble = "not registered with the kubelet: it does not respond; retrying"
    gone = "the kubelet has stopped; waiting for its restart"
    assert [record.message for record in caplog.records] == [trouble, gone, trouble]


def test_the_api_is_the_kubelets() -> None:
    """Package, services and field numbers must match the kubelet's v1beta1 API."""
    text = (FOLDER / "fake_gpu_plugin/deviceplugin.proto").read_text()
    assert re.search(r"^package v1beta1;$", text, re.MULTILINE)
    assert re.findall(r"^service (\w+)", text, re.MULTILINE) == ["Registration", "DevicePlugin"]
    for field in (
        "string version = 1;",
        "string endpoint = 2;",
        "string resource_name = 3;",
        "string ID = 1;",
        "string health = 2;",
        "map<string, string> envs = 1;",
    ):
        assert field in text
