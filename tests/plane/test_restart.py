"""An operator that has just started: whom it answers first."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.error import URLError

import pytest
from plane.test_metrics import ask, reader
from support.servers import DevServer, small_server, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

__all__ = ["reader"]  # a fixture

OLD = 60
"""How many servers there are when it starts."""
AT_ONCE = 4
"""How many of them it looks at at the same time (config/manager/deployment.yaml)."""
QUEUE = 'name="devserver-v1-controller"'
EARLIER, LATER = -100, 0
"""The priorities of what was there when it started, and of what came after that."""


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


def ended(plane: Plane) -> float:
    """How many runs the operator's runner has ended, or left to the stock one."""
    counts = ("runs_", "fallbacks_")
    return sum(n for name, n in plane.operator.runs().items() if name.startswith(counts))


def serves(token: str) -> bool:
    """Whether the operator answers what it counts: it may be ready before."""
    try:
        return ask(token)[0] == HTTPStatus.OK
    except URLError:
        return False


def waiting(token: str, priority: int) -> float:
    """How many servers wait for a run with a priority, as the operator says."""
    mine = ("workqueue_depth{", QUEUE, f'priority="{priority}"')
    lines = [line for line in ask(token)[1].splitlines() if all(part in line for part in mine)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def test_a_new_request_goes_before_old_ones(
    deployed: Plane, server: DevServer, reader: str
) -> None:
    where = (server.kubectl, server.namespace, server.spec)
    old = [DevServer(*where, f"old-{number}") for number in range(OLD)]
    for each in old:
        each.apply(stopped=True)
    for each in old:
        each.wait("Applied")
    operator = deployed.operator
    operator.stop()
    operator.start(held=True)
    wait_until(lambda: serves(reader), "it says what it counts")
    wait_until(lambda: waiting(reader, EARLIER) >= OLD - AT_ONCE, "it has listed the old ones")
    server.apply(stopped=True)
    wait_until(lambda: waiting(reader, LATER) > 0, "it knows of the new one")
    operator.runner.thaw()
    server.wait("Applied")
    # From here on, no run begins: however late the test counts, it counts the same.
    operator.operator.freeze()
    before = ended(deployed)
    operator.operator.thaw()
    assert before < OLD / 2
    wait_until(lambda: ended(deployed) > OLD, "it looks at all the old ones after that", 180)
