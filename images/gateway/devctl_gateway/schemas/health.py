"""How a replica is."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class Health(BaseModel):
    """All is well; a problem says so if not."""

    status: Literal["ok"]
