"""Entries of the audit log."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from devctl_gateway.schemas.times import Time


class AuditEntry(BaseModel):
    """Who changed what."""

    id: int
    at: Time
    actor: str
    action: str
    target: str
    request_id: str
    details: dict[str, Any]
