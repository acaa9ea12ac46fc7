"""An issuer's keys: how long they are kept, and how often they are looked for."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from devctl_gateway.errors import IssuerError
from devctl_gateway.identity.key_set import FRESH, RETRY, STALE, UNKNOWN, KeySet, parse_key_set
from jwt import PyJWK
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from support.gateway_app import KID, RSA_KID, ec_key, public_keys, rsa_key

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.anyio


class Source:
    """Where keys are read, and a clock."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.keys: Sequence[dict[str, Any]] = keys or public_keys()
        self.reads, self.seconds, self.away = 0, 1000.0, False

    async def read(self) -> bytes:
        self.reads += 1
        await asyncio.sleep(0)
        if self.away:
            raise IssuerError("it is away")
        return json.dumps({"keys": self.keys}).encode()

    def key_set(self) -> KeySet:
        return KeySet(self.read, symmetric=False, monotonic=lambda: self.seconds)


async def test_keys_are_read_once_for_many_who_ask_at_once() -> None:
    source = Source()
    keys = source.key_set()
    found = await asyncio.gather(*(keys.key(KID, "ES256") for _ in range(20)))
    assert all(isinstance(each, PyJWK) for each in found)
    assert source.reads == 1


async def test_keys_are_read_again_when_they_are_no_longer_fresh() -> None:
    source = Source()
    keys = source.key_set()
    assert await keys.key(KID, "ES256")
    source.keys = [each for each in source.keys if each["kid"] != KID]
    source.seconds += FRESH - 1
    assert await keys.key(KID, "ES256")
    source.seconds += 1
    assert await keys.key(KID, "ES256") is None


async def test_an_unknown_kid_is_looked_for_once_a_minute_at_most() -> None:
    source = Source()
    keys = source.key_set()
    assert await keys.key(KID, "ES256")
    for _ in range(10):
        assert await keys.key("another", "ES256") is None
    assert source.reads == 1
    source.seconds += UNKNOWN
    for _ in range(10):
        assert await keys.key("another", "ES256") is None
    assert source.reads == 2


async def test_a_new_key_is_found_within_a_minute() -> None:
    source = Source()
    keys = source.key_set()
    assert await keys.key("new", "ES256") is None
    source.keys = [*source.keys, {**source.keys[0], "kid": "new"}]
    source.seconds += UNKNOWN
    assert await keys.key("new", "ES256")


async def test_old_keys_do_while_the_issuer_is_away_but_not_for_ever() -> None:
    source = Source()
    keys = source.key_set()
    assert await keys.key(KID, "ES256")
    source.away = True
    source.seconds += STALE - 1
    assert await keys.key(KID, "ES256")
    source.seconds += 1
    with pytest.raises(IssuerError, match="away"):
        await keys.key(KID, "ES256")


async def test_an_issuer_that_is_away_is_asked_again_at_a_bounded_rate() -> None:
    source = Source()
    source.away = True
    keys = source.key_set()
    for _ in range(10):
        with pytest.raises(IssuerError, match="it is away"):
            await keys.key(KID, "ES256")
    assert source.reads == 1
    source.away = False
    source.seconds += RETRY
    assert await keys.key(KID, "ES256")
    assert source.reads == 2


async def test_without_a_kid_the_only_key_is_meant() -> None:
    assert await Source(public_keys()[0]).key_set().key("", "ES256")
    assert await Source().key_set().key("", "ES256") is None


@pytest.mark.parametrize(
    ("kid", "algorithm"), [(KID, "RS256"), (KID, "ES384"), (RSA_KID, "ES256"), (RSA_KID, "EdDSA")]
)
async def test_a_key_serves_algorithms_of_its_type_alone(kid: str, algorithm: str) -> None:
    assert await Source().key_set().key(kid, algorithm) is None


async def test_a_short_rsa_key_serves_nothing() -> None:
    short = RSAAlgorithm.to_jwk(rsa_key(1024).public_key(), as_dict=True)
    assert await Source({**short, "kid": "short"}).key_set().key("short", "RS256") is None


async def test_a_private_key_in_the_set_is_used_as_a_public_one() -> None:
    private = ECAlgorithm.to_jwk(ec_key(), as_dict=True)
    assert "d" in private
    found = await Source({**private, "kid": KID}).key_set().key(KID, "ES256")
    assert isinstance(found, PyJWK)
    assert isinstance(found.key, ec.EllipticCurvePublicKey)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": []}',
        b'{"keys": ["x"]}',
        b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}',
        b'{"keys": [{"kty": "RSA", "use": "enc"}]}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_what_is_no_set_of_public_keys_is_refused(content: bytes) -> None:
    with pytest.raises(IssuerError, match="has no public key that verifies signatures"):
        parse_key_set(content)


@pytest.mark.parametrize("broken", [{"x": "!"}, {"crv": "P-9"}, {"x": 7}, {"x": None}])
async def test_a_broken_key_serves_nothing(broken: dict[str, Any]) -> None:
    assert await Source({**public_keys()[0], **broken}).key_set().key(KID, "ES256") is None


@pytest.mark.parametrize(
    ("secret", "algorithm", "serves"),
    [(b"x" * 32, "HS256", True), (b"x" * 32 + b"\n", "HS256", True), (b"x" * 32, "HS512", False)],
)
async def test_a_secret_key_serves_what_it_is_long_enough_for(
    secret: bytes,
    algorithm: str,
    serves: bool,  # noqa: FBT001
) -> None:
    async def read() -> bytes:
        return secret

    found = await KeySet(read, symmetric=True).key("", algorithm)
    assert found == (b"x" * 32 if serves else None)


async def test_a_secret_key_that_is_too_short_is_said() -> None:
    async def read() -> bytes:
        return b"guessable"

    with pytest.raises(IssuerError, match="shorter than 32 bytes"):
        await KeySet(read, symmetric=True).key("", "HS256")
