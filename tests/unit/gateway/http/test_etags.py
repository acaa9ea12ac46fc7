"""ETags: a copy that is current is not sent again, and a change to an old one is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from devctl_gateway.http.etags import etag_of, matches
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from support.gateway_app import Gateway

pytestmark = pytest.mark.anyio
ME = "/gpu-workers/accounts/me"


@given(st.text())
def test_any_header_matches_or_does_not(header: str) -> None:
    assert matches(header, etag_of({"a": 1})) in {True, False}


def test_other_values_have_other_tags() -> None:
    assert etag_of({"a": 1}) == etag_of({"a": 1})
    assert etag_of({"a": 1}) != etag_of({"a": "1"})


async def test_a_current_copy_is_not_sent_again(gateway: Gateway) -> None:
    async with gateway.user() as user:
        first = await user.get(ME)
        tag = first.headers["ETag"]
        again = await user.get(ME, headers={"If-None-Match": tag})
        other = await user.get(ME, headers={"If-None-Match": '"another"'})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert (other.status_code, other.json()) == (200, first.json())


async def test_a_change_to_what_has_changed_since_is_refused(gateway: Gateway) -> None:
    async with gateway.user() as user, gateway.admin() as admin:
        path = "/gpu-workers/accounts/" + (await user.get(ME)).json()["id"]
        seen = (await admin.get(path)).headers["ETag"]
        changed = await admin.patch(path, json={"prepaid": True}, headers={"If-Match": seen})
        assert changed.status_code == 200
        assert changed.headers["ETag"] == (await admin.get(path)).headers["ETag"] != seen
        late = await admin.patch(path, json={"prepaid": False}, headers={"If-Match": seen})
        assert late.status_code == 412
        assert (await admin.get(path)).json()["prepaid"] is True
        assert (await admin.patch(path, json={"prepaid": False})).status_code == 200
