"""`devctl local load`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from devctl.cli.local.group import name_option
from devctl.errors import HostError
from devctl.local import build, machine, steps, supervisor
from devctl.local.cluster import existing
from devctl.local.node_images import export_image, import_archive, import_missing
from devctl.local.paths import cache_paths


@click.command()
@click.argument("image")
@name_option
def load(image: str, name: str) -> None:
    """Load an image into every node: an archive, one of docker, podman or buildah, or our own.

    \b
    Examples:
      devctl local load devserver        # devctl's own, built first if need be
      devctl local load my-image.tar
      devctl local load company/pytorch-dev:1.4
    """
    machine.check_caller()
    settings, paths = existing(name)
    if supervisor.running_pid(paths) is None:
        raise HostError(f"cluster `{name}` is not up", "start it with `devctl local up`")
    groups, images = build.describe(cache_paths())
    ctr = steps.PROGRAMS_IN_NODE / groups["containerd"].folder(cache_paths()).name / "ctr"
    if image in images:
        build.ensure_built(cache_paths(), click.echo, also={image})
        for node in settings.nodes:
            import_missing(paths.node(node.name), [images[image]], str(ctr), cache_paths())
            click.echo(f"{node.name}: `{images[image].reference}` is there")
        return
    with tempfile.TemporaryDirectory(dir=paths.root) as temporary:
        archive = Path(image)
        if not archive.is_file():
            archive = Path(temporary) / "image.tar"
            export_image(image, archive)
        for node in settings.nodes:
            import_archive(paths.node(node.name), archive, str(ctr))
            click.echo(f"{node.name}: `{image}` loaded")
