"""JSON Web Tokens: what a valid one says of its holder."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jwt

from devctl_gateway.errors import UnauthenticatedError
from devctl_gateway.identity.bearer import WebToken, refused
from devctl_gateway.identity.issuers import Issuer
from devctl_gateway.identity.key_set import KeySet
from devctl_gateway.identity.key_sources import source_of
from devctl_gateway.identity.principal import Role
from devctl_gateway.identity.remembered import Remembered, Verified

LEEWAY = 30
"""Seconds that clocks may differ by."""
_LONGEST = 255
_REQUIRED = ["iss", "aud", "exp", "sub"]
_INCLUDED = {
    Role.USER: {Role.USER},
    Role.OPERATOR: {Role.USER, Role.OPERATOR},
    Role.ADMIN: {Role.USER, Role.OPERATOR, Role.ADMIN},
}
_EXPIRED = "this token has expired"


@dataclass(frozen=True)
class Claims:
    """What a valid token says.

    Attributes:
        issuer: Whose it is.
        subject: Whom it is about: unique for the issuer, and for ever.
        name: For people.
        roles: What they may do, with all that a role includes.
    """

    issuer: str
    subject: str
    name: str
    roles: frozenset[Role]


class Verifier:
    """Verifies tokens of some issuers.

    Args:
        issuers: Those that are accepted, each with its own algorithms, audience and keys.
    """

    def __init__(self, issuers: Iterable[Issuer]) -> None:
        """Keep the keys of each issuer apart."""
        self._known = {
            each.issuer: (each, KeySet(source_of(each), symmetric=bool(each.key_file)))
            for each in issuers
        }
        self._remembered = Remembered[Claims]()

    def knows(self, token: WebToken) -> bool:
        """Whether a token claims to be of an issuer that is accepted."""
        return token.issuer in self._known

    async def verify(self, token: WebToken) -> Claims:
        """What a token says, if it is valid.

        Raises:
            UnauthenticatedError: It is not.
            IssuerError: The keys of its issuer cannot be had.
        """
        if token.issuer not in self._known:
            raise refused()
        issuer, keys = self._known[token.issuer]
        known = self._remembered.find(token.text)
        if known is None or await keys.key(known.kid, known.algorithm) is not known.key:
            known = await _verify(token, issuer, keys)
            self._remembered.keep(token.text, known)
        if known.ends <= time.time():
            raise refused(_EXPIRED)
        return known.meaning


async def _verify(token: WebToken, issuer: Issuer, keys: KeySet) -> Verified[Claims]:
    """What a token says, by its signature."""
    try:
        header = jwt.get_unverified_header(token.text)
        algorithm, kid = header.get("alg"), header.get("kid", "")
        # The token chooses among what its issuer may use, and nothing else.
        if algorithm not in issuer.algorithms or not isinstance(kid, str):
            raise refused()
        key = await keys.key(kid, algorithm)
        if key is None:
            raise refused()
        claims = jwt.decode(
            token.text,
            key,
            algorithms=[algorithm],
            audience=issuer.audience,
            issuer=issuer.issuer,
            leeway=LEEWAY,
            options={"require": _REQUIRED},
        )
        ends = int(claims["exp"]) + LEEWAY
    except jwt.ExpiredSignatureError:
        raise refused(_EXPIRED) from None
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
        raise refused() from None
    return Verified(kid, algorithm, key, ends, read_claims(issuer, claims))


def read_claims(issuer: Issuer, claims: dict[str, Any]) -> Claims:
    """What the claims of a verified token mean.

    Raises:
        UnauthenticatedError: Its subject cannot be the name of an account.
    """
    subject = claims["sub"]
    if not _storable(subject):
        raise UnauthenticatedError("the subject of this token is empty, too long, or has controls")
    name = claims.get(issuer.username_claim)
    if not _storable(name):
        name = subject
    return Claims(
        issuer.issuer,
        subject,
        str(name),
        roles_of(issuer, claims.get(issuer.roles_claim) if issuer.roles_claim else None),
    )


def roles_of(issuer: Issuer, claimed: object) -> frozenset[Role]:
    """The roles that a claim stands for; that of a user at least."""
    values = [claimed] if isinstance(claimed, str) else claimed
    roles = {Role.USER}
    for value in values if isinstance(values, list) else []:
        if isinstance(value, str) and (role := issuer.roles.get(value)):
            roles |= _INCLUDED[role]
    return frozenset(roles)


def _storable(value: object) -> bool:
    """Whether it is a text that fits in a table, and in a line."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable()
