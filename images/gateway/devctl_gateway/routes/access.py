"""What of jobs and accounts a caller may see."""

from __future__ import annotations

from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.cluster.objects import is_over
from devctl_gateway.context import Context
from devctl_gateway.errors import ForbiddenError, NotFoundError
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.store import jobs
from devctl_gateway.store.rows import Row


async def job_of(
    context: Context,
    connection: AsyncConnection,
    caller: Principal,
    job_id: str,
    *,
    deleted: bool = False,
) -> RowMapping:
    """A job that the caller may see.

    Args:
        context: Of the process.
        connection: To the database.
        caller: Who asks.
        job_id: For which one.
        deleted: Whether one counts that was deleted and has ended.

    Raises:
        NotFoundError: There is none, or it is somebody else's.
    """
    row = await jobs.get(connection, job_id)
    theirs = row and (row["account_id"] == caller.account_id or Role.ADMIN in caller.roles)
    if row is None or not theirs or (is_gone(context, row) and not deleted):
        raise NotFoundError(f"there is no job `{job_id}`", "`GET jobs/` lists yours")
    return row


def is_gone(context: Context, row: Row) -> bool:
    """Whether a job was deleted and has ended: then it is shown to nobody."""
    if row["deleted_at"] is None:
        return False
    return is_over(context.cluster.jobs.get(row["id"]), row["final"])


def account_of(caller: Principal) -> str:
    """The ID of the caller's account.

    Raises:
        ForbiddenError: It is a node, which has none.
    """
    if not caller.account_id:
        raise ForbiddenError("a node has no account", "log in, or use an account's key")
    return caller.account_id
