"""`k8shazgpu vllm replay`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected, dry_run_option
from devctl.cli.results import Results, changes
from devctl.cli.vllm.after import check_output, see_to
from devctl.cli.vllm.options import run_name
from devctl.cli.vllm.run_options import follow_option
from devctl.cli.waiting import waits

if TYPE_CHECKING:
    from devctl.client.client import Client


@click.command()
@run_name
@click.option("--name", "new", metavar="NEW", help="Default: the run's, and a suffix.")
@follow_option
@waits
@dry_run_option
@changes("vllmrun")
@connected
def replay(
    client: Client,
    name: str,
    new: str | None,
    results: Results,
    dry_run: str,
    *,
    follow: bool,
    wait: bool,
) -> None:
    """Run the same again: the same command, image and GPUs, on the very same state of a checkout.

    What has changed in the checkout since then has no part in it. The run may have ended, but not
    have been deleted.

    \b
    Examples:
      k8shazgpu vllm replay my-demo --name my-demo-again
      k8shazgpu vllm replay my-demo --follow
    """
    from devctl.client.runs.command import new_name  # noqa: PLC0415 - heavy
    from devctl.client.vllm.replay import replayed  # noqa: PLC0415
    from devctl.client.vllm.run import VLLMRun  # noqa: PLC0415

    check_output(results, follow=follow)
    runs = client.vllm_runs
    found, new = runs.get(name), new or new_name(name)
    if dry_run == "client":
        made = VLLMRun(replayed(found, new))
    else:
        made = runs.replay(found, new, dry_run=dry_run == "server")
    see_to(client, made, results, dry_run, follow=follow, wait=wait)
