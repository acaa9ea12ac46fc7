"""Asks nvidia-smi for its table of GPUs."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TIMEOUT = 20.0
"""Seconds: without its daemon, nvidia-smi wakes each GPU first."""


class ToolError(Exception):
    """nvidia-smi did not answer."""


def table(program: str, fields: Iterable[str], shown: Callable[[str], str]) -> str:
    """The GPUs as rows of comma-separated values, without units.

    Args:
        program: nvidia-smi.
        fields: The columns, as `nvidia-smi --help-query-gpu` calls them.
        shown: Makes of its words, if it fails, what people are to read.

    Raises:
        ToolError: It failed, or took too long.
    """
    argv = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            argv, capture_output=True, check=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL
        )
    except subprocess.CalledProcessError as error:
        said = shown(error.stdout.decode("utf-8", "replace").strip())
        raise ToolError(f"nvidia-smi failed: {said or error.returncode}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"nvidia-smi: {type(error).__name__}") from error
    return done.stdout.decode("utf-8", "replace")
