"""vLLM itself on processors: its command, and the sources that its image has installed."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from devctl.api.vllm_run import pod_name

if TYPE_CHECKING:
    from pathlib import Path

    from support.vllm_place import VllmPlace

IMAGE = "vllm-cpu"
SIZE = ("--cpu", "1", "--memory", "6Gi", "--timeout", "15m")
"""Options of a run; three of its processes load PyTorch."""

UP_SECONDS = 900.0
"""The longest time that a run takes to be up on two busy cores."""

_SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"
_BUILT = ("*.so", "__pycache__", "_version.py")
"""What a build makes beside the sources, so that no checkout has it."""


def serve(model: str) -> tuple[str, ...]:
    """The command that serves a small model, as `tiny`."""
    options = ("--dtype", "float32", "--enforce-eager", "--max-model-len", "64")
    return ("vllm", "serve", model, "--served-model-name", "tiny", *options)


def copy_sources(place: VllmPlace, name: str, folder: Path) -> None:
    """Write the sources of the package `vllm`, as the image of a run has it, into a folder."""
    site = place.inside(name, "python3", "-c", _SITE).strip()
    left_out = [f"--exclude={each}" for each in _BUILT]
    kubectl = place.kubectl
    inside = ("-n", place.name, "exec", pod_name(name), "-c", "vllm", "--")
    packed = subprocess.run(
        [
            *(kubectl.program, f"--kubeconfig={kubectl.kubeconfig}", *inside),
            *("tar", "-C", site, *left_out, "-cf", "-", "vllm"),
        ],
        capture_output=True,
        check=True,
    ).stdout
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", folder], check=True, input=packed)
