"""Asks nvidia-smi, which NVIDIA's container runtime puts into the container."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from devctl_gpu_worker_agent.gpus import FIELDS, Card, of_table
from devctl_gpu_worker_agent.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable

_TIMEOUT = 20.0
"""Seconds: without its daemon, nvidia-smi wakes each GPU first."""


class ToolError(Exception):
    """nvidia-smi did not answer."""


def tool() -> Callable[[], list[Card]] | None:
    """What asks for the GPUs; None where there is no nvidia-smi."""
    program = shutil.which("nvidia-smi")
    return None if program is None else lambda: of_table(ask(program))


def ask(program: str) -> str:
    """nvidia-smi's table of GPUs.

    Raises:
        ToolError: It failed, or took too long.
    """
    argv = [program, f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            argv, capture_output=True, check=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL
        )
    except subprocess.CalledProcessError as error:
        said = clean(error.stdout.decode("utf-8", "replace").strip())
        raise ToolError(f"nvidia-smi failed: {said or error.returncode}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"nvidia-smi: {type(error).__name__}") from error
    return done.stdout.decode("utf-8", "replace")
