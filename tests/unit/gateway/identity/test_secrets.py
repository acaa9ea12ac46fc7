"""Secrets: as hard to guess as they should be, and compared in a time that tells nothing."""

from __future__ import annotations

import base64
import hmac
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.identity.bearer import REGISTRATION
from devctl_gateway.identity.secrets import API_KEY, NOBODY, digest, make, same

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was compared, by the one function that takes equally long for all."""
    seen: list[tuple[str, str]] = []
    compare: Callable[[str, str], bool] = hmac.compare_digest

    def note(one: str, other: str) -> bool:
        seen.append((one, other))
        return compare(one, other)

    monkeypatch.setattr("hmac.compare_digest", note)
    return seen


@pytest.mark.parametrize("kind", [API_KEY, REGISTRATION])
def test_a_secret_has_256_random_bits(kind: str) -> None:
    many = {make(kind).text for _ in range(100)}
    assert len(many) == 100
    secret = many.pop().split("_", 2)[2]
    assert len(base64.urlsafe_b64decode(secret + "=")) * 8 == 256


def test_what_is_kept_is_not_the_secret() -> None:
    made = make(API_KEY)
    secret = made.text.split("_", 2)[2]
    assert made.digest == digest(secret)
    assert secret not in made.digest
    assert len(made.prefix) == 12


def test_the_right_secret_is_recognised_and_no_other(compared: list[tuple[str, str]]) -> None:
    assert same("right", digest("right"))
    assert not same("wrong", digest("right"))
    assert not same("", digest("right"))
    assert [len(each) for pair in compared for each in pair] == [64] * 6


def test_a_prefix_that_nobody_has_takes_as_long_as_a_wrong_secret(
    compared: list[tuple[str, str]],
) -> None:
    assert not same("any", None)
    assert compared == [(digest("any"), NOBODY)]


def test_another_kind_of_secret_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="no kind"):
        make("x")
