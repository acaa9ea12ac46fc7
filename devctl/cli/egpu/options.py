"""What the commands of `egpu` share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from devctl.cli import names, options
from devctl.cli.options import duration

if TYPE_CHECKING:
    from collections.abc import Callable

_SIZE = re.compile(r"(\d{1,15})([kKMGT]i?)?B?", re.ASCII)

job_name = click.argument("name", metavar="JOB", shell_complete=names.jobs)
"""The argument of a command that is about one job."""

patience = click.option(
    "--timeout", type=duration, metavar="D", help="Give up after so long; else never."
)

loader_image = click.option(
    "--loader-image",
    envvar="EGPU_LOADER_IMAGE",
    metavar="REF",
    default="",
    help="Image of the pod that reaches the volume.",
)


def command(words: str) -> str:
    """A command of egpu to show to a person, for the cluster and namespace that they named."""
    return options.command(words, "egpu")


def seconds(length: int | str | None) -> float | None:
    """How many seconds a duration is; None where there is none."""
    return None if length is None else options.seconds(length)


def whole_seconds(value: int | str) -> int:
    """An option's value that the kind takes as seconds, and people write as `24h`, too."""
    return int(options.seconds(duration(value)))


def size(value: str) -> int:
    """An option's value that is a number of bytes, such as `500M` or `2Gi`.

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


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what can be said of a job."""
    for option in (
        click.option("--command", "words", metavar="CMD", help="Run this in the image instead."),
        click.option("--image", metavar="REF", help="Image of the job."),
        click.option("--pvc-size", metavar="SIZE", help="Size of its volume, for example 1Gi."),
        click.option("--storage-class", metavar="NAME", help="Of its volume; else the default."),
        click.option(
            "--ttl", type=whole_seconds, metavar="S", help="Keep the finished pod for so long."
        ),
        click.option("--gpu", type=click.IntRange(0, 64), metavar="N", help="How many GPUs."),
        click.option(
            "--pvc-ttl", type=whole_seconds, metavar="S", help="Keep the volume for so long."
        ),
        click.option(
            "--model",
            type=click.Choice(["resnet50", "mobilenet_v3_small"]),
            help="What classifies the image.",
        ),
        click.option("--weights-path", metavar="PATH", help="Trained weights, below /artifacts."),
        click.option("--output-path", metavar="PATH", help="Result, below /artifacts."),
        click.option("--input-path", metavar="PATH", help="Image, below /artifacts."),
    ):
        command = option(command)
    return command
