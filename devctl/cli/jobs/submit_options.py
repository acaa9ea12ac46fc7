"""The options of `devctl submit`."""

from __future__ import annotations

import click

from devctl.cli.egpu.options import whole_seconds
from devctl.cli.options import duration, secrets_option, stacked

what_it_gets = stacked(
    click.option("--name", metavar="NAME", help="Default: the script's, and a suffix."),
    click.option(
        "--gpus",
        type=click.IntRange(1, 8),
        default=1,
        metavar="N",
        help="Number of GPUs.  [default: 1]",
    ),
    click.option(
        "--nodes", type=click.IntRange(1, 64), default=1, metavar="N", help="Pods.  [default: 1]"
    ),
    click.option("--cpu", metavar="N", help="CPU request, for example 4."),
    click.option("--memory", metavar="SIZE", help="Memory, for example 16Gi."),
    click.option("--image", metavar="REF", help="Container image; default: that of servers."),
    click.option("--mount", multiple=True, metavar="CLAIM:PATH[:ro]", help="Mount a claim."),
    click.option("--volume", metavar="SIZE", help="Keep what it writes on a volume."),
)
how_it_runs = stacked(
    click.option(
        "--priority",
        metavar="P",
        type=click.Choice(["low", "normal", "high"]),
        help="low, normal or high.",
    ),
    click.option("--strategy", metavar="NAME", help="How its node is chosen: packed, …"),
    click.option("--queue", metavar="NAME", help="LocalQueue in which it waits for quota."),
    click.option("--retries", type=click.IntRange(0, 10), metavar="N", help="Of a failed attempt."),
    click.option("--timeout", type=duration, metavar="D", help="Longest time of an attempt."),
    click.option("--ttl", type=whole_seconds, metavar="D", help="Keep its ended pods for so long."),
)
what_travels = stacked(
    click.option("-m", "--module", metavar="MODULE", help="A Python module instead of SCRIPT."),
    click.option("--workdir", metavar="DIR", help="Folder to send; default: git repository."),
    click.option("--env", "given", multiple=True, metavar="K=V", help="Environment variable."),
    click.option("--env-file", multiple=True, metavar="FILE", help="Lines NAME=VALUE."),
    click.option("--pull", metavar="DIR", type=click.Path(), help="Fetch what it wrote to DIR."),
    secrets_option,
)
