"""What the plane's pods go through is what a real kubelet writes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from support.plane.record import record_all
from support.plane.recording import load, signature
from support.plane.scenarios import SCENARIOS

if TYPE_CHECKING:
    from support.commands import Kubectl

    from devctl.local.images import Image

Thing = dict[str, Any]
COUNTED = ("lastState", "restartCount")
BACK_OFF = re.compile(r"back-off \d+\w+")


@pytest.fixture(scope="module")
def recorded(kubectl: Kubectl, images: dict[str, Image]) -> dict[str, list[Thing]]:
    """Every scenario, on real pods now."""
    return record_all(kubectl.api, images["base"].reference)


def steady(status: Thing, *, last: bool) -> Any:
    """What of a status does not depend on when the kubelet happened to write it.

    On the way from one step to the next conditions and counts lag behind; a container's two
    streams are read in any order. One that crashes slowly is restarted more often until it waits.
    """
    containers = [
        {name: value for name, value in each.items() if last or name not in COUNTED}
        | ({"restartCount": each["restartCount"] > 0} if last else {})
        for each in status["containerStatuses"]
    ]
    found = {**status, "containerStatuses": containers} if last else containers
    return json.loads(json.dumps(found), object_hook=in_order)


def in_order(found: Thing) -> Thing:
    """The same with the lines of a message in order, and without for how long a restart waits."""
    if "message" in found:
        found["message"] = sorted(BACK_OFF.sub("back-off", found["message"]).splitlines())
    return found


@pytest.mark.parametrize("scenario", [scenario.name for scenario in SCENARIOS])
def test_what_was_recorded_is_so(recorded: dict[str, list[Thing]], scenario: str) -> None:
    """`make record` renews what is not. Of two quick steps a watch may see the second one alone."""
    then = {signature(status): status for status in load(scenario)}
    now = {signature(status): status for status in recorded[scenario]}
    assert set(now) <= set(then)
    last = list(then)[-1]
    assert last in now
    for here, status in now.items():
        is_last = here == last
        assert steady(status, last=is_last) == steady(then[here], last=is_last)


def test_a_scenario_that_does_not_end_is_named(kubectl: Kubectl) -> None:
    one = next(scenario for scenario in SCENARIOS if scenario.name == "serve")
    with pytest.raises(TimeoutError, match=r"not over in 3 s: .*serve"):
        record_all(kubectl.api, "localhost/no-such-image:none", [one], patience=3)
