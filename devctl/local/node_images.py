"""Bringing images into the nodes' containerd."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from devctl.errors import NotFoundError, StepError
from devctl.local import checksums
from devctl.local.commands import explain
from devctl.local.namespaces import enter

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from devctl.local.images import Image
    from devctl.local.paths import CachePaths, NodePaths


def import_missing(
    node: NodePaths, images: Iterable[Image], ctr: str, cache: CachePaths
) -> list[str]:
    """Import the images that the node does not have in their current content.

    Args:
        node: The node.
        images: The wanted images.
        ctr: The path of containerd's client inside the node.
        cache: Where the archives lie.

    Returns:
        The references that were imported.

    Raises:
        HostError: An archive is corrupt.
        StepError: containerd refused one.
    """
    have = _recorded(node)
    missing = [i for i in images if i.pods and have.get(i.reference) != i.digest]
    for image in missing:
        checksums.verify(image.archive_folder(cache))
        import_archive(node, image.archive(cache), ctr)
        for alias in image.aliases:
            tag_image(node, image.reference, alias, ctr)
        have[image.reference] = image.digest
        node.imported.write_text(json.dumps(have, indent=2, sort_keys=True))
    return [image.reference for image in missing]


def tag_image(node: NodePaths, reference: str, alias: str, ctr: str) -> None:
    """Give an image that a node has another name, which may have been another's.

    Raises:
        StepError: containerd refused it.
    """
    command = [ctr, "--namespace", "k8s.io", "images", "tag", "--force", reference, alias]
    result = subprocess.run([*enter(node), *command], capture_output=True, text=True, check=False)
    if result.returncode:
        what = f"name `{reference}` `{alias}` in a node"
        raise StepError(*explain(what, result.returncode, result.stderr, None))


def import_archive(node: NodePaths, archive: Path, ctr: str) -> None:
    """Import one docker or OCI archive.

    `--local` sends containerd the layers that it lacks; its transfer service has all of them sent.

    Raises:
        StepError: containerd refused it.
    """
    with archive.open("rb") as source:
        result = subprocess.run(
            [*enter(node), ctr, "--namespace", "k8s.io", "images", "import", "--local", "-"],
            stdin=source,
            capture_output=True,
            text=True,
            check=False,
        )
    if result.returncode:
        what = f"import `{archive.name}` into a node"
        raise StepError(*explain(what, result.returncode, result.stderr, None))


def wait_for_containerd(node: NodePaths, ctr: str, seconds: float = 30.0) -> None:
    """Wait until the node's containerd answers.

    Raises:
        StepError: It does not.
    """
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
    """Write an image of the host's docker, podman or buildah store to an archive.

    Raises:
        NotFoundError: None of them has it.
    """
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
