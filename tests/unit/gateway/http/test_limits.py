"""How often one may ask, and fail."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.errors import TooManyRequestsError
from devctl_gateway.http.limits import Limits, client_of
from hypothesis import given
from hypothesis import strategies as st
from support.gateway_app import running

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio
ME, WRONG = "/gpu-workers/accounts/me", f"gpw_k{'0' * 11}_{'x' * 43}"


async def test_who_asks_too_often_waits_and_nobody_else(tmp_path: Path) -> None:
    async with (
        running(tmp_path, requests_per_minute=3) as gateway,
        gateway.user() as user,
        gateway.user("user-2") as other,
    ):
        answers = [await user.get(ME) for _ in range(5)]
        assert [each.status_code for each in answers] == [200, 200, 200, 429, 429]
        assert 0 < int(answers[-1].headers["Retry-After"]) <= 60
        assert answers[-1].json()["title"] == "Too Many Requests"
        assert (await other.get(ME)).status_code == 200


async def test_a_key_counts_for_its_account(tmp_path: Path) -> None:
    async with running(tmp_path, requests_per_minute=3) as gateway, gateway.user() as user:
        key = (await user.post("/gpu-workers/keys/", json={"name": "ci"})).json()["key"]
        async with gateway.client(key) as script:
            answers = [await script.get(ME) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]


async def test_an_address_that_keeps_failing_is_refused_whatever_it_shows(tmp_path: Path) -> None:
    async with running(tmp_path, failures_per_minute=3) as gateway:
        async with gateway.client(WRONG) as guesser:
            answers = [await guesser.get(ME) for _ in range(5)]
        assert [each.status_code for each in answers] == [401, 401, 401, 429, 429]
        assert int(answers[-1].headers["Retry-After"]) > 0
        async with gateway.user() as user:  # at the same address
            assert (await user.get(ME)).status_code == 429
        async with gateway.client() as stranger:  # who shows nothing cannot guess
            assert (await stranger.get("/healthz")).status_code == 200
        async with gateway.client(WRONG, address="192.0.2.2") as elsewhere:
            assert (await elsewhere.get(ME)).status_code == 401


async def test_success_is_no_failure(tmp_path: Path) -> None:
    async with running(tmp_path, failures_per_minute=2) as gateway, gateway.user() as user:
        for _ in range(5):
            assert (await user.get("/gpu-workers/audit/")).status_code == 403
        assert (await user.get(ME)).status_code == 200


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("/run/socket", "/run/socket"),
    ],
)
def test_a_client_is_an_address_or_a_network_of_ipv6(host: str, client: str) -> None:
    assert client_of({"client": (host, 1)}) == client
    assert client_of({"client": None}) == "unknown"


@given(st.ip_addresses(v=6), st.integers(0, 2**64 - 1))
def test_one_network_of_ipv6_is_one_client(address: ipaddress.IPv6Address, host: int) -> None:
    base = int(address) >> 64 << 64
    if ipaddress.IPv6Address(base).ipv4_mapped is None and base:
        other = str(ipaddress.IPv6Address(base + host))
        assert client_of({"client": (other, 1)}) == client_of({"client": (str(address), 1)})


def test_a_limit_that_is_reached_says_how_long() -> None:
    one = Limits(requests=1, failures=1)
    one.admit("acc-1")
    with pytest.raises(TooManyRequestsError, match="more than 1 requests") as error:
        one.admit("acc-1")
    assert 1 <= error.value.retry_after <= 60
