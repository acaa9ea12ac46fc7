from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from devctl.errors import UsageError
from devctl.local.worker_tokens import (
    AUDIENCE,
    ISSUER,
    MAX_SECONDS,
    ROLES,
    ensure_key,
    key_set,
    make_key,
    sign,
)

if TYPE_CHECKING:
    from pathlib import Path

KEY = make_key()
NOW = 1_900_000_000


def claims(token: str) -> dict[str, object]:
    """What the public key says of a token, at that time."""
    (public,) = key_set(KEY)["keys"]
    found: dict[str, object] = jwt.decode(
        token,
        jwt.PyJWK.from_dict(public),
        algorithms=["RS256"],
        audience=AUDIENCE,
        issuer=ISSUER,
        options={"verify_exp": False, "verify_nbf": False, "verify_iat": False},
    )
    return found


@settings(max_examples=25)  # a signature each
@given(st.text(min_size=1, max_size=255).filter(str.isprintable), st.sampled_from(ROLES))
def test_a_token_says_for_whom_it_is_and_what_they_may_do(name: str, role: str) -> None:
    token = sign(KEY, name, role, now=NOW, seconds=60)
    said = claims(token)
    assert (said["sub"], said["roles"]) == (name, [role])
    assert (said["nbf"], said["exp"]) == (NOW, NOW + 60)
    assert jwt.get_unverified_header(token)["kid"] == key_set(KEY)["keys"][0]["kid"]


def test_no_two_tokens_are_the_same() -> None:
    assert sign(KEY, "a", "user", now=NOW) != sign(KEY, "a", "user", now=NOW)


def test_the_key_set_has_nothing_of_the_private_half() -> None:
    (public,) = key_set(KEY)["keys"]
    assert public.keys() == {"kty", "n", "e", "kid", "alg", "use"}
    assert json.dumps(public)


@pytest.mark.parametrize(
    ("name", "role", "seconds", "message"),
    [
        ("", "user", 60, "`` is no name"),
        ("a\nb", "user", 60, "is no name"),
        ("a" * 256, "user", 60, "is no name"),
        ("a", "node", 60, "there is no role `node`"),
        ("a", "user", 0, "at most 30 days"),
        ("a", "user", MAX_SECONDS + 1, "at most 30 days"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, role: str, seconds: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sign(KEY, name, role, now=NOW, seconds=seconds)


def test_another_sort_of_key_is_refused() -> None:
    other = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with pytest.raises(UsageError, match="not one of RSA"):
        key_set(other)
    with pytest.raises(UsageError, match="no private key"):
        key_set(b"")


def test_the_key_of_a_folder_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    made = ensure_key(tmp_path)
    assert ensure_key(tmp_path) == made
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o077 == 0
