"""`k8shazgpu cache add`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import connected
from devctl.cli.results import Results, changes
from devctl.cli.vllm.options import nodes as nodes_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.client.client import Client
    from devctl.client.vllm.items import Item

_name = click.option("--name", metavar="NAME", help="By which runs name it; default: made of it.")


@click.command()
@click.argument("ref", metavar="REF")
@_name
@nodes_option
@changes("cacheplan")
@connected
def image(
    client: Client, ref: str, name: str | None, nodes: Mapping[str, str] | None, results: Results
) -> None:
    """Add a container image to the CachePlan.

    \b
    Examples:
      k8shazgpu cache add image nginx:latest
      k8shazgpu cache add image nvidia/cuda:12.1-runtime-ubuntu22.04 --name cuda
    """
    from devctl.client.vllm.items import image_name, new_item  # noqa: PLC0415 - not for --help

    _add(client, new_item("image", name or image_name(ref), {"ref": ref}, nodes), results)


@click.command()
@click.argument("url", metavar="URL")
@_name
@click.option("--branch", metavar="NAME", help="To keep; default: the repository's own.")
@click.option("--commit", metavar="SHA", help="To have as well, in full.")
@nodes_option
@changes("cacheplan")
@connected
def gitrepo(
    client: Client,
    url: str,
    name: str | None,
    branch: str | None,
    commit: str | None,
    nodes: Mapping[str, str] | None,
    results: Results,
) -> None:
    """Add a git repository to the CachePlan; a private one needs an SSH key on the nodes.

    \b
    Examples:
      k8shazgpu cache add gitrepo https://github.com/user/vllm.git --branch dev
      k8shazgpu cache add gitrepo git@github.com:user/private.git --name mine
    """
    from devctl.client.vllm.items import new_item, repo_name  # noqa: PLC0415 - not for --help

    own = {"url": url, "branch": branch, "commit": commit}
    _add(client, new_item("gitRepo", name or repo_name(url), own, nodes), results)


@click.command()
@click.argument("repo_id", metavar="ID")
@_name
@click.option("--revision", metavar="R", help="Branch, tag or commit; default: main.")
@nodes_option
@changes("cacheplan")
@connected
def model(
    client: Client,
    repo_id: str,
    name: str | None,
    revision: str | None,
    nodes: Mapping[str, str] | None,
    results: Results,
) -> None:
    """Add a model of the Hugging Face hub to the CachePlan.

    \b
    Examples:
      k8shazgpu cache add model facebook/opt-125m
      k8shazgpu cache add model microsoft/DialoGPT-medium --revision v1.0
    """
    from devctl.client.vllm.items import model_name, new_item  # noqa: PLC0415 - not for --help

    own = {"repoId": repo_id, "revision": revision}
    _add(client, new_item("model", name or model_name(repo_id), own, nodes), results)


def _add(client: Client, item: Item, results: Results) -> None:
    plan, new = client.cache.add(item)
    what = f"{item.type.lower()}/{item.name}"
    results.add(plan, f"has {what} now" if new else f"has {what} already")
