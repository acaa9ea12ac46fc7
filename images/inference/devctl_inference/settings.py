"""Settings from the environment, which the role sets from the job's spec."""

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
    """The supported models, under torchvision's names."""

    RESNET50 = "resnet50"
    MOBILENET_V3_SMALL = "mobilenet_v3_small"


@dataclass(frozen=True)
class Settings:
    """The settings of a job."""

    model: ModelName
    input: str
    output: str
    wait_seconds: int
    weights: str | None
    """None for the image's own, or else those in the default place on the volume."""
    labels: str | None
    """None for the file next to the weights."""
    volume: Path = VOLUME
    baked: Path = BAKED


def read(environ: Mapping[str, str], volume: Path = VOLUME, baked: Path = BAKED) -> Settings:
    """Read the environment; unset variables have the defaults of the job's schema.

    Raises:
        Failure: A value is invalid.
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
        message = f"unknown model `{text}`: spec.model must be {known}"
        raise Failure(Reason.SETTINGS_INVALID, message) from None


def _seconds(text: str) -> int:
    # Python also accepts other scripts' digits, signs and underscores.
    if text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_WAIT_SECONDS)):
        seconds = int(text)
        if seconds <= MAX_WAIT_SECONDS:
            return seconds
    message = f"spec.input.waitSeconds must be 0 to {MAX_WAIT_SECONDS}, not `{text}`"
    raise Failure(Reason.SETTINGS_INVALID, message)
