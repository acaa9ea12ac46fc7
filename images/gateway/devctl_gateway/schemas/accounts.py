"""Accounts, as they are shown and changed."""

from __future__ import annotations

from pydantic import BaseModel, Field

from devctl_gateway.schemas.asked import Asked
from devctl_gateway.schemas.times import Time


class Account(BaseModel):
    """Who is billed."""

    id: str
    issuer: str = Field(description="Who vouches for the user.")
    subject: str = Field(description="Whom the issuer knows under this.")
    name: str
    prepaid: bool = Field(description="Whether jobs need credit.")
    created_at: Time


class Me(Account):
    """The caller's account."""

    roles: list[str] = Field(description="What the caller may do with what they came with.")


class AccountChange(Asked):
    """What of an account changes."""

    prepaid: bool
