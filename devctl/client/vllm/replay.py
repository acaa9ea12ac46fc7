"""A run again, as it was: the same command and image on the same state of a checkout. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.client.objects import mapping
from devctl.client.vllm.run import NOTES, check_name
from devctl.kube import resources

if TYPE_CHECKING:
    from devctl.client.vllm.run import VLLMRun


def replayed(run: VLLMRun, name: str) -> dict[str, Any]:
    """The manifest of a run that does the same under another name; it belongs to who creates it.

    Raises:
        UsageError: No run can have that name.
    """
    check_name(name)
    notes = {
        key: value
        for key, value in mapping(run.raw["metadata"].get("annotations")).items()
        if key.startswith(NOTES)
    }
    return {
        "apiVersion": resources.VLLMRun.api_version,
        "kind": resources.VLLMRun.name,
        "metadata": {"name": name, **({"annotations": notes} if notes else {})},
        "spec": {field: value for field, value in run.spec.items() if field != "owner"},
    }
