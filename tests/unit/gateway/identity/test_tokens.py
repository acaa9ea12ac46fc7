"""Which JSON Web Tokens are believed: the attacks on them, each by its name."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from devctl_gateway.errors import UnauthenticatedError
from devctl_gateway.identity.bearer import parse_authorization
from devctl_gateway.identity.issuers import Issuer, read_issuers
from devctl_gateway.identity.principal import Role
from devctl_gateway.identity.tokens import LEEWAY, Verifier, roles_of
from support.gateway_app import (
    AUDIENCE,
    ISSUER,
    KID,
    OTHER_ISSUER,
    RSA_KID,
    SECRET,
    claims,
    ec_key,
    identity_file,
    rsa_key,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio
HOUR = 3600


@pytest.fixture
def verifier(tmp_path: Path) -> Verifier:
    return Verifier(read_issuers(identity_file(tmp_path)))


async def verify(verifier: Verifier, token: str) -> Any:
    shown = parse_authorization([f"Bearer {token}"])
    return await verifier.verify(shown)  # type: ignore[arg-type]


def part(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def handmade(header: dict[str, Any], payload: dict[str, Any], key: bytes) -> str:
    """A token with any header at all, signed with a secret key."""
    text = f"{part(header)}.{part(payload)}"
    return f"{text}.{part(hmac.digest(key, text.encode(), hashlib.sha256))}"


def public_pem() -> bytes:
    return rsa_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def tampered() -> str:
    header, _, signature = signed().split(".")
    return f"{header}.{part(claims(sub='user-2'))}.{signature}"


def resigned_with(**header: Any) -> str:
    """A token signed with a key of the attacker's, which its header offers or points to."""
    mine = ec.generate_private_key(ec.SECP256R1())
    return jwt.encode(claims(), mine, "ES256", {"kid": KID, **header})


