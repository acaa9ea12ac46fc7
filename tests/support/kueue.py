"""Kueue's kinds without Kueue, for a plane: what roles create is stored, and nobody acts on it."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml
from support.servers import succeeds, wait_until

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

_KINDS = ("clusterqueues", "localqueues", "resourceflavors", "workloadpriorityclasses")


@cache
def released() -> list[dict[str, Any]]:
    """The objects of Kueue's release."""
    text = (REPOSITORY / "config/kueue/base/upstream.yaml").read_text()
    return list(yaml.load_all(text, yaml.CSafeLoader))


@contextmanager
def kueue_kinds(kubectl: Kubectl, *kinds: str) -> Iterator[None]:
    """Kueue's kinds, by default those that roles create, in their version: nobody converts them."""
    names = [f"{kind}.kueue.x-k8s.io" for kind in kinds or _KINDS]
    for crd in released():
        if crd["kind"] == "CustomResourceDefinition" and crd["metadata"]["name"] in names:
            crd["spec"].pop("conversion", None)
            kubectl.api.apply(crd)
    wait_until(lambda: succeeds(lambda: kubectl("get", ",".join(names), "-A")), "all are served")
    yield

    def remain() -> list[str]:
        kind = "customresourcedefinition"
        return [name for name in names if kubectl.api.get(kind, name)]

    for name in names:
        kubectl.api.delete("customresourcedefinition", name)
    wait_until(lambda: not remain(), lambda: f"they go: {remain()}")
