"""The decoder as a separate process."""

from __future__ import annotations

import signal
import subprocess

import pytest
from devctl_inference import decoder
from devctl_inference.failure import Failure, Reason
from devctl_inference.files import MIB
from devctl_inference.preprocess import Preprocess

from unit.inference.conftest import picture

SMALL = Preprocess((4, 6), (0.5,) * 3, (0.5,) * 3, grayscale=False)


def refused(data: bytes, seconds: float = 60, memory: int = 640 * MIB) -> tuple[Reason, str]:
    with pytest.raises(Failure) as caught:
        decoder.prepare(data, SMALL, "/artifacts/a\n.jpg", seconds, memory)
    return caught.value.reason, caught.value.message


def test_an_image_comes_out_as_pixels() -> None:
    found = decoder.prepare(picture((50, 20), color=(200, 0, 0)), SMALL, "x")
    assert found == bytes((200, 0, 0)) * 4 * 6


def test_what_the_decoder_says_is_passed_on() -> None:
    reason, message = refused(b"no image")
    assert reason is Reason.INPUT_INVALID
    assert message.startswith("/artifacts/a\N{REPLACEMENT CHARACTER}.jpg is not a complete image")


def test_a_decoder_that_takes_too_long_is_stopped() -> None:
    reason, message = refused(picture(), seconds=0.001)
    assert reason is Reason.INPUT_TOO_LARGE
    assert message.endswith(".jpg took longer than 0.001 s to decode")


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF"])
def test_a_decoder_that_takes_too_much_memory_is_stopped(kind: str) -> None:
    reason, message = refused(picture((6000, 6000), "L", kind), memory=96 * MIB)
    assert reason is Reason.INPUT_TOO_LARGE, message


def test_a_decoder_that_crashes_without_memory_does_not_take_the_job_with_it() -> None:
    # Pillow's WebP decoder does not check its allocations.
    reason, _ = refused(picture((6000, 6000), kind="WEBP"), memory=96 * MIB)
    assert reason in {Reason.INPUT_INVALID, Reason.INPUT_TOO_LARGE}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (-signal.SIGKILL, Reason.INPUT_TOO_LARGE),
        (-signal.SIGSEGV, Reason.INPUT_INVALID),
        (1, Reason.INPUT_INVALID),
        (0, Reason.INPUT_INVALID),
    ],
)
def test_a_decoder_that_ends_without_a_word_is_explained(
    monkeypatch: pytest.MonkeyPatch, code: int, reason: Reason
) -> None:
    ended = subprocess.CompletedProcess[bytes]([], code, b"too short", b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    with pytest.raises(Failure, match="needs too much memory to decode") as caught:
        decoder.prepare(b"", SMALL, "x")
    assert caught.value.reason is reason
