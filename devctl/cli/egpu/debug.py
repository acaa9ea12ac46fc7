"""`egpu debug`."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import job_name, loader_image
from devctl.cli.egpu.screen import moving
from devctl.cli.options import connected

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.files.remote import Place


@click.command()
@job_name
@click.option("--keep", is_flag=True, help="Leave the pod running.")
@loader_image
@connected
def debug(client: Client, name: str, loader_image: str, *, keep: bool) -> int:
    """Create a pod with a job's volume at /mnt and, on a terminal, open a shell in it.

    Without a terminal, the pod is kept until Ctrl-C; with --keep, the command ends at once. A pod
    that is left running ends by itself after 8 hours.

    \b
    Examples:
      egpu debug my-job
      egpu debug my-job --keep
    """
    ready = False
    with moving(name, loader_image) as (pod, _):
        # A pod that does not start is not worth keeping.
        pod["keep"] = lambda: keep and ready
        with client.jobs.files.debug(name, **pod) as place:
            ready = True
            click.echo(f"kubectl exec -it {place.pod} -n {place.namespace} -- sh")
            if sys.stdin.isatty() and sys.stdout.isatty():
                return _shell(client, place)
            return 0 if keep else _wait(place.pod)


def _wait(pod: str) -> int:
    click.echo(f"pod {pod} is kept until Ctrl-C", err=True)
    threading.Event().wait()
    return 0


def _shell(client: Client, place: Place) -> int:
    """Run a shell in the pod; returns its exit code."""
    from devctl.client.streams import stdio  # noqa: PLC0415 - heavy
    from devctl.kube.pod_streams import open_exec  # noqa: PLC0415

    pod, namespace = place.pod, place.namespace
    stream = open_exec(
        client.cluster, pod, ["sh"], namespace, container=place.container, stdin=True, tty=True
    )
    source, output = sys.stdin.fileno(), sys.stdout.fileno()
    return stdio.drain_terminal(stream, source, output, lambda data: stdio.write(2, data))
