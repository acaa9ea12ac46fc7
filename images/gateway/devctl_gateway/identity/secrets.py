"""The text of API keys and registration tokens: shown once, kept as a prefix and a hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NamedTuple

from devctl_gateway.identity.bearer import REGISTRATION

API_KEY = "k"
"""What the prefix of an API key begins with."""
_BYTES = 32
_PREFIX_BYTES = 6
NOBODY = "0" * 64
"""A hash that no secret has, for comparing with when there is no row."""


class Made(NamedTuple):
    """A new secret."""

    text: str
    """What its holder sends: all that is ever seen of the secret."""
    prefix: str
    digest: str


def make(kind: str) -> Made:
    """A new API key or registration token, of 256 random bits.

    Args:
        kind: API_KEY or REGISTRATION.
    """
    if kind not in (API_KEY, REGISTRATION):
        raise ValueError(f"`{kind}` is no kind of secret")
    prefix = kind + secrets.token_hex(_PREFIX_BYTES)[1:]
    secret = secrets.token_urlsafe(_BYTES)
    return Made(f"gpw_{prefix}_{secret}", prefix, digest(secret))


def digest(secret: str) -> str:
    """What is kept of a secret: of 256 random bits, so nothing slower is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def same(secret: str, kept: str | None) -> bool:
    """Whether a secret is the one of a hash; as slow for None, which is no secret's.

    The time that it takes tells nothing of either.
    """
    equal = hmac.compare_digest(digest(secret), kept or NOBODY)
    return equal and kept is not None
