"""The part of protobuf's wire format that messages of kubelet and container runtime use.

A message is a sequence of fields: a key (the field's number and how its value is written), then the
value. Texts, messages and entries of maps have their length before them; numbers are varints.
Fields that are zero or empty are left out, and unknown ones are skipped.
https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_MAX_BITS = 64


class WireError(ValueError):
    """Bytes that are no message."""


def number(field: int, value: int) -> bytes:
    """A field of type int64, bool or an enumeration; none of ours is negative.

    >>> number(1, 150).hex()
    '089601'
    """
    return _varint(field << 3 | _VARINT) + _varint(value) if value else b""


def text(field: int, value: str) -> bytes:
    """A field of type string.

    >>> text(2, "testing").hex()
    '120774657374696e67'
    """
    return nested(field, value.encode()) if value else b""


def nested(field: int, value: bytes) -> bytes:
    """A field that is a message itself, or an element of a list, which may be empty."""
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """A message's fields: their numbers and values.

    Raises:
        WireError: It is not a message, or was cut off.
    """
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, at = _read_varint(data, at)
        elif kind in _FIXED:
            length = _FIXED[kind]
        else:
            raise WireError(f"field {key >> 3} is of unknown type {kind}")
        if at + length > len(data):
            raise WireError(f"field {key >> 3} was cut off")
        yield key >> 3, data[at : at + length]
        at += length


def texts(data: bytes) -> dict[int, str]:
    """The texts of a message; of several with the same number, the last, as protobuf has it.

    Raises:
        WireError: It is not a message, or a text is not UTF-8.
    """
    try:
        return {key: value.decode() for key, value in fields(data) if isinstance(value, bytes)}
    except UnicodeDecodeError as error:
        raise WireError("a text is not UTF-8") from error


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < _MAX_BITS:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:  # noqa: PLR2004
            return value, at
    raise WireError("a number was cut off")
