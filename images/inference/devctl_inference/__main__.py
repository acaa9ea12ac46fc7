"""`python -m devctl_inference`: exits with 0, or with 1 after a failure, which status shows."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from devctl_inference import job, settings
from devctl_inference.failure import Failure, Reason, record

if TYPE_CHECKING:
    from types import FrameType

    from devctl_inference.network import Library

_TERMINATION_LOG = "/dev/termination-log"


def main() -> int:
    """Run the job that the environment describes."""
    # The first process of a container ignores signals without a handler.
    signal.signal(signal.SIGTERM, _end)
    try:
        job.run(settings.read(os.environ), _torch, _say)
    except Failure as failure:
        return _failed(failure)
    except MemoryError:
        return _failed(Failure(Reason.OUT_OF_MEMORY, "not enough memory for the model"))
    except Exception as error:  # noqa: BLE001 - the status shows any error
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        return _failed(Failure(Reason.INFERENCE_FAILED, message))
    return 0


def _failed(failure: Failure) -> int:
    record(failure, Path(os.environ.get("TERMINATION_LOG", _TERMINATION_LOG)))
    print(f"error: {failure.reason}: {failure.message}", file=sys.stderr, flush=True)  # noqa: T201
    return 1


def _say(text: str) -> None:
    # File names are the user's: keep escape sequences away from the log reader's terminal.
    line = "".join(char if char.isprintable() else "?" for char in text)
    print(line, flush=True)  # noqa: T201 - the job's log


def _torch() -> Library:
    from devctl_inference.torch_network import TorchLibrary  # noqa: PLC0415 - takes seconds

    return TorchLibrary()


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
