"""The local cluster's images and their inputs, read from images/*/image.json.

An image.json holds:

- ``name``: the repository's last part, ``localhost/devctl/<name>``.
- ``base``: the image that ``ARG BASE`` stands for, by name; absent for ``FROM scratch``.
- ``context``: paths of this repository that the Containerfile copies, at the same relative path.
- ``programs``: program group to program names; each is staged as ``bin/<program>``.
- ``args``: further build arguments.
- ``version``: a fixed tag, if kubeadm or users' manifests name one; otherwise the tag is the
  content's hash.
- ``bootstrap``: suite and packages of a Debian root, staged as ``base.tar``.
- ``aliases``: further full references that the nodes know it by.
- ``pods``: false if no pod uses it: then it has no archive and is not imported into nodes.
- ``up``: false if `devctl local up` does not need it; `devctl local load NAME` loads it.
- ``variants``: several images from one Containerfile; each entry overrides the keys above.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
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
    """Further names, which are not part of its digest."""
    pods: bool = True
    """Whether pods use it, and nodes get it."""
    up: bool = True
    """Whether every cluster has it, or only those that it was loaded into."""
    digest: str = ""
    """Hash of all inputs, including the base's and the programs'."""

    @property
    def reference(self) -> str:
        """The name that manifests use."""
        return f"{REGISTRY}/{self.name}:{self.version or self.digest}"

    @property
    def key(self) -> str:
        """A file name that changes with the content."""
        return f"{self.name}-{self.digest}"

    def archive_folder(self, cache: CachePaths) -> Path:
        """The folder of the image's archive and its checksum."""
        return cache.images / self.key

    def archive(self, cache: CachePaths) -> Path:
        """The image as a docker archive."""
        return self.archive_folder(cache) / "image.tar"


def load_images(
    groups: Mapping[str, ProgramGroup], repository: Path = REPOSITORY
) -> dict[str, Image]:
    """Every image under images/, by name, bases first; raises DevctlError for an unknown base."""
    waiting: list[Image] = []
    for manifest in sorted(repository.glob("images/*/image.json")):
        common = json.loads(manifest.read_text())
        variants = common.pop("variants", [{}])
        waiting += (Image(**{**common, **each, "folder": manifest.parent}) for each in variants)
    images: dict[str, Image] = {}
    while waiting:
        ready = [image for image in waiting if image.base is None or image.base in images]
        if not ready:
            raise DevctlError(f"image `{waiting[0].name}` has an unknown base `{waiting[0].base}`")
        for image in ready:
            waiting.remove(image)
            base = images[image.base].digest if image.base else ""
            digest = content_digest(image, base, groups, repository)
            images[image.name] = replace(image, digest=digest)
    return images


def content_digest(
    image: Image, base_digest: str, groups: Mapping[str, ProgramGroup], repository: Path
) -> str:
    """Hash of an image's inputs: twelve hex digits."""
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
    """The files that an image copies from the repository, sorted, without Python's caches."""
    for entry in image.context:
        path = repository / entry
        if path.is_file():
            yield path
        else:
            yield from sorted(
                p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts
            )
