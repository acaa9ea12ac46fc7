"""The checkout in which a run is started: what is shown of it, and how it is sent."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from devctl.errors import DeniedError, DevctlError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devctl.cli.vllm.image import Plan, Wanted
    from devctl.client.checkout.capsule import Capsule
    from devctl.client.client import Client
    from devctl.client.vllm.from_checkout import FromCheckout


class Travel(NamedTuple):
    """What is asked for of a checkout."""

    folder: str | None
    """Any checkout; None for that of vLLM in which somebody is."""
    without_changes: bool
    secrets: bool
    large: bool


class Room(NamedTuple):
    """What is asked for of nodes."""

    gpus: int
    gpu_ids: Sequence[int]
    prefer_node: str | None


def find(client: Client, wanted: Wanted, travel: Travel, plan: Plan) -> FromCheckout | None:
    """The checkout that a run has something of, shown to the user; None if there is none.

    Raises:
        UsageError: It cannot travel as it is.
    """
    try:
        found = _found(client, wanted, travel, plan)
    except DevctlError as error:
        if not (travel.without_changes and wanted.has_image):
            raise
        click.echo(f"warning: the checkout here has no part in the run: {error.message}", err=True)
        return None
    if found:
        click.echo(found.summary(wanted.image or wanted.image_name or ""), err=True)
        if travel.without_changes and found.lost:
            click.echo(f"warning: not part of the run: {found.lost} of this checkout", err=True)
    return found


def _found(client: Client, wanted: Wanted, travel: Travel, plan: Plan) -> FromCheckout | None:
    from devctl.client.settings import vllm_images  # noqa: PLC0415 - heavy
    from devctl.client.vllm.from_checkout import (  # noqa: PLC0415
        find_checkout,
        stays,
        travels,
        with_images,
    )

    folder = Path(travel.folder).resolve() if travel.folder else Path.cwd()
    checkout = find_checkout(folder, of_any=bool(travel.folder))
    if checkout is None:
        return None
    if not wanted.has_image:
        checkout = with_images(checkout, vllm_images(client.cluster))
    if travel.without_changes:
        return stays(checkout)
    items = plan.known if wanted.repo_name else plan.items
    return travels(
        checkout, items, wanted.repo_name or "", secrets=travel.secrets, large=travel.large
    )


@contextmanager
def sent(
    client: Client, found: FromCheckout, room: Room, loader_image: str, *, dry_run: bool
) -> Iterator[dict[str, Any]]:
    """Send the changes of a checkout; the field of the run that is created in the `with` block.

    Raises:
        UsageError: Some look like secrets.
        DevctlError: They did not arrive.
    """
    from devctl.client.vllm.capsules import source  # noqa: PLC0415 - heavy

    with TemporaryDirectory(prefix="devctl-") as folder:
        capsule = found.pack(Path(folder))
        if capsule is None or dry_run:
            yield found.spec(source(capsule) if capsule else None)
            return
        yield found.spec(_send(client, capsule, room, loader_image))
        # Somebody else's command may have deleted an old one before the run named it.
        if not client.vllm_runs.capsules.has(capsule):
            _send(client, capsule, room, loader_image)


def _send(client: Client, capsule: Capsule, room: Room, image: str) -> dict[str, str]:
    from devctl.cli.egpu.screen import moving  # noqa: PLC0415 - heavy
    from devctl.client.files.transfer import amount  # noqa: PLC0415

    capsules = client.vllm_runs.capsules
    if capsules.has(capsule):
        click.echo(f"{capsule.name}, {amount(capsule.size)}, was sent before", err=True)
        return capsules.send(capsule)
    click.echo(f"sending the changes as {capsule.name}, {amount(capsule.size)}", err=True)
    if capsule.small:
        return capsules.send(capsule)
    with moving(capsule.name, image) as (pod, moved):
        return capsules.send(capsule, moved, _near(client, room), **pod)


def _near(client: Client, room: Room) -> str:
    """A node that is likely to run it: a volume may be within reach of one node only."""
    from devctl.client.vllm.capsule_volume import roomiest  # noqa: PLC0415 - heavy

    if room.prefer_node:
        return room.prefer_node
    try:
        return roomiest(client.gpus().gpus, room.gpus, room.gpu_ids)
    except (DeniedError, NotFoundError):
        return ""
