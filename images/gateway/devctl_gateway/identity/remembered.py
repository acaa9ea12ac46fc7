"""Tokens that were verified: for as long as their key is the one that verified them."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

MOST = 10_000
"""Tokens; of more, those that have not come for the longest are verified again."""
_Meaning = TypeVar("_Meaning")


@dataclass(frozen=True)
class Verified(Generic[_Meaning]):
    """A token that was verified.

    Attributes:
        kid: Which key the token names.
        algorithm: Of its signature.
        key: What verified it: another object once the issuer's keys are read again.
        ends: When it is refused as expired, in seconds of the epoch.
        meaning: What it says.
    """

    kid: str
    algorithm: str
    key: object
    ends: float
    meaning: _Meaning


class Remembered(Generic[_Meaning]):
    """Verified tokens by their hashes: no token is kept."""

    def __init__(self) -> None:
        """Know none."""
        self._known: OrderedDict[bytes, Verified[_Meaning]] = OrderedDict()

    def find(self, token: str) -> Verified[_Meaning] | None:
        """What was remembered of a token."""
        name = _hash(token)
        found = self._known.get(name)
        if found is not None:
            self._known.move_to_end(name)
        return found

    def keep(self, token: str, verified: Verified[_Meaning]) -> None:
        """Remember a token in place of what was known of it."""
        self._known[_hash(token)] = verified
        if len(self._known) > MOST:
            self._known.popitem(last=False)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
