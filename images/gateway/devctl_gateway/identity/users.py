"""The accounts of users, made when they first come."""

from __future__ import annotations

from collections import OrderedDict

from devctl_gateway.context import Context
from devctl_gateway.identity.principal import Principal
from devctl_gateway.identity.tokens import Claims
from devctl_gateway.store import accounts
from devctl_gateway.store.accounts import NewAccount
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.ids import new_id

_REMEMBERED = 10_000


class Users:
    """Finds the account of a verified token, and remembers it: accounts are never deleted.

    Args:
        context: Of the process.
    """

    def __init__(self, context: Context) -> None:
        """Know nobody yet."""
        self._context = context
        self._known: OrderedDict[tuple[str, str], tuple[str, str]] = OrderedDict()

    async def principal(self, claims: Claims) -> Principal:
        """Who has a token with these claims."""
        user = (claims.issuer, claims.subject)
        account_id, name = self._known.get(user, ("", ""))
        if not account_id or name != claims.name:
            account_id = await self._account(claims)
            self._known[user] = (account_id, claims.name)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return Principal(account_id, claims.name, claims.roles, account_id=account_id)

    async def _account(self, claims: Claims) -> str:
        async with connect(self._context.engine) as connection:
            account = await accounts.find(connection, claims.issuer, claims.subject)
        if account is not None and account["name"] == claims.name:
            return str(account["id"])
        async with begin(self._context.engine) as connection:
            new = NewAccount(
                new_id("acc"), claims.issuer, claims.subject, claims.name, self._context.clock()
            )
            account = await accounts.ensure(connection, new)
            if account["name"] != claims.name:
                await accounts.rename(connection, account["id"], claims.name)
        return str(account["id"])
