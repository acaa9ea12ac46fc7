"""Items of a plan, for tests."""

from __future__ import annotations

from typing import Any

from devctl_cache_agent.plan import Item, Sort


def mirror(name: str = "repo", url: str = "https://git.example/a", **more: Any) -> Item:
    return Item(Sort.MIRROR, name, url, **more)


def model(name: str = "opt", repo: str = "facebook/opt-125m", revision: str = "main") -> Item:
    return Item(Sort.MODEL, name, repo, revision)


def image(name: str = "vllm", ref: str = "registry.example/vllm:1") -> Item:
    return Item(Sort.IMAGE, name, ref)


def plan(*items: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "default"}, "spec": {"items": list(items)}}