ATTACKS: dict[str, Callable[[], str]] = {
    "no signature and the algorithm none": lambda: f"{part({'alg': 'none'})}.{part(claims())}.",
    "the algorithm nOnE": lambda: f"{part({'alg': 'nOnE', 'kid': KID})}.{part(claims())}.",
    "a signature taken away": lambda: signed().rsplit(".", 1)[0] + ".",
    "a public key as the secret key of HS256": lambda: handmade(
        {"alg": "HS256", "kid": RSA_KID}, claims(), public_pem()
    ),
    "an empty secret key": lambda: handmade({"alg": "HS256"}, claims(iss=OTHER_ISSUER), b""),
    "another secret key": lambda: jwt.encode(claims(iss=OTHER_ISSUER), "x" * 40, "HS256"),
    "the other issuer's key": lambda: jwt.encode(claims(), SECRET, "HS256", {"kid": KID}),
    "a public key's signature for the issuer with a secret": lambda: signed(
        claims(iss=OTHER_ISSUER)
    ),
    "an algorithm that the issuer does not use": lambda: jwt.encode(
        claims(), rsa_key(), "RS512", {"kid": RSA_KID}
    ),
    "an algorithm that the key is not for": lambda: jwt.encode(
        claims(), rsa_key(), "RS256", {"kid": KID}
    ),
    "an algorithm that is a list": lambda: handmade(
        {"alg": ["HS256"], "kid": KID}, claims(), b"x" * 40
    ),
    "no algorithm": lambda: handmade({"kid": KID}, claims(), b"x" * 40),
    "a key of the attacker's in the header": lambda: resigned_with(jwk={"kty": "EC"}),
    "a key set of the attacker's in the header": lambda: resigned_with(jku="https://evil.test"),
    "an extension that must be understood": lambda: jwt.encode(
        claims(), ec_key(), "ES256", {"kid": KID, "crit": ["exp"]}
    ),
    "an unknown kid": lambda: signed(kid="another"),
    "a kid that is a path": lambda: signed(kid="../../dev/null"),
    "no kid where there are two keys": lambda: signed(kid=None),
    "a kid that is a number": lambda: handmade({"alg": "ES256", "kid": 1}, claims(), b"x"),
    "an unknown issuer": lambda: signed(claims(iss="https://evil.test")),
    "an issuer with a slash more": lambda: signed(claims(iss=f"{ISSUER}/")),
    "no issuer": lambda: signed(claims(iss=None)),
    "another audience": lambda: signed(claims(aud="something-else")),
    "an audience that begins the same": lambda: signed(claims(aud=f"{AUDIENCE}-2")),
    "no audience": lambda: signed(claims(aud=None)),
    "expired": lambda: signed(claims(exp=int(time.time()) - LEEWAY - 5)),
    "no expiry": lambda: signed(claims(exp=None)),
    "an expiry that is a text": lambda: signed(claims(exp="soon")),
    "an infinite expiry": lambda: signed(claims(exp=float("inf"))),
    "not yet valid": lambda: signed(claims(nbf=int(time.time()) + HOUR)),
    "issued in the future": lambda: signed(claims(iat=int(time.time()) + HOUR)),
    "no subject": lambda: signed(claims(sub=None)),
    "an empty subject": lambda: signed(claims(sub="")),
    "a subject that is a number": lambda: signed(claims(sub=1)),
    "a subject with a line break": lambda: signed(claims(sub="user-1\nadmin")),
    "a subject with a zero byte": lambda: signed(claims(sub="user-1\x00")),
    "a subject that is too long": lambda: signed(claims(sub="u" * 256)),
    "tampered claims": tampered,
    "a huge token": lambda: signed(claims(much="x" * 10000)),
    "claims that are nested deeply": lambda: (
        f"{part({'alg': 'ES256'})}.{part(b'[' * 5000)}.{part(b'x')}"
    ),
    "claims that are a list": lambda: f"{part({'alg': 'ES256', 'kid': KID})}.{part([])}.AAAA",
    "a detached payload": lambda: handmade(
        {"alg": "ES256", "kid": KID, "b64": False, "crit": ["b64"]}, claims(), b"x"
    ),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
async def test_it_is_refused(verifier: Verifier, attack: Callable[[], str]) -> None:
    token = attack()
    with pytest.raises(UnauthenticatedError) as error:
        await verify(verifier, token)
    assert token not in str(error.value)


async def test_a_valid_token_says_who_comes(verifier: Verifier) -> None:
    said = await verify(verifier, signed())
    assert (said.issuer, said.subject, said.name) == (ISSUER, "user-1", "ada")
    assert said.roles == {Role.USER}


async def test_rsa_keys_and_secret_keys_verify_as_well(verifier: Verifier) -> None:
    modular = jwt.encode(claims(), rsa_key(), "RS256", {"kid": RSA_KID})
    assert (await verify(verifier, modular)).subject == "user-1"
    local = jwt.encode(claims(iss=OTHER_ISSUER), SECRET, "HS256")
    assert (await verify(verifier, local)).issuer == OTHER_ISSUER


async def test_one_of_several_audiences_is_enough(verifier: Verifier) -> None:
    assert await verify(verifier, signed(claims(aud=["another", AUDIENCE])))


@pytest.mark.parametrize("late", [{"exp": -20}, {"nbf": 20}, {"iat": 20}], ids=str)
async def test_clocks_may_differ_a_little(verifier: Verifier, late: dict[str, int]) -> None:
    moved = {name: int(time.time()) + seconds for name, seconds in late.items()}
    assert await verify(verifier, signed(claims(**moved)))


async def test_who_has_expired_is_told_so(verifier: Verifier) -> None:
    with pytest.raises(UnauthenticatedError, match="has expired"):
        await verify(verifier, signed(claims(exp=int(time.time()) - HOUR)))


@pytest.mark.parametrize("name", [None, "", 7, "a\nb", "n" * 256])
async def test_who_has_no_fitting_name_is_shown_as_their_subject(
    verifier: Verifier, name: object
) -> None:
    said = await verify(verifier, signed(claims(preferred_username=name)))
    assert said.name == "user-1"


@pytest.mark.parametrize(
    ("claimed", "roles"),
    [
        (None, {Role.USER}),
        (["gpu-operators"], {Role.USER, Role.OPERATOR}),
        ("gpu-operators", {Role.USER, Role.OPERATOR}),
        (["staff", "gpu-admins"], {Role.USER, Role.OPERATOR, Role.ADMIN}),
        (["admin", "node"], {Role.USER}),
        ([["gpu-admins"], 7], {Role.USER}),
        ({"gpu-admins": True}, {Role.USER}),
    ],
)
def test_roles_are_what_the_identity_file_makes_of_a_claim(
    tmp_path: Path, claimed: object, roles: set[Role]
) -> None:
    (found, _) = read_issuers(identity_file(tmp_path))
    assert roles_of(found, claimed) == roles


def test_without_a_claim_of_roles_everybody_is_a_user(tmp_path: Path) -> None:
    (_, local) = read_issuers(identity_file(tmp_path))
    assert isinstance(local, Issuer)
    assert roles_of(local, ["gpu-admins"]) == {Role.USER}
