"""A run whose checkout is made before its program starts, or is not."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_observer.judging.printable import LONGEST
from hypothesis import given
from hypothesis import strategies as st

from unit.observer.vllm_run.things import STARTED, at, claim, exited, pod, run, seen, told

WAITS = {"waiting": {"reason": "PodInitializing"}}
NAMED = "error: `vllm/a.py` does not apply: the commit has another file there\n"


def with_checkout(state: dict[str, Any], phase: str = "Pending", name: str = "checkout") -> Any:
    """A pod whose container `checkout` is in a state."""
    status = {
        "name": name,
        "image": "i:1",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
    return pod(phase, state=WAITS, initContainerStatuses=[status])


def status(state: dict[str, Any], phase: str = "Failed") -> dict[str, Any]:
    return told(seen(run(), with_checkout(state, phase), claim=claim(0)))


def test_while_it_is_made_the_run_says_so() -> None:
    found = status({"running": {"startedAt": at(-5)}}, "Pending")
    assert (found["phase"], found["reason"]) == ("Starting", "BuildingCheckout")
    assert found["message"] == "building the checkout"
    assert "startedAt" not in found
    # Whatever another one is called that somebody's webhook adds.
    other = with_checkout({"running": {"startedAt": at(-5)}}, name="sidecar")
    assert told(seen(run(), other, claim=claim(0)))["reason"] == "Creating"
    assert status(exited(0), "Pending")["reason"] == "Creating"


@pytest.mark.parametrize("code", [90, 92, 93, 94])
def test_what_does_not_apply_is_named(code: int) -> None:
    found = status(exited(code, NAMED))
    assert (found["phase"], found["reason"]) == ("Failed", "CheckoutFailed")
    said = "`vllm/a.py` does not apply: the commit has another file there"
    assert found["message"] == said
    assert found["finishedAt"] == at(-5)
    # The program has not run.
    assert {"exitCode", "startedAt"}.isdisjoint(found)


def test_a_commit_that_the_mirror_lacks_has_an_advice() -> None:
    found = status(exited(91, "error: the repository has no commit 1f"))
    assert found["reason"] == "CheckoutFailed"
    assert found["message"].startswith("the repository has no commit 1f; the CachePlan's")
    assert "has to have it in its branch" in found["message"]
    assert status(exited(91))["message"] == "its checkout cannot be made (exit code 91)"


@pytest.mark.parametrize(
    ("state", "detail"),
    [
        (exited(1, "Traceback"), "(Traceback)"),
        (exited(127), "(exit code 127)"),
        (exited(128, '"python3": not found', "StartError"), '("python3": not found)'),
    ],
)
def test_an_image_that_cannot_make_it_is_told(state: dict[str, Any], detail: str) -> None:
    found = status(state)
    assert found["reason"] == "CheckoutFailed"
    assert "the image needs `python3`, from 3.10 on, and `git`" in found["message"]
    assert found["message"].endswith(detail)


def test_other_ends_are_what_they_are() -> None:
    found = status(exited(137, reason="OOMKilled"))
    assert found["reason"] == "OutOfMemory"
    assert "startedAt" not in found
    # The codes of a program are its own.
    ended = pod("Failed", state=exited(90, NAMED))
    assert told(seen(run(STARTED), ended, claim=claim(0)))["reason"] == "NonZeroExit"
    evicted = with_checkout(exited(90, NAMED), "Failed")
    evicted.status.reason = "Evicted"
    assert told(seen(run(), evicted, claim=claim(0)))["reason"] == "Evicted"


@given(st.text(), st.integers(1, 255))
def test_whatever_is_said_is_a_line_of_a_message(text: str, code: int) -> None:
    message = status(exited(code, text))["message"]
    assert 0 < len(message) <= LONGEST
    assert "\n" not in message
    assert "\x1b" not in message
