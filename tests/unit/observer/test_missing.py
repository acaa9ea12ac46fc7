"""The loss of a child triggers the server's role again, once for each loss."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_observer.judging.conditions import is_settled
from devctl_observer.judging.pods import Surroundings
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.wake import missing

from unit.observer.objects import ago, claim, distributed, server


def applied(generation: int = 3, status: str = "True", **since: float) -> dict[str, Any]:
    condition = {"type": "Applied", "status": status, "observedGeneration": generation}
    return {"conditions": [condition | {"lastTransitionTime": ago(**(since or {"hours": 1}))}]}


def seen(
    *homes: str, status: dict[str, Any] | None = None, made: bool = True, **of: Any
) -> Observed:
    around = Surroundings(claims={home: claim("Bound", home) for home in homes})
    return Observed(server=server(status or applied(), **of), made=made, around=around)


def test_nothing_is_missing_where_all_is_there() -> None:
    assert missing(seen("home-my-dev-0")) == []
    assert missing(seen("home-my-dev-0", "home-my-dev-1", **distributed())) == []


def test_what_is_gone_is_named() -> None:
    assert missing(seen("home-my-dev-0", made=False)) == ["the StatefulSet"]
    assert missing(seen("home-my-dev-0", **distributed())) == ["home-my-dev-1"]
    assert missing(seen(made=False)) == ["home-my-dev-0", "the StatefulSet"]


@pytest.mark.parametrize(
    "status", [{}, applied(status="False"), applied(generation=2)], ids=["none", "failed", "old"]
)
def test_a_role_that_is_not_done_lost_nothing(status: dict[str, Any]) -> None:
    assert is_settled(server(applied()))
    assert not is_settled(server(status))


def test_a_server_that_goes_lost_nothing() -> None:
    going = {"deletionTimestamp": ago(seconds=1)}
    assert not is_settled(server(applied(), meta=going))
