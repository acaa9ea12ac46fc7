"""`k8shazgpu cache` and `devctl cache`: the groups of their commands."""

from __future__ import annotations

import click

from devctl.cli.lazy import Entry, SectionedGroup


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "list": Entry("devctl.cli.vllm.cache_show:list_", "List items, and who has them"),
            "status": Entry("devctl.cli.vllm.cache_show:status", "Show what each node has"),
            "add": Entry("devctl.cli.vllm.cache_group:add", "Add an item to the plan"),
            "plan": Entry("devctl.cli.vllm.cache_group:plan", "Show or change the plan"),
        },
    },
)
def cache() -> None:
    """Images, git repositories and models that nodes are to have ready: the CachePlan.

    Everybody may read the plan, administrators may change it.

    \b
    Examples:
      k8shazgpu cache add image vllm/vllm-openai:v0.11.0 --name vllm
      k8shazgpu cache add model facebook/opt-125m
      k8shazgpu cache status
    """


@click.group(
    cls=SectionedGroup,
    sections={
        "Types": {
            "image": Entry("devctl.cli.vllm.cache_add:image", "A container image"),
            "gitrepo": Entry("devctl.cli.vllm.cache_add:gitrepo", "A git repository"),
            "model": Entry("devctl.cli.vllm.cache_add:model", "A Hugging Face model"),
        },
    },
)
def add() -> None:
    """Add an item to the CachePlan, which is created if need be.

    An item that is there already is left as it is; another one of its name is refused.

    \b
    Examples:
      k8shazgpu cache add image nvidia/cuda:12.1-runtime-ubuntu22.04 --name cuda
      k8shazgpu cache add gitrepo https://github.com/user/vllm.git --branch dev
      k8shazgpu cache add model microsoft/DialoGPT-medium --revision v1.0
    """


@click.group(
    cls=SectionedGroup,
    sections={
        "Commands": {
            "show": Entry("devctl.cli.vllm.cache_plan:show", "Show the items"),
            "update": Entry("devctl.cli.vllm.cache_plan:update", "Change an item"),
            "remove": Entry("devctl.cli.vllm.cache_plan:remove", "Remove items"),
        },
    },
)
def plan() -> None:
    """Show or change the CachePlan.

    An item is named by NAME, or by TYPE/NAME if there are several.

    \b
    Examples:
      k8shazgpu cache plan show
      k8shazgpu cache plan update vllm-main --branch v0.11.0
      k8shazgpu cache plan remove model/opt-125m
    """
