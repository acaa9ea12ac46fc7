"""Importing images into the nodes' containerd."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from devctl.errors import NotFoundError, StepError
from devctl.local import checksums
from devctl.local.commands import capture
from devctl.local.namespaces import enter

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from devctl.local.images import Image
    from devctl.local.paths import CachePaths, NodePaths


def import_missing(
    node: NodePaths, images: Iterable[Image], ctr: str, cache: CachePaths
) -> list[str]:
    """Import images that the node lacks or has with other content; returns their references.

    `ctr` is the path of containerd's client in the node.

    Raises:
        HostError: An archive is corrupt.
        StepError: containerd refused one.
    """
    have = _recorded(node)
    missing = [i for i in images if i.pods and have.get(i.reference) != i.digest]
    for image in missing:
        checksums.verify(image.archive_folder(cache))
        import_archive(node, image.archive(cache), ctr)
        for alias in image.aliases:  # even if another image has it
            tag = [ctr, "--namespace", "k8s.io", "images", "tag", "--force", image.reference, alias]
            capture([*enter(node), *tag], what=f"name `{image.reference}` `{alias}` in a node")
        have[image.reference] = image.digest
        node.imported.write_text(json.dumps(have, indent=2, sort_keys=True))
    return [image.reference for image in missing]


def import_archive(node: NodePaths, archive: Path, ctr: str) -> None:
    """Import one docker or OCI archive.

    With `--local`, only layers that containerd lacks are sent to it, and not all of them.
    """
    command = [ctr, "--namespace", "k8s.io", "images", "import", "--local", "-"]
    with archive.open("rb") as source:
        what = f"import `{archive.name}` into a node"
        capture([*enter(node), *command], what=what, stdin=source)


def wait_for_containerd(node: NodePaths, ctr: str, seconds: float = 30.0) -> None:
    """Wait until the node's containerd answers; raises StepError after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = subprocess.run([*enter(node), ctr, "version"], capture_output=True, check=False)
        if answer.returncode == 0:
            return
        if time.monotonic() > deadline:
            raise StepError("containerd does not answer", "read its log with `devctl local logs`")
        time.sleep(0.1)


def _recorded(node: NodePaths) -> dict[str, str]:
    try:
        recorded: dict[str, str] = json.loads(node.imported.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return recorded


def export_image(reference: str, target: Path) -> None:
    """Archive an image of docker, podman or buildah; raises NotFoundError if none has it."""
    attempts = {
        "docker": ["docker", "save", "--output", str(target), reference],
        "podman": ["podman", "save", "--output", str(target), reference],
        "buildah": ["buildah", "push", reference, f"docker-archive:{target}:{reference}"],
    }
    for program, command in attempts.items():
        if shutil.which(program):
            result = subprocess.run(command, capture_output=True, check=False)
            if result.returncode == 0:
                return
            target.unlink(missing_ok=True)
    raise NotFoundError(
        f"no image `{reference}` on this machine",
        "build it with docker, podman or buildah first, or give an archive's path",
    )
