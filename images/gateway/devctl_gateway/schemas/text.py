"""Texts that people write: on one line, and such that both databases can keep them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

NO_CONTROLS = "^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"
"""The pattern of a text without control characters, as JSON Schema has it."""

Line = Annotated[str, Field(min_length=1, max_length=255, pattern=NO_CONTROLS)]
"""Such as a name."""
Id = Annotated[str, Field(min_length=1, max_length=40, pattern="^[0-9A-Za-z-]+$")]
"""An ID, whether there is anything of that ID or not."""
