"""An operator that has just started: whom it answers first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.servers import DevServer, small_server, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

OLD = 60
"""How many servers there are when it starts."""


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


def ended(plane: Plane) -> float:
    """How many runs the operator's runner has ended."""
    return sum(count for name, count in plane.operator.runs().items() if name.startswith("runs_"))


def test_a_new_request_goes_before_old_ones(deployed: Plane, server: DevServer) -> None:
    where = (server.kubectl, server.namespace, server.spec)
    old = [DevServer(*where, f"old-{number}") for number in range(OLD)]
    for each in old:
        each.apply(stopped=True)
    for each in old:
        each.wait("Applied")
    deployed.operator.stop()
    deployed.operator.start()
    wait_until(lambda: ended(deployed) > 0, "it looks at the old ones")
    # It has listed what there is; while it is frozen, it gets no further than its runs that go on.
    deployed.operator.operator.freeze()
    server.apply(stopped=True)
    deployed.operator.operator.thaw()
    server.wait("Applied")
    assert ended(deployed) < OLD / 2
    wait_until(lambda: ended(deployed) > OLD, "it looks at all the old ones after that")
