"""API keys: made, checked, rotated and ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.errors import ConflictError
from devctl_gateway.identity.bearer import Secret
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.identity.secrets import API_KEY, make, same
from devctl_gateway.store import keys
from devctl_gateway.store.ids import new_id
from devctl_gateway.store.keys import NewKey, Owner

MOST = 50
"""Valid keys of an account or a node."""
_NOTED = timedelta(minutes=1)
"""How exactly a key's last use is known: so that reads seldom write."""


@dataclass(frozen=True)
class Issued:
    """A new key.

    Attributes:
        id: Of the key.
        prefix: With which its text begins, after `gpw_`.
        text: What its holder sends. Nobody can find it out again.
        expires_at: When it ends; None for never.
    """

    id: str
    prefix: str
    text: str = field(repr=False)
    expires_at: datetime | None


async def issue(
    connection: AsyncConnection,
    owner: Owner,
    *,
    name: str,
    now: datetime,
    expires_at: datetime | None = None,
) -> Issued:
    """Make a key of an account, or of a node.

    Raises:
        ConflictError: It has too many.
    """
    held = await keys.count_valid(connection, owner, now)
    if held >= MOST:
        raise ConflictError(f"there are {held} valid keys already", "revoke those not in use")
    made, key_id = make(API_KEY), new_id("key")
    new = NewKey(key_id, made.prefix, made.digest, name, now, expires_at)
    await keys.add(connection, owner, new)
    return Issued(key_id, made.prefix, made.text, expires_at)


async def rotate(
    connection: AsyncConnection, key: RowMapping, now: datetime, *, overlap: timedelta
) -> Issued:
    """Make a key that takes the place of a valid one, for as long as that was made for.

    Args:
        connection: To the database.
        key: The old one; it ends after the overlap, or when it would have ended, if that is sooner.
        now: The time.
        overlap: For how long both are valid; 0 ends the old one at once.
    """
    lasts = key["expires_at"] and key["expires_at"] - key["created_at"]
    await keys.expire(connection, key["id"], now + overlap)
    owner = Owner(key["account_id"], key["node_id"])
    return await issue(
        connection, owner, name=key["name"], now=now, expires_at=lasts and now + lasts
    )


def valid(key: RowMapping, now: datetime) -> bool:
    """Whether a key is neither revoked nor expired."""
    return key["revoked_at"] is None and (key["expires_at"] is None or now < key["expires_at"])


class Held(NamedTuple):
    """A valid key.

    Attributes:
        principal: Whose it is.
        unnoted: Whether it is to be noted that the key is used.
    """

    principal: Principal
    unnoted: bool


async def find_held(connection: AsyncConnection, secret: Secret, now: datetime) -> Held | None:
    """Whose valid key this is; None if it is nobody's.

    An account's key acts as a user, whatever the account's other roles: those are in its tokens.
    """
    key = await keys.find(connection, secret.prefix)
    known = same(secret.secret, None if key is None else key["hash"])
    if key is None or not known or not valid(key, now):
        return None
    used = key["last_used_at"]
    return Held(_principal(key), used is None or now - used >= _NOTED)


def _principal(key: RowMapping) -> Principal:
    if key["node_id"] is not None:
        return Principal(
            key["node_id"],
            key["holder"],
            frozenset({Role.NODE}),
            node_id=key["node_id"],
            key_id=key["id"],
        )
    return Principal(
        key["account_id"],
        key["holder"],
        frozenset({Role.USER}),
        account_id=key["account_id"],
        key_id=key["id"],
    )
