"""The audit log, for admins."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from devctl_gateway.http.context import Inside
from devctl_gateway.http.paging import Page, next_cursor
from devctl_gateway.identity.dependencies import require
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.schemas.audit import AuditEntry
from devctl_gateway.schemas.page import PageOf
from devctl_gateway.schemas.text import Line
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import audit
from devctl_gateway.store.audit import Wanted
from devctl_gateway.store.engine import connect

router = APIRouter(prefix=f"{PREFIX}/audit", tags=["audit"])
_Admin = Annotated[Principal, Depends(require(Role.ADMIN))]


@router.get("/")
async def list_audit_entries(
    _: _Admin,
    inside: Inside,
    page: Page,
    actor: Annotated[Line | None, Query(description="Only by them.")] = None,
    action: Annotated[Line | None, Query(description="Only this.")] = None,
    target: Annotated[Line | None, Query(description="Only to this.")] = None,
) -> PageOf[AuditEntry]:
    """Who changed what, the latest first."""
    after = page.after(int)
    async with connect(inside.engine) as connection:
        rows = await audit.page(
            connection,
            Wanted(actor, action, target),
            before=after[0] if after else None,
            limit=page.limit + 1,
        )
    return PageOf[AuditEntry](
        items=[AuditEntry(**row) for row in rows[: page.limit]],
        next_cursor=next_cursor(rows, page.limit, lambda row: (row["id"],)),
    )
