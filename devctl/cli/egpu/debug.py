"""`egpu debug`."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import job_name, loader_image
from devctl.cli.egpu.screen import shown
from devctl.cli.options import connected

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.jobs.loader import VolumePlace


@click.command()
@job_name
@click.option("--keep", is_flag=True, help="Leave the pod when the command ends.")
@loader_image
@connected
def debug(client: Client, name: str, loader_image: str, *, keep: bool) -> int:
    """Make a pod with a job's volume at /mnt, and open a shell in it on a terminal.

    Off a terminal the pod stays until Ctrl-C; with --keep the command ends at once. A pod that is
    left ends by itself after 8 hours.

    \b
    Examples:
      egpu debug my-job
      egpu debug my-job --keep
    """
    ready = False
    with shown(name, loader_image) as pod:
        # Whoever asks for a pod that stays wants one that runs.
        pod["keep"] = lambda: keep and ready
        with client.jobs.files.debug(name, **pod) as place:
            ready = True
            words = f"kubectl exec -it {place.pod} -n {place.namespace} -- sh"
            click.echo(words)
            if keep and not _on_terminal():
                return 0
            return _shell(client, place) if _on_terminal() else _wait(place.pod)


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _wait(pod: str) -> int:
    click.echo(f"pod {pod} is there until Ctrl-C", err=True)
    threading.Event().wait()
    return 0


def _shell(client: Client, place: VolumePlace) -> int:
    """A shell in the pod; its exit code."""
    from devctl.client.streams import stdio  # noqa: PLC0415 - heavy
    from devctl.client.streams.stdio import raw  # noqa: PLC0415
    from devctl.kube.exec_stream import open_exec  # noqa: PLC0415

    source, output = sys.stdin.fileno(), sys.stdout.fileno()
    errors = os.dup(2)
    stream = open_exec(
        client.cluster,
        place.pod,
        ["sh"],
        place.namespace,
        container=place.container,
        stdin=True,
        tty=True,
    )
    with stream, raw(source, stream.resize):
        stdio.feed(stream, source)
        return stdio.drain(stream, output, lambda data: stdio.write(errors, data))
