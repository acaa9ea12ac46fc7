"""Times that somebody asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from devctl_gateway.schemas.times import Moment
from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    from datetime import datetime

MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


@pytest.mark.parametrize(
    "text",
    ["1700000000", "0.5", "-1", "2026-05-01", "2026-05-01T00:00:00", "today", "20260501T000000Z"],
)
def test_what_rfc_3339_does_not_have_is_none(text: str) -> None:
    with pytest.raises(ValidationError, match=r"not a date and a time|should have timezone info"):
        MOMENT.validate_python(text)


@pytest.mark.parametrize(
    "text",
    ["2026-05-01T10:00:00Z", "2026-05-01t12:00:00+02:00", "2026-05-01 10:00:00.000+00:00"],
)
def test_a_time_with_a_zone_is_the_same_in_utc(text: str) -> None:
    assert MOMENT.validate_python(text).isoformat() == "2026-05-01T10:00:00"
