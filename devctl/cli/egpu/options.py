"""Arguments and options that commands of `egpu` share."""

from __future__ import annotations

import re

import click

from devctl.cli import names, options

_SIZE = re.compile(r"(\d{1,15})([kKMGT]i?)?B?", re.ASCII)

job_name = click.argument("name", metavar="JOB", shell_complete=names.jobs)

patience = click.option(
    "--timeout", type=options.seconds, metavar="D", help="Limit of the wait; default: none."
)

loader_image = click.option(
    "--loader-image",
    envvar="EGPU_LOADER_IMAGE",
    metavar="REF",
    default="",
    help="Image of the pod that mounts the volume.",
)


def command(words: str) -> str:
    """An `egpu` command to show, with the cluster and namespace that the user named."""
    return options.command(words, "egpu")


def whole_seconds(value: int | str) -> int:
    """The value of an option in whole seconds, which may be written as `24h`."""
    return int(options.seconds(value))


def size(value: str) -> int:
    """The value of an option that is a size, such as `500M` or `2Gi`, in bytes.

    >>> size("500"), size("2Ki"), size("1GB")
    (500, 2048, 1000000000)
    """
    match = _SIZE.fullmatch(value)
    if match is None or not int(match[1]):
        raise click.BadParameter(f"`{value}` is not a size: write bytes, or `500M`, `2Gi`")
    unit = match[2] or ""
    step = 1024 if unit.endswith("i") else 1000
    power: int = " KMGT".index(unit[0].upper()) if unit else 0
    return int(int(match[1]) * step**power)
