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


TAGS = st.text("abc-_ ,/W", max_size=8).map(lambda text: f'"{text}"')


@given(st.text() | st.text('W/"*, a'))
def test_a_header_without_the_tag_matches_only_as_a_star(header: str) -> None:
    assert matches(header, etag_of({"a": 1})) is (header.strip() == "*")


@given(st.lists(TAGS, max_size=3), st.lists(TAGS, max_size=3), st.sampled_from(["", "W/"]))
def test_a_tag_is_found_at_any_place_of_a_list(
    before: list[str], after: list[str], weak: str
) -> None:
    tag = etag_of({"a": 1})
    assert matches(", ".join([*before, weak + tag, *after]), tag)
    assert not matches(", ".join([*before, *after]), tag)


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
