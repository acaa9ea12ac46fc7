"""Bytes as protobuf's own library writes and reads them for the kubelet's definitions (v0.36.4)."""

from __future__ import annotations

import pytest
from devctl_dra_plugin import messages
from devctl_dra_plugin.messages import Answer, ClaimRef, DeviceHealth, Health, PreparedDevice
from hypothesis import given
from hypothesis import strategies as st

from devctl.agents import wire

CLAIMS = "0a130a067465616d2d611203752d311a04677075730a0c0a01621203752d321a02c3a9"


def test_it_says_who_it_is() -> None:
    assert messages.plugin_info("canhazgpu.com", "/p/dra.sock").hex() == (
        "0a09445241506c7567696e120d63616e68617a6770752e636f6d1a0b2f702f6472612e736f636b"
        "220c76312e445241506c7567696e221a7631616c706861312e4452415265736f757263654865616c7468"
    )


def test_it_hears_whether_it_is_registered() -> None:
    assert messages.registration_status(bytes.fromhex("0801")) is None
    assert messages.registration_status(bytes.fromhex("1207746f6f206f6c64")) == "too old"
    assert messages.registration_status(b"") == "no reason given"


def test_a_batch_of_claims_is_read() -> None:
    assert messages.claims(bytes.fromhex(CLAIMS)) == [
        ClaimRef("team-a", "u-1", "gpus"),
        ClaimRef("b", "u-2", "é"),
    ]


def test_fields_of_a_later_kubelet_are_skipped() -> None:
    later = wire.text(1, "team-a") + wire.number(9, 300) + bytes.fromhex("550102030451") + bytes(8)
    assert messages.claims(wire.nested(1, later) + wire.number(7, 1)) == [
        ClaimRef("team-a", "", "")
    ]


def test_prepared_devices_are_written() -> None:
    device = PreparedDevice(("main",), "node-1", "gpu-3", ("k=a", "k=b"))
    assert messages.prepared({"u-1": Answer((device,))}).hex() == (
        "0a280a03752d3112210a1f0a046d61696e12066e6f64652d311a056770752d3322036b3d6122036b3d62"
    )
    assert messages.prepared({"u-2": Answer(error="no")}).hex() == "0a0b0a03752d32120412026e6f"


def test_every_unprepared_claim_has_an_entry() -> None:
    assert messages.unprepared({"u-1": ""}).hex() == "0a070a03752d311200"
    assert messages.unprepared({"u-2": "no"}).hex() == "0a0b0a03752d3212040a026e6f"


def test_health_is_written() -> None:
    reports = [
        DeviceHealth("node-1", "gpu-3", Health.UNHEALTHY, 1764000000, 120, "lost"),
        DeviceHealth("node-1", "gpu-0", Health.UNKNOWN, 0, 0),
    ]
    assert messages.device_healths(reports).hex() == (
        "0a210a0f0a066e6f64652d3112056770752d33100218808292c90620782a046c6f7374"
        "0a110a0f0a066e6f64652d3112056770752d30"
    )


@given(st.integers(1, 1 << 28), st.integers(1, (1 << 63) - 1), st.text(min_size=1))
def test_what_is_written_can_be_read(field: int, value: int, text: str) -> None:
    both = wire.number(field, value) + wire.text(field + 1, text)
    assert dict(wire.fields(both)) == {field: value, field + 1: text.encode()}
    assert wire.texts(both) == {field + 1: text}


@given(st.binary(max_size=40))
def test_any_bytes_are_refused_or_add_to_the_message_before_them(data: bytes) -> None:
    before = bytes.fromhex(CLAIMS)
    try:
        found = messages.claims(data)
    except wire.WireError:
        with pytest.raises(wire.WireError):
            messages.claims(before + data)
        return
    assert messages.claims(before + data) == messages.claims(before) + found
    # The last value of a field counts.
    assert messages.registration_status(data + wire.number(1, 1)) is None


@pytest.mark.parametrize("end", range(1, len(CLAIMS) // 2 - 14))
def test_a_message_that_was_cut_off_is_refused(end: int) -> None:
    data = bytes.fromhex(CLAIMS)[:end]
    if end == 21:
        assert len(messages.claims(data)) == 1
    else:
        with pytest.raises(wire.WireError):
            messages.claims(data)


@pytest.mark.parametrize("data", ["0b", "0a01ff", "ffffffffffffffffffff01"], ids=str)
def test_what_is_no_message_is_refused(data: str) -> None:
    with pytest.raises(wire.WireError):
        messages.claims(wire.nested(1, bytes.fromhex(data)))
