"""From a file's bytes to the pixels that a model gets."""

from __future__ import annotations

import math
import warnings
from io import BytesIO
from typing import TYPE_CHECKING

from PIL import Image, ImageOps

from devctl_inference.failure import Failure, Reason
from devctl_inference.files import MIB

if TYPE_CHECKING:
    from devctl_inference.preprocess import Preprocess

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP")
"""Pillow reads more, some of them by starting other programs."""

MAX_PIXELS = 64 * MIB

_EIGHT_BIT_MODES = {"1", "CMYK", "L", "LA", "P", "PA", "RGB", "RGBA", "YCbCr"}


def prepare(data: bytes, preprocess: Preprocess, path: str) -> bytes:
    """Decode an image and scale it: red, green and blue of each pixel, row by row.

    Raises:
        Failure: It is no image, or one that takes too much.
    """
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    try:
        # Pillow only warns of up to twice as many pixels.
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return _prepare(data, preprocess)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        message = f"{path} has more than {MAX_PIXELS // 10**6} million pixels"
        raise Failure(Reason.INPUT_TOO_LARGE, message) from error
    except MemoryError as error:
        message = f"{path} takes too much memory to decode"
        raise Failure(Reason.INPUT_TOO_LARGE, message) from error
    # Decoders meet damage with whatever goes wrong first: IndexError, struct.error, zlib.error, ...
    except Exception as error:
        message = f"{path} is not a whole image ({', '.join(FORMATS)}): {error}"
        raise Failure(Reason.INPUT_INVALID, message) from error


def _prepare(data: bytes, preprocess: Preprocess) -> bytes:
    height, width = preprocess.size
    with Image.open(BytesIO(data), formats=FORMATS) as opened:
        if opened.mode not in _EIGHT_BIT_MODES:
            # Pillow would cut off what is brighter than 255, and the answer would be wrong.
            raise ValueError(f"its pixels are {opened.mode}, and only 8 bits a channel are read")
        _draft(opened, preprocess)
        ImageOps.exif_transpose(opened, in_place=True)
        mode = "L" if preprocess.grayscale else "RGB"
        # Converting is copying, also from a mode to itself.
        image: Image.Image = opened if opened.mode == mode else opened.convert(mode)
        box = preprocess.box(*image.size)
        scaled = image.resize((width, height), Image.Resampling.BILINEAR, box)
    return scaled.convert("RGB").tobytes()


def _draft(image: Image.Image, preprocess: Preprocess) -> None:
    """Let a JPEG's decoder leave out most of what scaling would throw away."""
    left, top, right, bottom = preprocess.box(*image.size)
    height, width = preprocess.size
    # The image may still be turned by a quarter.
    scale = 2 * max(height, width) / min(right - left, bottom - top)
    image.draft(None, (math.ceil(image.width * scale), math.ceil(image.height * scale)))
