"""`make push`: build images, and push them to a registry that a cluster can pull from.

usage: python -m devctl.local.push IMAGE...

The environment has REGISTRY, such as `registry.example.com/devctl`, and TLS_VERIFY=false for one
without TLS. `docker login`, `podman login` and `buildah login` say who may push.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from devctl.errors import DevctlError, UsageError
from devctl.local.archives import built
from devctl.local.buildah import buildah
from devctl.local.commands import capture, run_logged
from devctl.local.paths import cache_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl.local.images import Image
    from devctl.local.paths import CachePaths

_REGISTRY = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*/?")
_EXAMPLE = "name one that the cluster can pull from: `make push REGISTRY=registry.example.com/team`"


def registry_of(environment: Mapping[str, str]) -> str:
    """The registry, and perhaps a path in it, without a slash at the end.

    >>> registry_of({"REGISTRY": "registry.example.com:5000/team/"})
    'registry.example.com:5000/team'

    Raises:
        UsageError: None is named, or it is no registry's name.
    """
    named = environment.get("REGISTRY", "")
    if not named:
        raise UsageError("no registry is named", _EXAMPLE)
    if not _REGISTRY.fullmatch(named):
        raise UsageError(f"`{named}` is no registry: it has no scheme and no tag", _EXAMPLE)
    return named.removesuffix("/")


def tls_of(environment: Mapping[str, str]) -> bool:
    """Whether the registry's certificate is checked; raises UsageError if that is unclear."""
    said = environment.get("TLS_VERIFY", "") or "true"
    if said not in {"true", "false"}:
        raise UsageError(f"TLS_VERIFY is `{said}`", "set it to `true` or `false`")
    return said == "true"


def destination(image: Image, registry: str) -> str:
    """What an image is called in a registry: by its name, and the hash of what it is made of."""
    return f"{registry}/{image.name}:{image.version or image.digest}"


def push(image: Image, target: str, cache: CachePaths, *, tls: bool) -> None:
    """Push an image that is built.

    Raises:
        StepError: The registry refuses it; names the log.
    """
    what, log = f"push image `{image.name}` to {target}", cache.logs / f"push-{image.name}.log"
    # The store may have lost it: the archive is what lasts.
    archive = f"docker-archive:{image.archive(cache)}"
    stored = capture([*buildah(cache), "pull", "--quiet", archive], what=what).split()[-1]
    options = [] if tls else ["--tls-verify=false"]
    run_logged([*buildah(cache), "push", *options, stored, f"docker://{target}"], log, what=what)


def main(names: Sequence[str]) -> None:
    """Build and push; print each image's name and what the registry calls it."""
    cache = cache_paths()
    try:
        registry, tls = registry_of(os.environ), tls_of(os.environ)
        for name, image in built(cache, names).items():
            target = destination(image, registry)
            push(image, target, cache, tls=tls)
            click.echo(f"{name} {target}")
    except DevctlError as error:
        for line in error.lines():
            click.echo(line, err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main(sys.argv[1:])
