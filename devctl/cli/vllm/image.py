"""Which image a run gets, and whether the CachePlan, registries and caches have what it names."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import click

from devctl.cli.vllm.options import command
from devctl.errors import DeniedError, NotFoundError, UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.vllm.from_checkout import FromCheckout
    from devctl.client.vllm.items import Item

USUAL = "vllm"
"""The name in the CachePlan of the image of runs that name none."""


class Wanted(NamedTuple):
    """What a run names of images and repositories; at most one of both images."""

    image: str | None = None
    image_name: str | None = None
    repo_name: str | None = None

    @property
    def has_image(self) -> bool:
        """Whether an image was chosen."""
        return bool(self.image or self.image_name)

    def check(self) -> None:
        """Raise UsageError if both images were named."""
        if self.image and self.image_name:
            raise UsageError("--image and --image-name both name an image", "leave out one of them")


class Plan:
    """The CachePlan as it is at the first look."""

    def __init__(self, client: Client, *, skipped: bool) -> None:
        """Look later; `skipped` if only what is needed is to be asked for."""
        self._client, self._skipped = client, skipped

    @cached_property
    def items(self) -> Sequence[Item]:
        """Its items."""
        return self._client.cache.items()

    @property
    def known(self) -> Sequence[Item]:
        """The same, where a run can do without: none if they are not to be, or cannot be, seen."""
        if self._skipped:
            return []
        try:
            return self.items
        except (DeniedError, NotFoundError):
            return []


def choose_image(wanted: Wanted, found: FromCheckout | None, plan: Plan) -> Wanted:
    """Choose an image if none was named: that of the checkout, else the plan's usual one.

    Raises:
        UsageError: There is none to choose.
    """
    if wanted.has_image:
        return wanted
    if found:
        return wanted._replace(image=found.image)
    ref = _usual(plan)
    click.echo(f"image: `{USUAL}` of the CachePlan, {one_line(ref)}", err=True)
    return wanted._replace(image_name=USUAL)


def _usual(plan: Plan) -> str:
    for item in plan.items:
        if (item.type, item.name) == ("image", USUAL):
            return item.what
    add = command(f"cache add image REF --name {USUAL}")
    raise UsageError(
        f"no image was named, and the CachePlan has none called `{USUAL}`",
        f"name one with --image or --image-name; an administrator adds it with {add}",
    )


def check_image(found: FromCheckout) -> None:
    """Check that a registry has the image of a checkout; say so if it does not answer.

    Raises:
        NotFoundError: There is no such image.
    """
    from devctl.client.vllm import registry  # noqa: PLC0415 - heavy

    answer = registry.look_up(found.image)
    if answer.exists is None:
        click.echo(f"warning: it is not known whether the image exists: {answer.why}", err=True)
    if answer.exists is False:
        raise NotFoundError(
            f"commit {found.checkout.merge_base[:12]} has no image: there is no `{found.image}`",
            "name another one with --image, or rebase onto a commit that has one",
        )


def check_cache(client: Client, wanted: Wanted, plan: Plan) -> None:
    """Check that the plan has what a run names, and say so if no node has it ready.

    Raises:
        NotFoundError: The plan lacks it, so the run would wait.
    """
    named = {"image": wanted.image_name, "gitRepo": wanted.repo_name}
    asked = {kind: name for kind, name in named.items() if name}
    if not asked:
        return
    there = {(item.type, item.name) for item in plan.items}
    for kind, name in asked.items():
        if (kind, name) not in there:
            what = {"image": "image", "gitRepo": "repository"}[kind]
            raise NotFoundError(
                f"the CachePlan has no {what} `{name}`",
                f"see its items with {command('cache plan show')}; --skip-cache-check has the run"
                " wait for it",
            )
    # Who may not see caches is not told of them.
    with suppress(DeniedError):
        _say_not_ready(client, asked)


def _say_not_ready(client: Client, asked: dict[str, str]) -> None:
    caches = client.cache.nodes()
    if not caches:
        return
    ready = {(i.type, i.name) for node in caches for i in node.items if i.state == "ready"}
    for key in asked.items():
        if key not in ready:
            click.echo(f"no node has `{key[1]}` ready yet: the start takes longer", err=True)
