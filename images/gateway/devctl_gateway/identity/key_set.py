"""The keys of one issuer, kept for a while and refreshed at a bounded rate."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from devctl_gateway.errors import IssuerError
from devctl_gateway.identity.key_sources import Read

FRESH = 300.0
"""Seconds that keys are used without looking for others."""
STALE = 3600.0
"""Seconds that they are used if the issuer cannot be reached."""
UNKNOWN = 60.0
"""Seconds between looks for a key that is not there."""
RETRY = 10.0
"""Seconds between looks after one that has failed."""
_SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
_RSA_BITS = 2048
_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}

_PUBLIC = frozenset({"kty", "kid", "n", "e", "crv", "x", "y"})
"""Members of public keys: a key set that has private ones as well is not to be used for them."""

Keys = Mapping[str, Mapping[str, Any]]
"""Public keys as JSON Web Keys, by ID."""


def parse_key_set(content: bytes) -> Keys:
    """The public keys that verify signatures.

    Raises:
        IssuerError: It is no key set, or has none of them.
    """
    try:
        listed = json.loads(content)["keys"]
        keys = {
            str(each.get("kid", "")): each
            for each in listed
            if each.get("kty") in _TYPES.values() and each.get("use", "sig") == "sig"
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        keys = {}
    if not keys:
        raise IssuerError("an issuer's key set has no public key that verifies signatures")
    return keys


def parse_secret(content: bytes) -> bytes:
    """A secret key.

    Raises:
        IssuerError: It is too short to be secret.
    """
    secret = content.rstrip(b"\r\n")
    if len(secret) < min(_SECRET_BYTES.values()):
        raise IssuerError("an issuer's secret key is shorter than 32 bytes: make a longer one")
    return secret


def key_for(key: Mapping[str, Any], algorithm: str) -> PyJWK | None:
    """A public key as one for an algorithm; None if it is for another one, or too short."""
    if key["kty"] != _TYPES[algorithm[:2]] or key.get("alg", algorithm) != algorithm:
        return None
    try:
        made = PyJWK({name: key[name] for name in key if name in _PUBLIC}, algorithm)
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    if key["kty"] == "RSA" and made.key.key_size < _RSA_BITS:
        return None
    return made


class KeySet:
    """An issuer's keys.

    Args:
        read: Reads them.
        symmetric: Whether it is one secret key.
        monotonic: A clock in seconds.
    """

    def __init__(
        self, read: Read, *, symmetric: bool, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Have no keys yet."""
        self._read, self._symmetric, self._monotonic = read, symmetric, monotonic
        self._turn = asyncio.Lock()
        self._secret, self._keys = b"", dict[str, Mapping[str, Any]]()
        self._made: dict[tuple[str, str], PyJWK | None] = {}
        self._read_at = self._tried_at = float("-inf")
        self._failed: IssuerError | None = None

    async def key(self, kid: str, algorithm: str) -> PyJWK | bytes | None:
        """The key of an ID for an algorithm; None if there is none.

        Args:
            kid: As the token says; empty if it does not, which is enough if there is one key alone.
            algorithm: One that the issuer may use.

        Raises:
            IssuerError: The keys have not been readable for too long.
        """
        await self._refresh(FRESH)
        found = self._find(kid, algorithm)
        if found is None and not self._symmetric and kid and kid not in self._keys:
            await self._refresh(UNKNOWN)
            found = self._find(kid, algorithm)
        return found

    def _find(self, kid: str, algorithm: str) -> PyJWK | bytes | None:
        if self._symmetric:
            return self._secret if len(self._secret) >= _SECRET_BYTES[algorithm] else None
        if not kid and len(self._keys) == 1:
            kid = next(iter(self._keys))
        if kid not in self._keys:
            return None
        if (kid, algorithm) not in self._made:
            self._made[kid, algorithm] = key_for(self._keys[kid], algorithm)
        return self._made[kid, algorithm]

    def _due(self, age: float) -> bool:
        now = self._monotonic()
        if self._failed is not None:
            return now - self._tried_at >= RETRY
        return now - self._read_at >= age

    async def _refresh(self, age: float) -> None:
        """Read the keys if they are older than that; one at a time, and others wait for it."""
        if self._due(age):
            async with self._turn:
                if self._due(age):
                    await self._look()
        if self._failed is not None and self._monotonic() - self._read_at >= STALE:
            raise IssuerError(self._failed.message, self._failed.fix)

    async def _look(self) -> None:
        self._tried_at = self._monotonic()
        try:
            content = await self._read()
            if self._symmetric:
                self._secret = parse_secret(content)
            else:
                self._keys = dict(parse_key_set(content))
            self._made, self._read_at, self._failed = {}, self._monotonic(), None
        except IssuerError as error:
            self._failed = error
