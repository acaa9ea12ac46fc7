"""`make docker-build`: build the images that run in any cluster, and print where they are."""

from __future__ import annotations

import sys

import click

from devctl.errors import DevctlError
from devctl.local import build
from devctl.local.deploy import EVERYWHERE
from devctl.local.paths import cache_paths


def main() -> None:
    """Build what is missing; an archive is what `docker load --input` takes."""
    cache = cache_paths()
    try:
        images = build.ensure_built(cache, click.echo).images
    except DevctlError as error:
        for line in error.lines():
            click.echo(line, err=True)
        sys.exit(error.exit_code)
    for name in EVERYWHERE:
        click.echo(f"{images[name].reference} {images[name].archive(cache)}")


if __name__ == "__main__":
    main()
