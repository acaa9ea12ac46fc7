"""Questions of a kubelet that has died, and a record that is lost while claims are prepared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from devctl_dra_plugin.api import ApiError
from devctl_dra_plugin.tickets import Tickets

from unit.dra_plugin.cluster import Memory, ref
from unit.dra_plugin.test_claims import Node, names, node

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.dra_plugin.cluster import Object

__all__ = ["node"]  # a fixture


class Slow(Memory):
    """An API server, while whose answer something happens."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def get(self, path: str) -> Object | None:
        found = super().get(path)
        self.meanwhile()
        return found


def test_what_is_unprepared_meanwhile_is_not_held_by_an_older_question(node: Node) -> None:
    """The kubelet was killed while it asked, and the next one was told to end the pod."""
    node.api = Slow(lambda: claims.unprepare([ref(1)]))
    node.api.allocate(ref(1), 0)
    claims = node.start()
    claims.complete()
    assert claims.prepare([ref(1)])["uid-1"].error == "the kubelet no longer waits for it"
    assert node.stored() == node.files() == set()
    node.api.meanwhile = lambda: None
    assert not claims.prepare([ref(1)])["uid-1"].error, "a newer question is answered"


def test_for_a_kubelet_that_is_gone_nothing_is_held(node: Node) -> None:
    claims = node.start()
    claims.complete()
    node.api.allocate(ref(1), 0)
    assert claims.prepare([ref(1)], lambda: False)["uid-1"].error
    assert node.stored() == node.files() == set()
    assert not claims.prepare([ref(1)])["uid-1"].error
    claims.prepare([ref(1)], lambda: False)
    assert node.files() == names(1), "what is held stays"


def test_one_of_several_claims_that_is_unprepared_is_not_the_others_error() -> None:
    tickets = Tickets()
    with tickets.issue(["a", "b"]) as first, tickets.issue(["a"]) as second:
        tickets.revoke("a")
        assert (first, second) == ({"b"}, set())
        with tickets.issue(["a"]) as newer:
            assert newer == {"a"}
    tickets.revoke("b")
    assert first == {"b"}, "it was answered before"


def test_a_lost_record_is_complete_before_anything_new_is_in_it(node: Node) -> None:
    """Or the next start would take the new claim for the only one, and remove the others' files."""
    node.api.allocate(ref(1), 0)
    node.start().prepare([ref(1)])
    node.state.unlink()
    node.api.allocate(ref(2), 1)
    assert not node.start().prepare([ref(2)])["uid-2"].error
    node.start()
    assert node.stored() == {"uid-1", "uid-2"}
    assert node.files() == names(1, 2)


def test_while_a_lost_record_cannot_be_completed_nothing_new_is_held(node: Node) -> None:
    claims = node.start()
    node.api.is_away = True
    with pytest.raises(ApiError, match="away"):
        claims.complete()
    assert "away" in claims.prepare([ref(1)])["uid-1"].error
    assert not node.state.exists()


def test_what_ended_while_the_record_was_lost_is_not_found_again(node: Node) -> None:
    """The pod's end is told after that, so the claim still looks as if it were in use."""
    node.api.allocate(ref(1), 0)
    node.start().prepare([ref(1)])
    node.state.unlink()
    claims = node.start()
    assert claims.unprepare([ref(1)]) == {"uid-1": ""}
    claims.complete()
    assert node.stored() == node.files() == set()
