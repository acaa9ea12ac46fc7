"""What of jobs and accounts a caller may see."""

from __future__ import annotations

from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.errors import ForbiddenError, NotFoundError
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.store import jobs


async def job_of(connection: AsyncConnection, caller: Principal, job_id: str) -> RowMapping:
    """A job that the caller may see.

    Raises:
        NotFoundError: There is none, or it is somebody else's.
    """
    row = await jobs.get(connection, job_id)
    theirs = row and (row["account_id"] == caller.account_id or Role.ADMIN in caller.roles)
    if row is None or not theirs:
        raise NotFoundError(f"there is no job `{job_id}`", "`GET jobs/` lists yours")
    return row


def account_of(caller: Principal) -> str:
    """The ID of the caller's account.

    Raises:
        ForbiddenError: It is a node, which has none.
    """
    if not caller.account_id:
        raise ForbiddenError("a node has no account", "log in, or use an account's key")
    return caller.account_id
