"""What an Authorization header has: told apart by shape, so that nothing is tried out."""

from __future__ import annotations

import binascii
import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from devctl_gateway.errors import UnauthenticatedError

LONGEST = 8192
"""Characters of a token."""
_SCHEME = re.compile(r"bearer +(\S+)", re.ASCII | re.IGNORECASE)
_SECRET = re.compile(r"gpw_([kr][0-9a-f]{11})_([A-Za-z0-9_-]{43})", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]*", re.ASCII)
REGISTRATION = "r"
"""What the prefix of a registration token begins with; an API key's begins with k."""


@dataclass(frozen=True)
class Secret:
    """An API key or a registration token.

    Attributes:
        prefix: By which its row is found.
        secret: What only its holder knows.
    """

    prefix: str
    secret: str = field(repr=False)

    @property
    def registers(self) -> bool:
        """Whether it is a registration token."""
        return self.prefix.startswith(REGISTRATION)


@dataclass(frozen=True)
class WebToken:
    """A JSON Web Token that nobody has verified yet.

    Attributes:
        text: The token.
        issuer: Whose it claims to be.
        bound: Whether it claims to be a service account's of Kubernetes.
    """

    text: str = field(repr=False)
    issuer: str
    bound: bool


def refused(message: str = "this token or key is not valid") -> UnauthenticatedError:
    """What is answered to a wrong credential: nothing of what is wrong with a secret."""
    return UnauthenticatedError(
        message, "send `Authorization: Bearer` with a token from your login, or with an API key"
    )


def parse_authorization(headers: Sequence[str]) -> Secret | WebToken:
    """What the headers Authorization of a request have.

    Raises:
        UnauthenticatedError: There is none, or not one, or it has no known shape.
    """
    if len(headers) != 1:
        raise refused("no credentials" if not headers else "more than one Authorization header")
    found = _SCHEME.fullmatch(headers[0].strip())
    if found is None or len(found[1]) > LONGEST:
        raise refused()
    return parse_bearer(found[1])


def parse_bearer(text: str) -> Secret | WebToken:
    """What a bearer has shown.

    Raises:
        UnauthenticatedError: It has no known shape.
    """
    if secret := _SECRET.fullmatch(text):
        return Secret(secret[1], secret[2])
    token = _TOKEN.fullmatch(text)
    if token is None or len(text) > LONGEST:
        raise refused()
    claims = _claims(token[1])
    if not isinstance(issuer := claims.get("iss"), str):
        raise refused()
    return WebToken(text, issuer, bound="kubernetes.io" in claims)


def _claims(part: str) -> dict[str, Any]:
    try:
        claims = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError, binascii.Error):
        raise refused() from None
    if not isinstance(claims, dict):
        raise refused()
    return claims
