"""Asks nvidia-smi, which NVIDIA's container runtime puts into the container."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from devctl.agents.nvidia_smi import table
from devctl_gpu_worker_agent.gpus import FIELDS, Card, of_table
from devctl_gpu_worker_agent.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable


def tool() -> Callable[[], list[Card]] | None:
    """What asks for the GPUs; None where there is no nvidia-smi."""
    program = shutil.which("nvidia-smi")
    return None if program is None else lambda: of_table(ask(program))


def ask(program: str) -> str:
    """nvidia-smi's table of GPUs, with the columns FIELDS; raises ToolError."""
    return table(program, FIELDS, clean)
