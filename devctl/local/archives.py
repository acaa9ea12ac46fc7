"""`make docker-build`, `make docker` and `make build-…`: build images, and print where they are.

usage: python -m devctl.local.archives [IMAGE...]
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.errors import DevctlError, UsageError
from devctl.local import build
from devctl.local.deploy import EVERYWHERE
from devctl.local.paths import cache_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl.local.images import Image
    from devctl.local.paths import CachePaths


def built(cache: CachePaths, names: Sequence[str]) -> Mapping[str, Image]:
    """Build images as far as they are missing, and return those.

    Raises:
        UsageError: There is no image of that name.
        StepError: A build failed.
        HostError: A cached file is corrupt.
    """
    known = build.describe(cache)[1]
    for name in names:
        if name not in known or not known[name].pods:
            there = ", ".join(f"`{image.name}`" for image in known.values() if image.pods)
            raise UsageError(f"there is no image `{name}` that pods use", f"name one of {there}")
    images = build.ensure_images(cache, lambda line: click.echo(line, err=True), names)
    return {name: images[name] for name in names}


def main(names: Sequence[str]) -> None:
    """Build what is missing; an archive is what `docker load --input` takes."""
    cache = cache_paths()
    try:
        images = built(cache, names or EVERYWHERE)
    except DevctlError as error:
        for line in error.lines():
            click.echo(line, err=True)
        sys.exit(error.exit_code)
    for image in images.values():
        click.echo(f"{image.reference} {image.archive(cache)}")


if __name__ == "__main__":
    main(sys.argv[1:])
