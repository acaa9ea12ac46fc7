"""Converts the bytes of a file to the pixels for a model."""

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
"""Pillow supports more, some of them through external programs."""

MAX_PIXELS = 64 * MIB

_EIGHT_BIT_MODES = {"1", "CMYK", "L", "LA", "P", "PA", "RGB", "RGBA", "YCbCr"}


def prepare(data: bytes, preprocess: Preprocess, path: str) -> bytes:
    """Decode an image and scale it: red, green and blue of each pixel, row by row.

    Raises:
        Failure: It is not an image, or too large.
    """
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    try:
        # Up to twice this number of pixels, Pillow only warns.
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return _prepare(data, preprocess)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        message = f"{path} has more than {MAX_PIXELS // 10**6} million pixels"
        raise Failure(Reason.INPUT_TOO_LARGE, message) from error
    except MemoryError as error:
        message = f"{path} needs too much memory to decode"
        raise Failure(Reason.INPUT_TOO_LARGE, message) from error
    # Decoders raise all sorts of errors for damaged data: IndexError, struct.error, zlib.error, ...
    except Exception as error:
        message = f"{path} is not a complete image ({', '.join(FORMATS)}): {error}"
        raise Failure(Reason.INPUT_INVALID, message) from error


def _prepare(data: bytes, preprocess: Preprocess) -> bytes:
    height, width = preprocess.size
    with Image.open(BytesIO(data), formats=FORMATS) as opened:
        if opened.mode not in _EIGHT_BIT_MODES:
            # Pillow would clip values above 255, and the result would be wrong.
            raise ValueError(f"mode {opened.mode}: only 8 bits per channel are supported")
        _draft(opened, preprocess)
        ImageOps.exif_transpose(opened, in_place=True)
        mode = "L" if preprocess.grayscale else "RGB"
        # `convert` copies even if the mode does not change.
        image: Image.Image = opened if opened.mode == mode else opened.convert(mode)
        box = preprocess.box(*image.size)
        scaled = image.resize((width, height), Image.Resampling.BILINEAR, box)
    return scaled.convert("RGB").tobytes()


def _draft(image: Image.Image, preprocess: Preprocess) -> None:
    """Let a JPEG's decoder skip most of the detail that scaling would discard."""
    left, top, right, bottom = preprocess.box(*image.size)
    height, width = preprocess.size
    # The image may be rotated by 90 degrees later.
    scale = 2 * max(height, width) / min(right - left, bottom - top)
    image.draft(None, (math.ceil(image.width * scale), math.ceil(image.height * scale)))
