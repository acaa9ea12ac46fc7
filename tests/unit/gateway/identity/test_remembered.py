"""A token is verified once, and for no longer than its key and its time allow."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from devctl_gateway.errors import UnauthenticatedError
from devctl_gateway.identity import key_set, remembered
from devctl_gateway.identity.bearer import parse_authorization
from devctl_gateway.identity.issuers import read_issuers
from devctl_gateway.identity.remembered import Remembered, Verified
from devctl_gateway.identity.tokens import LEEWAY, Verifier
from jwt.algorithms import ECAlgorithm
from support.gateway_app import KID, RSA_KID, claims, identity_file, public_keys, signed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def verifier(tmp_path: Path) -> Verifier:
    return Verifier(read_issuers(identity_file(tmp_path)))


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tokens whose signatures were looked at."""
    found, decode = list[str](), jwt.decode

    def count(token: str, *arguments: Any, **options: Any) -> Any:
        found.append(token)
        return decode(token, *arguments, **options)

    monkeypatch.setattr(jwt, "decode", count)
    return found


async def verify(verifier: Verifier, token: str) -> Any:
    shown = parse_authorization([f"Bearer {token}"])
    return await verifier.verify(shown)  # type: ignore[arg-type]


async def test_a_signature_is_looked_at_once(verifier: Verifier, looked: list[str]) -> None:
    ada, bob = (signed(claims(sub=name)) for name in ("ada", "bob"))
    said = [(await verify(verifier, each)).subject for each in (ada, bob, ada, bob)]
    assert said == ["ada", "bob", "ada", "bob"]
    assert looked == [ada, bob]


async def test_what_is_refused_is_not_remembered(verifier: Verifier, looked: list[str]) -> None:
    wrong = signed()[:-8] + "AAAAAAAA"
    for _ in range(2):
        with pytest.raises(UnauthenticatedError, match="this token or key is not valid"):
            await verify(verifier, wrong)
    assert looked == [wrong, wrong]


async def test_a_remembered_token_expires(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = int(time.time()) + 600
    token = signed(claims(exp=ends))
    monkeypatch.setattr(time, "time", lambda: ends + LEEWAY - 1)
    await verify(verifier, token)
    monkeypatch.setattr(time, "time", lambda: ends + LEEWAY)
    with pytest.raises(UnauthenticatedError, match="expired"):
        await verify(verifier, token)


def other_key() -> dict[str, Any]:
    """Another key of the same name."""
    made = ec.generate_private_key(ec.SECP256R1()).public_key()
    return {**ECAlgorithm.to_jwk(made, as_dict=True), "kid": KID}


@pytest.mark.parametrize("now", [[], [other_key()]], ids=["removed", "replaced"])
async def test_a_remembered_token_ends_with_its_key(
    verifier: Verifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: list[Any]
) -> None:
    token = signed()
    await verify(verifier, token)
    rest = [each for each in public_keys() if each["kid"] == RSA_KID]
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": rest + now}))
    await verify(verifier, token)
    monkeypatch.setattr(key_set, "FRESH", 0.0)
    with pytest.raises(UnauthenticatedError, match="this token or key is not valid"):
        await verify(verifier, token)


def test_those_that_have_not_come_for_the_longest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembered, "MOST", 2)
    one = Remembered[str]()
    for name in ("a", "b"):
        one.keep(name, Verified("", "ES256", None, 0.0, name))
    assert one.find("a")
    one.keep("c", Verified("", "ES256", None, 0.0, "c"))
    assert [name for name in "abc" if one.find(name)] == ["a", "c"]
