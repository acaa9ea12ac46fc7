from __future__ import annotations

import random
import struct
import zlib
from io import BytesIO
from typing import Any

import pytest
from devctl_inference import image
from devctl_inference.failure import Failure, Reason
from devctl_inference.image import prepare
from devctl_inference.preprocess import IMAGENET, Preprocess
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from unit.inference.conftest import picture

SMALL = Preprocess((4, 6), (0.5,) * 3, (0.5,) * 3, grayscale=False)
GREY = SMALL._replace(grayscale=True)


def refused(data: bytes) -> tuple[Reason, str]:
    with pytest.raises(Failure) as caught:
        prepare(data, SMALL, "/artifacts/input.jpg")
    return caught.value.reason, caught.value.message


@pytest.mark.parametrize("kind", ["BMP", "GIF", "JPEG", "PNG", "WEBP"])
def test_an_image_of_each_format_comes_out_in_the_models_size(kind: str) -> None:
    found = prepare(picture((50, 20), kind=kind, color=(200, 0, 0)), SMALL, "x")
    assert len(found) == 4 * 6 * 3
    assert abs(found[0] - 200) < 10
    assert found[1] < 10


@pytest.mark.parametrize(
    ("mode", "color", "kind"),
    [
        *[("1", 1, "PNG"), ("L", 255, "PNG"), ("LA", (255, 0), "PNG"), ("P", 0, "GIF")],
        *[("RGBA", (255, 255, 255, 0), "PNG"), ("CMYK", (0, 0, 0, 0), "JPEG")],
    ],
)
def test_other_colours_are_converted(mode: str, color: int | tuple[int, ...], kind: str) -> None:
    found = prepare(picture((5, 5), mode, kind, color), SMALL, "x")
    wanted = 0 if mode == "P" else 255
    assert all(abs(value - wanted) < 5 for value in found)


def test_grey_is_three_equal_channels() -> None:
    found = prepare(picture(color=(255, 0, 0)), GREY, "x")
    assert set(found) == {76}


def test_imagenets_cut_is_the_centre() -> None:
    made = Image.new("RGB", (512, 256), "white")
    made.paste("black", (144, 16, 368, 240))
    data = BytesIO()
    made.save(data, "PNG")
    found = Image.frombytes("RGB", (224, 224), prepare(data.getvalue(), IMAGENET, "x"))
    # Filters read one pixel beyond the edge.
    assert found.crop((2, 2, 222, 222)).getextrema() == ((0, 0),) * 3
    assert IMAGENET.box(512, 256) == (144, 16, 368, 240)


def test_a_picture_taken_on_its_side_is_turned() -> None:
    made = Image.new("RGB", (60, 40))
    made.paste("white", (0, 0, 30, 40))  # on the left; after the rotation, on top
    exif = Image.Exif()
    exif[0x0112] = 6
    data = BytesIO()
    made.save(data, "PNG", exif=exif)
    found = prepare(data.getvalue(), SMALL, "x")
    assert found[:18] == b"\xff" * 18
    assert found[-18:] == b"\0" * 18


@pytest.mark.parametrize("size", [(20000, 1), (1, 20000)])
def test_an_image_of_one_pixels_width_takes_no_memory(size: tuple[int, int]) -> None:
    assert len(prepare(picture(size), IMAGENET, "x")) == 224 * 224 * 3


def test_a_large_jpeg_is_not_decoded_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    resize = Image.Image.resize

    def watched(self: Image.Image, *rest: Any) -> Image.Image:
        sizes.append(self.size)
        return resize(self, *rest)

    monkeypatch.setattr(Image.Image, "resize", watched)
    prepare(picture((4000, 3000), kind="JPEG"), IMAGENET, "x")
    assert sizes == [(1000, 750)]


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims many pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("size", [(8193, 8192), (12000, 11000), (60000, 60000), (2**31 - 1, 1)])
def test_a_bomb_is_not_unpacked(size: tuple[int, int]) -> None:
    reason, message = refused(bomb(*size))
    assert reason is Reason.INPUT_TOO_LARGE
    assert message == "/artifacts/input.jpg has more than 67 million pixels"


def sixteen_bits() -> bytes:
    return picture(mode="I;16", color=40000)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"hello", id="text"),
        pytest.param(b"<svg xmlns='http://www.w3.org/2000/svg'/>", id="svg"),
        pytest.param(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", id="postscript"),
        pytest.param(picture(kind="TIFF"), id="tiff"),
        pytest.param(picture((99, 99))[:-40], id="truncated-png"),
        pytest.param(picture((99, 99), kind="JPEG")[:-200], id="truncated-jpeg"),
        pytest.param(picture((99, 99), kind="WEBP")[:40], id="truncated-webp"),
        pytest.param(bomb(8000, 8000), id="no-data"),
        pytest.param(sixteen_bits(), id="sixteen-bits"),
    ],
)
def test_what_is_no_whole_image_is_refused(data: bytes) -> None:
    reason, message = refused(data)
    assert reason is Reason.INPUT_INVALID
    assert message.startswith("/artifacts/input.jpg is not a complete image (BMP, GIF, JPEG,")


@given(st.sampled_from(["BMP", "GIF", "JPEG", "PNG", "WEBP"]), st.integers(), st.integers(1, 30))
def test_damage_anywhere_fails_clearly_or_not_at_all(kind: str, seed: int, times: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - not a secret
    data = bytearray(picture((30, 20), kind=kind, color=(1, 2, 3)))
    for _ in range(times):
        data[chance.randrange(len(data))] = chance.randrange(256)
    try:
        assert len(prepare(bytes(data), SMALL, "x")) == 4 * 6 * 3
    except Failure as failure:
        assert failure.reason in {Reason.INPUT_INVALID, Reason.INPUT_TOO_LARGE}  # noqa: PT017


def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(image, "_prepare", full)
    message = "/artifacts/input.jpg needs too much memory to decode"
    assert refused(b"") == (Reason.INPUT_TOO_LARGE, message)
