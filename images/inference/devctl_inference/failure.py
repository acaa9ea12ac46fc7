"""Why a job fails, as its status shows it."""

from __future__ import annotations

import contextlib
import json
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MESSAGE_CHARACTERS = 1000
"""The kubelet keeps 4096 bytes of a termination message; a character can take four."""


class Reason(StrEnum):
    """The reason of a failed job."""

    SETTINGS_INVALID = "SettingsInvalid"
    INPUT_MISSING = "InputMissing"
    INPUT_INVALID = "InputInvalid"
    INPUT_TOO_LARGE = "InputTooLarge"
    WEIGHTS_MISSING = "WeightsMissing"
    WEIGHTS_INVALID = "WeightsInvalid"
    OUTPUT_INVALID = "OutputInvalid"
    OUTPUT_FAILED = "OutputFailed"
    OUT_OF_MEMORY = "OutOfMemory"
    OUT_OF_GPU_MEMORY = "OutOfGpuMemory"
    INFERENCE_FAILED = "InferenceFailed"


class Failure(Exception):  # noqa: N818 - the status's term
    """A failure with a reason, and a message for the user."""

    def __init__(self, reason: Reason, message: str) -> None:
        """Take reason and message, both for the status."""
        super().__init__(message)
        self.reason = reason

    @property
    def message(self) -> str:
        """The text as one printable line of limited length: it may contain names of files."""
        line = "".join(
            char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(self)
        )
        cut = len(line) > _MESSAGE_CHARACTERS
        return f"{line[: _MESSAGE_CHARACTERS - 3]}..." if cut else line


def record(failure: Failure, termination_log: Path) -> None:
    """Write a failure to the termination log, which may be missing outside Kubernetes."""
    text = json.dumps({"reason": failure.reason, "message": failure.message}, ensure_ascii=False)
    with contextlib.suppress(OSError):
        termination_log.write_text(text, encoding="utf-8")
