"""What bodies of requests have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Asked(BaseModel):
    """A body of a request: no field that nobody knows, and no text for a number."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, value: Any) -> Any:
        """To JSON, 3.0 is as whole a number as 3."""
        if not isinstance(value, dict):
            return value
        return {
            name: int(each) if isinstance(each, float) and each.is_integer() else each
            for name, each in value.items()
        }
