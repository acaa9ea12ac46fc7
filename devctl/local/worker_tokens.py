"""Tokens of the GPU workers API for clusters without an issuer, signed by a key of their own.

The gateway gets the public key. Who can read the private one is an administrator of the API.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from devctl.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

ISSUER, AUDIENCE = "devctl-signing-key", "gpu-workers"
ROLES = ("user", "operator", "admin")
DEFAULT_SECONDS, MAX_SECONDS = 8 * 3600, 30 * 86400
_ALGORITHM, _KEY_ID = "RS256", "signing-key"
_BITS = 2048


def make_key() -> bytes:
    """A private key, in PEM."""
    return rsa.generate_private_key(public_exponent=65537, key_size=_BITS).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def ensure_key(folder: Path) -> bytes:
    """The private key of a folder, made unless it is there."""
    file = folder / "signing.key"
    if not file.is_file():
        partial = file.with_suffix(".partial")
        partial.touch(mode=0o600)
        partial.write_bytes(make_key())
        partial.replace(file)
    return file.read_bytes()


def key_set(key: bytes) -> dict[str, Any]:
    """The JSON Web Key Set with the public half of a key; raises UsageError if it is none."""
    public = json.loads(RSAAlgorithm.to_jwk(_private(key).public_key()))
    public |= {"kid": _KEY_ID, "alg": _ALGORITHM, "use": "sig"}
    public.pop("key_ops", None)
    return {"keys": [public]}


def sign(key: bytes, name: str, role: str, *, now: int, seconds: int = DEFAULT_SECONDS) -> str:
    """A token.

    Args:
        key: The private key, in PEM.
        name: Whom it is for: who has the same name has the same account.
        role: One of ROLES.
        now: The time, in seconds since 1970.
        seconds: For how long it is valid.

    Raises:
        UsageError: The name, the role or the time is not possible, or the key is none.
    """
    if not name or len(name) > 255 or not name.isprintable():  # noqa: PLR2004 - the store's limit
        raise UsageError(f"`{name}` is no name", "give 1 to 255 printable characters")
    if role not in ROLES:
        raise UsageError(f"there is no role `{role}`", f"give one of {', '.join(ROLES)}")
    if not 0 < seconds <= MAX_SECONDS:
        raise UsageError("a token is valid for at most 30 days", "give fewer hours")
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": name,
        "preferred_username": name,
        "roles": [role],
        "iat": now,
        "nbf": now,
        "exp": now + seconds,
        "jti": secrets.token_hex(16),
    }
    return jwt.encode(claims, _private(key), algorithm=_ALGORITHM, headers={"kid": _KEY_ID})


def _private(key: bytes) -> rsa.RSAPrivateKey:
    try:
        found = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError) as error:
        raise UsageError("there is no private key in what was given", "give one in PEM") from error
    if not isinstance(found, rsa.RSAPrivateKey):
        raise UsageError("the private key is not one of RSA", "give the key that the script made")
    return found
