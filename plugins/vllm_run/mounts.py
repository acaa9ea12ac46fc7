"""What a run sees of its node's cache: its claim says so, and the DRA driver mounts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devctl.api.node_cache import IN_PODS, MODELS, MOUNTS_KIND, MOUNTS_VERSION
from vllm_run.plan import Plans, models_of, repo_of

_MODELS = f"{IN_PODS}/{MODELS}"


def mounts_config(spec: Mapping[str, Any], plans: Plans) -> dict[str, Any] | None:
    """The claim's configuration for the driver; None if the run names nothing of the cache.

    A checkout is made of the mirror, so without it the pod does not start. A model is fetched by
    the program where the node does not have it.

    Raises:
        ApplyError: The CachePlan lacks what the run names.
    """
    repo, models = repo_of(spec, plans), models_of(spec, plans)
    if not repo and not models:
        return None
    repositories = [repo] if repo else []
    return {
        "apiVersion": MOUNTS_VERSION,
        "kind": MOUNTS_KIND,
        "repositories": repositories,
        "models": models,
        "required": repositories if "checkout" in spec else [],
    }


def models_folder(spec: Mapping[str, Any]) -> str | None:
    """The folder above the mounted models, where others can be fetched; None without models."""
    return _MODELS if spec.get("models") else None


def model_variables(spec: Mapping[str, Any]) -> dict[str, str]:
    """The variables by which the hub's library finds the models.

    >>> model_variables({"models": ["opt-125m"]})
    {'HF_HUB_CACHE': '/cache/models'}
    """
    folder = models_folder(spec)
    return {"HF_HUB_CACHE": folder} if folder else {}
