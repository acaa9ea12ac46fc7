"""Building images with buildah: no daemon, no registry, a store of our own."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.local import apt, checksums
from devctl.local.commands import capture, run_logged
from devctl.local.images import REGISTRY
from devctl.local.paths import REPOSITORY, CachePaths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.local.images import Image
    from devctl.local.programs import ProgramGroup

# How this host reaches its registries: a company's certificate authority; pip's and npm's index and
# proxy. They are mounted into builds, and not part of images.
_CLIENT_SETTINGS = (
    Path("/etc/ssl/certs/ca-certificates.crt"),
    Path("/etc/pip.conf"),
    Path("/etc/npmrc"),
    Path("/root/.npmrc"),
)


def buildah(cache: CachePaths) -> list[str | Path]:
    """The command and the options that select our own store."""
    return [
        *("buildah", "--storage-driver", "overlay"),
        *("--root", cache.buildah / "root", "--runroot", cache.buildah / "run"),
    ]


def build_image(
    image: Image, base: Image | None, groups: Mapping[str, ProgramGroup], cache: CachePaths
) -> None:
    """Build an image and, if pods use it, store it as an archive with its checksum.

    The archive's folder gets its final name only when it is complete.

    Raises:
        StepError: The build failed; names the log.
        HostError: A cached program that goes into it is corrupt.
    """
    log = cache.logs / f"image-{image.name}.log"
    folder = image.archive_folder(cache)
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=cache.images, prefix=".context-") as temporary:
        context = Path(temporary)
        _stage(image, groups, cache, context, log)
        arguments = {**image.args, **({"BASE": base.reference} if base else {})}
        run_logged(
            [
                *buildah(cache),
                *("bud", "--isolation", "chroot", "--pull-never", "--tag", image.reference),
                *(f"--volume={path}:{path}:ro" for path in _CLIENT_SETTINGS if path.is_file()),
                *(f"--build-arg={key}={value}" for key, value in arguments.items()),
                *("--file", image.folder / "Containerfile", context),
            ],
            log,
            what=f"build image `{image.name}`",
            env={**os.environ, "BUILDAH_FORMAT": "docker"},
        )
    if not image.pods:  # it is used from buildah's store only
        partial.rmdir()
        return
    run_logged(
        [
            *(*buildah(cache), "push", image.reference),
            f"docker-archive:{partial}/image.tar:{image.reference}",
        ],
        log,
        what=f"store image `{image.name}`",
    )
    checksums.write_sums(partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def unpack(image: Image, cache: CachePaths) -> Path:
    """The folder with the image's root file system, unpacked on first use."""
    target = cache.node_roots / image.key
    if target.is_dir():
        return target
    log = cache.logs / f"image-{image.name}.log"
    partial = target.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    what = f"unpack image `{image.name}`"
    container = capture(
        [*buildah(cache), "from", "--pull-never", image.reference], what=what
    ).strip()
    try:
        mounted = capture([*buildah(cache), "mount", container], what=what).strip()
        run_logged(["cp", "--archive", f"{mounted}/.", partial], log, what=what)
    finally:
        run_logged([*buildah(cache), "rm", container], log, what=what)
    partial.rename(target)
    return target


def has_layers(image: Image, cache: CachePaths) -> bool:
    """Whether buildah's store has the image, so that others can be built on it."""
    return image.reference in _stored(cache)


def _stored(cache: CachePaths) -> list[str]:
    command = [*buildah(cache), "images", "--format", "{{.Name}}:{{.Tag}}"]
    return capture(command, what="list buildah's images").split()


def forget_others(images: Mapping[str, Image], cache: CachePaths) -> None:
    """Remove images and archives that no current image.json describes, and dangling layers."""
    current = {image.reference for image in images.values()}
    for reference in _stored(cache):
        if reference.startswith(f"{REGISTRY}/") and reference not in current:
            what = f"remove image `{reference}`"
            run_logged([*buildah(cache), "rmi", reference], cache.logs / "images.log", what=what)
    kept = {image.key for image in images.values()}
    for folder in cache.images.iterdir():
        if folder.name not in kept:
            shutil.rmtree(folder)


def _stage(
    image: Image, groups: Mapping[str, ProgramGroup], cache: CachePaths, context: Path, log: Path
) -> None:
    """Fill the build context: files of the repository, programs, a Debian root."""
    for entry in image.context:
        source, target = REPOSITORY / entry, context / entry
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    for group, names in image.programs.items():
        folder = groups[group].folder(cache)
        checksums.verify(folder, names)
        (context / "bin").mkdir(exist_ok=True)
        for name in names:
            shutil.copy2(folder / name, context / "bin" / name)
    if image.bootstrap:
        suite, include = image.bootstrap["suite"], image.bootstrap["include"]
        apt.make_root(context / "base.tar", suite, include, log)
