"""The options of `k8shazgpu vllm run`."""

from __future__ import annotations

import click

from devctl.cli.egpu.options import whole_seconds
from devctl.cli.options import duration, sends, stacked

follow_option = click.option("-f", "--follow", is_flag=True, help="Print its output until it ends.")
what_it_runs = stacked(
    click.option("--name", metavar="NAME", help="Default: vllm, and a suffix."),
    click.option("--image", metavar="REF", help="Container image."),
    click.option("--image-name", metavar="NAME", help="Name of an image in the CachePlan."),
    click.option("--repo-name", metavar="NAME", help="Name of a repository in the CachePlan."),
    click.option("--skip-cache-check", is_flag=True, help="Do not look at caches first."),
)
what_travels = stacked(
    click.option("--checkout", metavar="DIR", help="A git checkout; default: vLLM's, if in one."),
    click.option("--without-changes", is_flag=True, help="Run the image alone, in no checkout."),
    sends,
)
what_it_gets = stacked(
    click.option(
        "--gpus", type=click.IntRange(1, 16), metavar="N", help="Number of GPUs.  [default: 1]"
    ),
    click.option("--gpu-ids", metavar="N,...", help="Which ones, by their numbers: 0,2."),
    click.option("--prefer-node", metavar="NODE", help="Use it if it has room."),
    click.option("--cpu", metavar="N", help="CPU request, for example 4."),
    click.option("--memory", metavar="SIZE", help="Memory, for example 16Gi."),
    click.option("--env", "given", multiple=True, metavar="K=V", help="Environment variable."),
    click.option("--env-file", multiple=True, metavar="FILE", help="Lines NAME=VALUE."),
    click.option(
        "--secret", multiple=True, metavar="NAME[:KEY[=VAR]]", help="Secret, as variables."
    ),
)
how_it_runs = stacked(
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8000,
        metavar="N",
        help="Where it serves; 0: nowhere.  [default: 8000]",
    ),
    click.option("--timeout", type=duration, metavar="D", help="It fails if not started after D."),
    click.option("--ttl", type=whole_seconds, metavar="D", help="Keep its ended pod for D."),
    follow_option,
)
