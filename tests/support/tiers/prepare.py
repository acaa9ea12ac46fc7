"""The tests' cluster of real nodes, with operator, observer and images, before tests need it.

usage: python -m support.tiers.prepare build|up|load|status|reset
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from support.commands import devctl, must
from support.deployment import deploy
from support.sharing import Shared

from devctl.local import apt, build, parts
from devctl.local.paths import cache_paths, cluster_paths

CLUSTER = os.environ.get("DEVCTL_E2E_CLUSTER", "e2e")
LOADED = ("devserver", "inference", "vllm-stand-in")
"""Images that a cluster does without and tests do not."""

PARTS = ("network-policy", "kueue", "oidc", "monitoring", "cache", "dra", "stores", "workers")
"""Its optional parts: what is proved without them holds with them, too."""


def command(action: str) -> list[str]:
    """The command line that does one of it."""
    return [sys.executable, "-m", "support.tiers.prepare", action]


def make_programs_and_images() -> bool:
    """Build everything at once, so that images download while programs compile; if need be."""
    with tempfile.TemporaryDirectory() as folder:
        apt.install_missing(Path(folder) / "packages.log")
    also = [*LOADED, *parts.images_of(map(parts.load_parts().__getitem__, PARTS))]
    return bool(build.ensure_built(cache_paths(), print, also=also).built)


def status() -> int:
    """0 where it is up and well, as `devctl local status` says."""
    return devctl("local", "status", "--name", CLUSTER).returncode


def reset() -> None:
    """Remove the cluster: what a run that was killed has left is nothing of the next one's."""
    if status() != 3:
        must(devctl("local", "reset", "--name", CLUSTER, "--confirm", CLUSTER))


def bring_up() -> None:
    """Bring it up, or heal it."""
    must(devctl("local", "up", "--name", CLUSTER, "--with", ",".join(PARTS)))


def install() -> None:
    """Deploy what this checkout holds."""
    deploy(cluster_paths(CLUSTER), build.describe(cache_paths())[1])


def load(image: str) -> None:
    """Bring an image that `up` does without into the cluster."""
    must(devctl("local", "load", image, "--name", CLUSTER))


def up() -> None:
    """The cluster with what this checkout holds, once for all processes of a run."""
    shared = Shared(Path(os.environ["DEVCTL_E2E_RUN"]))
    shared.once(bring_up)
    shared.once(install)


def load_all() -> None:
    """Its large images, once for all processes of a run."""
    shared = Shared(Path(os.environ["DEVCTL_E2E_RUN"]))
    for image in LOADED:
        shared.once(load, image, name=f"load-{image}")


def main() -> None:
    """Do one of it."""
    actions = {
        "build": make_programs_and_images,
        "up": up,
        "load": load_all,
        "status": status,
        "reset": reset,
    }
    result = actions[sys.argv[1]]()
    sys.exit(result if sys.argv[1] == "status" else 0)


if __name__ == "__main__":
    main()
