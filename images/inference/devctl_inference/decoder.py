"""Decoding in a separate process: hostile data makes decoders crash, hang or exhaust memory.

Limiting the memory of the job's own process would be dangerous: not all decoders in C check their
allocations, and a process killed by a signal cannot tell the user why.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from devctl_inference.failure import Failure, Reason
from devctl_inference.files import MIB

if TYPE_CHECKING:
    from devctl_inference.preprocess import Preprocess

SECONDS = 60.0
MEMORY = 640 * MIB
"""Twice the largest image: as decoded, and in another colour mode."""

_REFUSED = 3
"""The exit code for a failure that standard error describes."""


def prepare(
    data: bytes, preprocess: Preprocess, path: str, seconds: float = SECONDS, memory: int = MEMORY
) -> bytes:
    """Decode an image and scale it: red, green and blue of each pixel, row by row.

    Args:
        data: The file's content.
        preprocess: How to scale it.
        path: The file's name for messages.
        seconds: The limit on time.
        memory: The limit on memory, in bytes.

    Raises:
        Failure: It is not an image, or exceeds a limit.
    """
    words = [path, str(memory), json.dumps(preprocess)]
    code = Path(__file__).parents[1]
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "devctl_inference.decoder", *words],
            input=data,
            capture_output=True,
            check=False,
            timeout=seconds,
            env={**os.environ, "PYTHONPATH": str(code)},
        )
    except subprocess.TimeoutExpired as error:
        message = f"{path} took longer than {seconds:g} s to decode"
        raise Failure(Reason.INPUT_TOO_LARGE, message) from error
    if ended.returncode == _REFUSED:
        reason, message = json.loads(ended.stderr)
        raise Failure(Reason(reason), message)
    height, width = preprocess.size
    if ended.returncode == 0 and len(ended.stdout) == height * width * 3:
        return ended.stdout
    if -ended.returncode == signal.SIGKILL:
        raise Failure(Reason.INPUT_TOO_LARGE, f"{path} needs too much memory to decode")
    how = f"exited with code {ended.returncode}"
    message = f"{path} is damaged or needs too much memory to decode: its decoder {how}"
    raise Failure(Reason.INPUT_INVALID, message)


def main() -> int:
    """The separate process: reads the image from standard input, writes pixels to the output."""
    from devctl_inference import image  # noqa: PLC0415 - the job itself does not need Pillow
    from devctl_inference.preprocess import Preprocess  # noqa: PLC0415

    path, memory, preprocess = sys.argv[1:]
    # Nobody needs a core dump.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    try:
        pixels = image.prepare(sys.stdin.buffer.read(), Preprocess(*json.loads(preprocess)), path)
    except Failure as failure:
        print(json.dumps([failure.reason, failure.message]), file=sys.stderr)  # noqa: T201
        return _REFUSED
    sys.stdout.buffer.write(pixels)
    return 0


if __name__ == "__main__":
    sys.exit(main())
