"""Decoding in a process of its own: hostile data makes decoders crash, hang or fill the memory.

A bound on memory within the job's own process would itself be a danger: decoders written in C do
not all look at what they are given, and an end by a signal tells the job's user nothing.
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
"""Twice the largest image: once as it is, once in other colours."""

_REFUSED = 3
"""The exit code with which the failure's words come."""


def prepare(
    data: bytes, preprocess: Preprocess, path: str, seconds: float = SECONDS, memory: int = MEMORY
) -> bytes:
    """Decode an image and scale it: red, green and blue of each pixel, row by row.

    Args:
        data: The file's content.
        preprocess: How it is scaled.
        path: What it is called.
        seconds: How long that may take.
        memory: Bytes that it may take.

    Raises:
        Failure: It is no image, or one that takes too much.
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
        message = f"{path} takes longer than {seconds:g} s to decode"
        raise Failure(Reason.INPUT_TOO_LARGE, message) from error
    if ended.returncode == _REFUSED:
        reason, message = json.loads(ended.stderr)
        raise Failure(Reason(reason), message)
    height, width = preprocess.size
    if ended.returncode == 0 and len(ended.stdout) == height * width * 3:
        return ended.stdout
    if -ended.returncode == signal.SIGKILL:
        raise Failure(Reason.INPUT_TOO_LARGE, f"{path} takes too much memory to decode")
    how = f"ended with code {ended.returncode}"
    message = f"{path} is damaged or takes too much memory to decode: its decoder {how}"
    raise Failure(Reason.INPUT_INVALID, message)


def main() -> int:
    """Be that process: the image comes on standard input, its pixels go to standard output."""
    from devctl_inference import image  # noqa: PLC0415 - the job itself needs no Pillow
    from devctl_inference.preprocess import Preprocess  # noqa: PLC0415

    path, memory, preprocess = sys.argv[1:]
    # A core of a job's memory would be of no use to anybody.
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
