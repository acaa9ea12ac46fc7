"""`k8shazgpu` as its users type it: every command line that they know is one of ours."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from devctl.cli.vllm.group import k8shazgpu as commands
from unit.cli.k8shazgpu_program import k8shazgpu
from unit.client.vllm_things import PLANS, RUNS, VLLM, cache_plan

if TYPE_CHECKING:
    from unit.cli.k8shazgpu_program import K8shazgpu
    from unit.client.fake_cluster import FakeApi

__all__ = ["k8shazgpu"]
SERVE = "vllm serve facebook/opt-125m --gpu-memory-utilization 0.8"
REPO = {"type": "gitRepo", "name": "my-repo", "gitRepo": {"url": "https://host/x.git"}}
MODEL = {"type": "model", "name": "opt-125m", "model": {"repoId": "facebook/opt-125m"}}
KNOWN: dict[str, dict[str, Any]] = {
    f"vllm run --name my-demo -- {SERVE}": {"gpus": None, "port": 8000},
    "vllm run --name multi-gpu --gpus 2 -- vllm serve meta-llama/Llama-2-7b-chat-hf": {"gpus": 2},
    f"vllm run --name custom --image-name my-image --repo-name my-repo -- {SERVE}": {
        "imageName": "my-image",
        "repoName": "my-repo",
    },
    f"vllm run --name api-server --port 8000 -- {SERVE}": {"port": 8000},
    "vllm run --name specific-gpu --gpu-ids 0,2 -- vllm serve model": {"gpuIds": [0, 2]},
    "vllm run --name node-specific --prefer-node worker-1 -- vllm serve model": {
        "preferNode": "worker-1"
    },
    "vllm run --name fast-start --skip-cache-check -- vllm serve model": {"imageName": "vllm"},
    "vllm run --name long-running --timeout 30m -- long-running-process": {
        "timeout": "30m",
        "command": ["long-running-process"],
    },
    "vllm run --name no-port --port 0 -- vllm serve model": {"port": 0},
    f"vllm run --name manual --image-name vllm-pinned --repo-name my-vllm -- {SERVE}": {
        "imageName": "vllm-pinned",
        "repoName": "my-vllm",
    },
    # What the CachePlan has of what is served is on the node.
    "vllm run --name test -- vllm serve facebook/opt-125m": {"models": ["opt-125m"]},
}
"""Command lines, and what the runs have of them."""
CACHED = {
    "image public.ecr.aws/q9t5s3a7/vllm-ci-postmerge-repo:latest": "vllm-ci-postmerge-repo-latest",
    "image nvidia/cuda:12.1-runtime-ubuntu22.04 --name cuda-runtime": "cuda-runtime",
    "gitrepo https://github.com/vllm-project/vllm.git --branch main --name vllm-main": "vllm-main",
    "gitrepo https://github.com/user/vllm.git --branch feature-branch --name vllm-feature": (
        "vllm-feature"
    ),
    "gitrepo git@github.com:user/private-vllm.git --name vllm-private": "vllm-private",
    "model facebook/opt-125m": "opt-125m",
    "model mistralai/Mistral-7B-v0.1": "Mistral-7B-v0.1",
    "model microsoft/DialoGPT-medium --revision v1.0": "DialoGPT-medium",
    "model huggingface/CodeBERTa-small-v1 --name codeberta": "codeberta",
    "image nginx:latest": "nginx-latest",
}


OPTIONS = {
    "status": "--output",
    "vllm run": (
        "--name --gpus --gpu-ids --prefer-node --image-name --repo-name --port --follow"
        " --skip-cache-check --timeout --checkout --without-changes --include-secrets --output"
    ),
    "vllm replay": "--name --follow --output",
    "vllm list": "--output",
    "vllm describe": "--output",
    "cleanup": "--name --all --output",
    "cache add image": "--name --output",
    "cache add gitrepo": "--name --branch --commit --output",
    "cache add model": "--name --revision --output",
    "cache plan show": "--output",
    "cache plan update": "--output",
    "cache plan remove": "--output",
    "cache list": "--output",
    "cache status": "--output",
}
"""Options that each command has to have."""


@pytest.mark.parametrize("line", OPTIONS)
def test_options_that_people_know(line: str) -> None:
    found: click.Command | None = commands
    for word in line.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found
    there = {option for parameter in found.params for option in parameter.opts}
    assert set(OPTIONS[line].split()) <= there


@pytest.mark.parametrize("line", KNOWN)
def test_runs_that_people_know(line: str, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    images = [{**VLLM, "name": name} for name in ("my-image", "vllm-pinned")]
    api.add(PLANS, cache_plan(VLLM, *images, REPO, {**REPO, "name": "my-vllm"}, MODEL))
    result = k8shazgpu(*shlex.split(line))
    assert result.code == 0, result.stderr
    (name,) = api.names(RUNS)
    assert result.stdout == f"vllmrun/{name} created\n"
    assert f"`k8shazgpu vllm logs -f {name}` follows it" in result.stderr
    spec = api.get(RUNS, name)["spec"]
    assert spec["command"] == KNOWN[line].get("command", shlex.split(line.partition(" -- ")[2]))
    for field, value in KNOWN[line].items():
        assert spec.get(field) == value


@pytest.mark.parametrize("line", CACHED)
def test_items_that_people_know(line: str, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    result = k8shazgpu("cache", "add", *shlex.split(line))
    assert result.code == 0, result.stderr
    (item,) = api.get(PLANS, "default")["spec"]["items"]
    assert item["name"] == CACHED[line]
    assert result.stdout == (f"cacheplan/default has {item['type'].lower()}/{item['name']} now\n")


@pytest.mark.parametrize(
    "line", ["status", "cache status", "cache plan show", "cache list", "cleanup --all"]
)
def test_an_empty_cluster_is_no_error(line: str, k8shazgpu: K8shazgpu) -> None:
    result = k8shazgpu(*line.split())
    assert (result.code, result.stdout) == (0, "")
    assert len(result.stderr.splitlines()) == 1


def test_help_needs_no_library_that_takes_time() -> None:
    heavy = "{'websockets', 'httpx2', 'httpcore2', 'msgspec', 'ssl', 'yaml', 'devctl.kube'}"
    lines = (
        "import click, sys",
        "from devctl.cli.vllm.group import k8shazgpu",
        "def walk(group):",
        "    for name in group.list_commands(click.Context(group)):",
        "        found = group.get_command(click.Context(group), name)",
        "        yield found",
        "        yield from walk(found) if isinstance(found, click.Group) else ()",
        "count = len(list(walk(k8shazgpu)))",
        f"print(sorted(sys.modules.keys() & {heavy}), count)",
    )
    program = [sys.executable, "-c", "\n".join(lines)]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout == "[] 22\n"


def test_a_script_asks_k8shazgpu() -> None:
    result = CliRunner().invoke(commands, ["completion", "bash"])
    assert "_K8SHAZGPU_COMPLETE=bash_complete" in result.stdout
