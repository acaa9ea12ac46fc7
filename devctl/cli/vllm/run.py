"""`k8shazgpu vllm run`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from devctl.cli.egpu.options import loader_image
from devctl.cli.options import connected, dry_run_option
from devctl.cli.results import Results, changes
from devctl.cli.vllm.after import check_output, see_to
from devctl.cli.vllm.checkout import Room, Travel, find, sent
from devctl.cli.vllm.image import Plan, Wanted, check_cache, check_image, choose_image
from devctl.cli.vllm.run_options import (
    how_it_runs,
    what_it_gets,
    what_it_runs,
    what_travels,
)
from devctl.cli.waiting import waits
from devctl.errors import UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl.client.client import Client
    from devctl.client.vllm.from_checkout import FromCheckout
    from devctl.client.vllm.run import VLLMRun


# What follows the first word that is no option of ours is for the program, with or without `--`.
@click.command(context_settings={"allow_interspersed_args": False})
@what_it_runs
@what_travels
@what_it_gets
@how_it_runs
@waits
@dry_run_option
@loader_image
@changes("vllmrun")
@click.argument("words", metavar="-- COMMAND [ARGS...]", nargs=-1, type=click.UNPROCESSED)
@connected
def run(
    client: Client,
    words: tuple[str, ...],
    results: Results,
    dry_run: str,
    loader_image: str,
    *,
    follow: bool,
    wait: bool,
    skip_cache_check: bool,
    **asked: Any,
) -> None:
    """Run a program such as `vllm serve` with GPUs of its own.

    In a checkout of vLLM, the program runs in that: its changes travel, and the image is that of
    the merge base. Elsewhere, the image is `vllm` of the CachePlan. With --follow, the exit code is
    the program's.

    \b
    Examples:
      k8shazgpu vllm run --name my-demo -- vllm serve facebook/opt-125m
      k8shazgpu vllm run --name demo --gpu-ids 0,2 --follow -- vllm serve my/model
    """
    if not words:
        raise UsageError("there is nothing to run", "name a program after `--`")
    check_output(results, follow=follow)
    wanted = Wanted(asked["image"], asked["image_name"], asked["repo_name"])
    wanted.check()
    room = _room(asked)
    plan = Plan(client, skipped=skip_cache_check)
    travel = Travel(asked["checkout"], asked["without_changes"], asked["secrets"], asked["large"])
    found = find(client, wanted, travel, plan)
    if found and not (wanted.has_image or skip_cache_check or dry_run == "client"):
        check_image(found)
    wanted = choose_image(wanted, found, plan)
    if found and found.repo:
        wanted = wanted._replace(repo_name=found.repo)
    if not skip_cache_check:
        check_cache(client, wanted, plan)
    sending = (
        sent(client, found, room, loader_image, dry_run=dry_run != "none")
        if found and found.repo
        else nullcontext()
    )
    with sending as checkout:
        asked |= {"checkout": checkout, "notes": _notes(found) if checkout else {}}
        made = _created(client, words, wanted, room, plan, dry_run, asked)
    see_to(client, made, results, dry_run, follow=follow, wait=wait)


def _room(asked: Mapping[str, Any]) -> Room:
    from devctl.client.vllm.request import gpu_ids  # noqa: PLC0415 - heavy

    ids: Sequence[int] = gpu_ids(asked["gpu_ids"]) if asked["gpu_ids"] else ()
    return Room(len(ids) or asked["gpus"] or 1, ids, asked["prefer_node"])


def _notes(found: FromCheckout | None) -> Mapping[str, str]:
    """What people are told later of the checkout."""
    from devctl.client.vllm.run import BRANCH, CHANGES  # noqa: PLC0415 - heavy

    if not found:
        return {}
    branch = readable(found.checkout.branch)
    return {CHANGES: found.counted or "none", **({BRANCH: branch} if branch else {})}


def _created(
    client: Client,
    words: tuple[str, ...],
    wanted: Wanted,
    room: Room,
    plan: Plan,
    dry_run: str,
    asked: Mapping[str, Any],
) -> VLLMRun:
    from devctl.cli.run_line import variables  # noqa: PLC0415 - heavy
    from devctl.client.runs.command import new_name  # noqa: PLC0415
    from devctl.client.vllm.request import Request, models_named  # noqa: PLC0415
    from devctl.client.vllm.run import VLLMRun  # noqa: PLC0415

    request = Request(
        words,
        image=wanted.image,
        image_name=wanted.image_name,
        repo_name=wanted.repo_name,
        checkout=asked["checkout"],
        models=models_named(words, plan.known),
        gpus=asked["gpus"],
        gpu_ids=room.gpu_ids,
        prefer_node=room.prefer_node,
        port=asked["port"],
        timeout=asked["timeout"],
        env=variables(asked["given"], asked["env_file"], ()),
        secrets=asked["secret"],
        cpu=asked["cpu"],
        memory=asked["memory"],
        keep=asked["ttl"],
        notes=asked["notes"],
    )
    name = asked["name"] or new_name("vllm")
    if dry_run == "client":
        return VLLMRun(request.manifest(name))
    return client.vllm_runs.create(name, request, dry_run=dry_run == "server")
