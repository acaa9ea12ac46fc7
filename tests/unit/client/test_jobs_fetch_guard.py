"""Where a URL may lead: nothing inside, in no disguise."""

from __future__ import annotations

import doctest
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.jobs import fetch_guard
from devctl.client.jobs.fetch_guard import allowed, check_url, problem
from devctl.errors import DeniedError, DevctlError, UsageError

INSIDE = [
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "::1",
    "fc00::1",
    "fdff::1",
]
NEVER = [
    "0.0.0.0",  # noqa: S104 - nothing listens there
    "0.1.2.3",
    "::",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "224.0.0.1",
    "239.255.255.250",
    "ff02::1",
    "255.255.255.255",
    "240.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "192.88.99.1",
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "5f00::1",
    "4000::1",
    "::ffff:8.8.8.8",
    "::ffff:10.0.0.1",
    "::ffff:0:10.0.0.1",
    "::10.0.0.1",
    "64:ff9b::a00:1",
    "64:ff9b:1::a00:1",
    "2002:a00:1::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:4860::5efe:10.0.0.1",
    "2001:4860::200:5efe:10.0.0.1",
    "2606:4700::1111%eth0",
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "140.82.112.3", "2606:4700::1111", "2001:4860:4860::8888"]


def test_examples() -> None:
    assert doctest.testmod(fetch_guard).failed == 0


@pytest.mark.parametrize("text", INSIDE)
def test_what_is_inside_is_for_those_who_say_so(text: str) -> None:
    assert problem(text)
    assert not problem(text, allow_private=True)


@pytest.mark.parametrize("text", NEVER)
def test_some_are_never_fetched_from(text: str) -> None:
    assert problem(text)
    assert problem(text, allow_private=True)


@pytest.mark.parametrize("text", PUBLIC)
def test_public_ones_are(text: str) -> None:
    assert problem(text) == ""


@given(st.integers(0, 2**32 - 1))
def test_no_address_inside_passes_in_any_disguise(number: int) -> None:
    plain = IPv4Address(number)
    disguises = [
        IPv6Address(number),
        IPv6Address(0xFFFF << 32 | number),
        IPv6Address(0xFFFF << 48 | number),
        IPv6Address(0x64FF9B << 96 | number),
        IPv6Address(0x2002 << 112 | number << 80 | 1),
        IPv6Address(0x20010000 << 96 | number ^ 0xFFFFFFFF),
        IPv6Address(0x20014860 << 96 | 0x5EFE << 32 | number),
    ]
    for address in disguises:
        if address != IPv6Address("::1"):
            assert problem(str(address), allow_private=True), address
    if not plain.is_global or plain.is_multicast:
        assert problem(str(plain))


@given(st.ip_addresses())
def test_what_passes_is_global(address: IPv4Address | IPv6Address) -> None:
    if not problem(str(address)):
        assert address.is_global
        assert not address.is_multicast


@given(
    st.lists(st.sampled_from(PUBLIC), max_size=4),
    st.sampled_from([*INSIDE, *NEVER, "nonsense"]),
    st.integers(0, 4),
)
def test_one_refused_address_refuses_the_whole(good: list[str], bad: str, at: int) -> None:
    with pytest.raises(DeniedError, match="it is not fetched"):
        allowed("host", [*good[:at], bad, *good[at:]])


def test_the_way_out_is_told_where_there_is_one() -> None:
    with pytest.raises(DeniedError) as inside:
        allowed("store", ["10.0.0.1"])
    assert "--allow-private" in inside.value.fix
    with pytest.raises(DeniedError) as metadata:
        allowed("store", ["169.254.169.254"])
    assert "--allow-private" not in metadata.value.fix
    assert allowed("store", ["1.1.1.1", "1.1.1.1", "8.8.8.8"]) == ["1.1.1.1", "8.8.8.8"]
    with pytest.raises(UsageError, match="has no address"):
        allowed("store", [])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "image.jpg",
        "//host/a",
        "file:///etc/passwd",
        "ftp://host/a",
        "gopher://host/",
        "data:text/plain,a",
        "javascript:alert(1)",
        "http://",
        "https:///a",
        "http://user@host/",
        "http://user:secret@host/",
        "http://@host/",
        "http://host:0/",
        "http://host:65536/",
        "http://host:port/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://ho st/",
        "http://host/a b",
        "http://host/\r\nHost: other",
        "http://host\\@other/",
        "http://hóst/",
        "http://host/" + "a" * 9000,
        "http://host/\x00",
    ],
)
def test_what_is_no_url_of_a_file(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_url(url)
    assert raised.value.message.isprintable()
    assert "secret" not in raised.value.message
    assert raised.value.fix


def test_where_a_url_leads() -> None:
    assert check_url("https://Example.com/a?b=c#d") == (
        "https",
        "example.com",
        443,
        "https://Example.com/a?b=c",
    )
    assert check_url("http://[2606:4700::1111]:8080/")[1:3] == ("2606:4700::1111", 8080)


@given(st.text(max_size=60), st.sampled_from(["", "http://", "https://", "//", "http:\\\\"]))
def test_any_text_is_a_url_or_an_error_that_can_be_read(text: str, before: str) -> None:
    try:
        found = check_url(before + text)
    except DevctlError as error:
        shown = error.message
        assert shown.isprintable()
    else:
        assert found.scheme in {"http", "https"}
        assert found.host
        assert "@" not in found.url.split("/")[2]
