"""Names of users, and what becomes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.devserver_user import NAME, namespace_of, object_name

WORDS = st.text("aA-éß@.0f", max_size=12) | st.text(max_size=80)


@given(WORDS)
def test_every_user_gets_a_valid_name(username: str) -> None:
    name = object_name(username)
    assert NAME.fullmatch(name)
    assert len(namespace_of(name)) <= 63


@given(WORDS, WORDS)
def test_two_users_never_share_a_name(one: str, other: str) -> None:
    assert one == other or object_name(one) != object_name(other)


@pytest.mark.parametrize("username", ["alice", "alice-2", "a" * 59])
def test_a_name_that_can_be_one_is_kept(username: str) -> None:
    assert object_name(username) == username


def test_nobody_can_choose_the_name_of_another() -> None:
    taken = object_name("alice@company.com")
    assert object_name(taken) != taken
