"""The audit log, as endpoints write it."""

from __future__ import annotations

from typing import Any, cast

from fastapi import Request
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.context import Context
from devctl_gateway.http.request_ids import request_id
from devctl_gateway.store import audit
from devctl_gateway.store.audit import Entry


async def record(
    connection: AsyncConnection,
    request: Request,
    actor: str,
    action: str,
    target: str,
    **details: Any,
) -> None:
    """Note who changes what, in the transaction that changes it.

    Args:
        connection: In that transaction.
        request: What asks for it.
        actor: The ID of who asks: a principal's `id`, or a registration's `by`.
        action: What they do, such as `key.create`.
        target: The ID of what they do it to.
        details: What else matters; never a secret.
    """
    context = cast("Context", request.app.state.context)
    entry = Entry(context.clock(), actor, action, target, request_id(request), details)
    await audit.add(connection, entry)
