"""API keys and registration tokens, as they are asked for and shown."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from devctl_gateway.schemas.asked import Asked
from devctl_gateway.schemas.text import Line
from devctl_gateway.schemas.times import Time

HOUR, DAY = 3600, 86400
_Seconds = Annotated[int, Field(ge=60, le=365 * DAY)]


class NewKey(Asked):
    """A key to be made: of the caller's account, or of a node."""

    name: Line = Field(description="What it is for.")
    node_id: str | None = Field(
        default=None,
        max_length=40,
        pattern=r"^gpu-[0-9a-f]{12}$",
        description="For a node's agent instead of the caller; operators only.",
    )
    expires_in_seconds: _Seconds | None = Field(
        default=None,
        description="At most a year. Unless said, 90 days; a node's key has no end.",
    )


class Rotation(Asked):
    """How a key is rotated."""

    overlap_seconds: int = Field(
        default=600, ge=0, le=DAY, description="For how long the old key stays valid; 0 ends it."
    )


class Key(BaseModel):
    """A key, without its secret."""

    id: str
    prefix: str = Field(description="With which the key begins, after `gpw_`.")
    name: str
    node_id: str | None = None
    created_at: Time
    expires_at: Time | None = None
    revoked_at: Time | None = None
    last_used_at: Time | None = Field(default=None, description="To the minute.")


class MadeKey(Key):
    """A new key."""

    key: str | None = Field(description="The key: shown this once, and null in repetitions.")


class NewRegistrationToken(Asked):
    """A registration token to be made."""

    uses: int = Field(default=1, ge=1, le=1000, description="How many nodes it registers.")
    expires_in_seconds: Annotated[int, Field(ge=60, le=30 * DAY)] = HOUR


class RegistrationToken(BaseModel):
    """A registration token, without its secret."""

    id: str
    prefix: str
    created_by: str
    created_at: Time
    expires_at: Time
    uses_left: int
    revoked_at: Time | None = None


class MadeRegistrationToken(RegistrationToken):
    """A new registration token."""

    token: str | None = Field(description="The token: shown this once, and null in repetitions.")
