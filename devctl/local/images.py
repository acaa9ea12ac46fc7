"""What the local cluster's images are made of, read from images/*/image.json.

An image.json holds:

- ``name``: the repository's last part, ``localhost/devctl/<name>``.
- ``base``: the image that ``ARG BASE`` stands for, by name; absent for ``FROM scratch``.
- ``context``: paths of this repository that the Containerfile copies, at the same relative path.
- ``programs``: program group to program names; each is staged as ``bin/<program>``.
- ``args``: further build arguments.
- ``version``: a fixed tag, where kubeadm or people's manifests name one; otherwise the tag is the
  content's hash.
- ``bootstrap``: suite and packages of a Debian root, staged as ``base.tar``.
- ``aliases``: further full references under which the nodes have it.
- ``pods``: false where no pod uses it; it gets no archive and is not imported into the nodes then.
- ``up``: false where `devctl local up` does without it; `devctl local load NAME` brings it.
- ``variants``: several images from one Containerfile; each entry overrides the keys above.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from devctl.errors import DevctlError
from devctl.local.paths import REPOSITORY, CachePaths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from devctl.local.programs import ProgramGroup

REGISTRY = "localhost/devctl"


@dataclass(frozen=True)
class Image:
    """One image and everything that decides its content."""

    name: str
    folder: Path
    base: str | None = None
    context: tuple[str, ...] = ()
    programs: Mapping[str, list[str]] = field(default_factory=dict)
    args: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    bootstrap: Mapping[str, Any] | None = None
    aliases: tuple[str, ...] = ()
    """Further names; they say nothing about its content."""
    pods: bool = True
    """Whether pods use it, so that every node gets it."""
    up: bool = True
    """Whether every cluster has it, or those only into which it is loaded."""
    digest: str = ""
    """Hash of all inputs, the base's and the programs' included."""

    @property
    def reference(self) -> str:
        """The name that manifests use."""
        return f"{REGISTRY}/{self.name}:{self.version or self.digest}"

    @property
    def key(self) -> str:
        """A name for files that changes with the content."""
        return f"{self.name}-{self.digest}"

    def archive_folder(self, cache: CachePaths) -> Path:
        """Where the image lies as an archive, with its checksum."""
        return cache.images / self.key

    def archive(self, cache: CachePaths) -> Path:
        """The image as a docker archive."""
        return self.archive_folder(cache) / "image.tar"


def load_images(
    groups: Mapping[str, ProgramGroup], repository: Path = REPOSITORY
) -> dict[str, Image]:
    """Every image under images/, by name, bases before what is built on them.

    Raises:
        DevctlError: A base that no image.json names, or bases in a circle.
    """
    waiting = [
        Image(**{**common, **variant, "folder": manifest.parent})
        for manifest in sorted(repository.glob("images/*/image.json"))
        for common, variants in [_split(json.loads(manifest.read_text()))]
        for variant in variants
    ]
    images: dict[str, Image] = {}
    while waiting:
        ready = [image for image in waiting if image.base is None or image.base in images]
        if not ready:
            raise DevctlError(f"image `{waiting[0].name}` has an unknown base `{waiting[0].base}`")
        for image in ready:
            waiting.remove(image)
            base = images[image.base].digest if image.base else ""
            digest = content_digest(image, base, groups, repository)
            images[image.name] = Image(**{**vars(image), "digest": digest})
    return images


def content_digest(
    image: Image, base_digest: str, groups: Mapping[str, ProgramGroup], repository: Path
) -> str:
    """Hash of everything that goes into an image: twelve hex digits."""
    digest = hashlib.sha256()
    digest.update((image.folder / "Containerfile").read_bytes())
    programs = {group: [groups[group].digest, *names] for group, names in image.programs.items()}
    made_of = [image.name, image.version, base_digest, programs, dict(image.args), image.bootstrap]
    digest.update(json.dumps(made_of, sort_keys=True).encode())
    for path in context_files(image, repository):
        mode = "x" if path.stat().st_mode & 0o100 else "-"
        digest.update(f"{path.relative_to(repository)} {mode} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def context_files(image: Image, repository: Path) -> Iterator[Path]:
    """The files that an image copies from the repository, sorted; Python's caches are left out."""
    for entry in image.context:
        path = repository / entry
        if path.is_file():
            yield path
        else:
            yield from sorted(
                p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts
            )


def _split(manifest: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    variants = manifest.pop("variants", [{}])
    return manifest, variants
