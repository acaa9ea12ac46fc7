"""What the environment asks for: the role sets it from the job's spec."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from devctl_inference.failure import Failure, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

VOLUME = Path("/artifacts")
BAKED = Path("/opt/devctl/weights")
MAX_WAIT_SECONDS = 3600


class ModelName(StrEnum):
    """The models that there are, named as torchvision names them."""

    RESNET50 = "resnet50"
    MOBILENET_V3_SMALL = "mobilenet_v3_small"


@dataclass(frozen=True)
class Settings:
    """One job."""

    model: ModelName
    input: str
    output: str
    wait_seconds: int
    weights: str | None
    """None: those of the image, or the volume's usual ones."""
    labels: str | None
    """None: beside the weights."""
    volume: Path = VOLUME
    baked: Path = BAKED


def read(environ: Mapping[str, str], volume: Path = VOLUME, baked: Path = BAKED) -> Settings:
    """Read the environment; what is not set has the default of the job's schema.

    Raises:
        Failure: A value that there cannot be.
    """
    return Settings(
        model=_model(environ.get("MODEL", ModelName.RESNET50)),
        input=environ.get("INPUT_PATH", f"{volume}/input.jpg"),
        output=environ.get("OUTPUT_PATH", f"{volume}/output.json"),
        wait_seconds=_seconds(environ.get("INPUT_WAIT_SECONDS", "120")),
        weights=environ.get("WEIGHTS_PATH") or None,
        labels=environ.get("LABELS_PATH") or None,
        volume=volume,
        baked=baked,
    )


def _model(text: str) -> ModelName:
    try:
        return ModelName(text)
    except ValueError:
        known = " or ".join(ModelName)
        message = f"there is no model `{text}`: spec.model is {known}"
        raise Failure(Reason.SETTINGS_INVALID, message) from None


def _seconds(text: str) -> int:
    # Python reads other scripts' digits, signs and underscores, too.
    if text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_WAIT_SECONDS)):
        seconds = int(text)
        if seconds <= MAX_WAIT_SECONDS:
            return seconds
    message = f"spec.input.waitSeconds is 0 to {MAX_WAIT_SECONDS}, not `{text}`"
    raise Failure(Reason.SETTINGS_INVALID, message)
