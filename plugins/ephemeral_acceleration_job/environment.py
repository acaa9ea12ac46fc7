"""The container's environment: what the job's program reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apply.environment import entries

if TYPE_CHECKING:
    from collections.abc import Mapping


def environment(spec: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entries of `env`, in an order that does not change."""
    weights = spec.get("weights", {})
    values = {
        "MODEL": spec["model"],
        "INPUT_PATH": spec["input"]["path"],
        "INPUT_WAIT_SECONDS": spec["input"]["waitSeconds"],
        "OUTPUT_PATH": spec["output"]["path"],
        "WEIGHTS_PATH": weights.get("path"),
        "LABELS_PATH": weights.get("labelsPath"),
    }
    return entries({name: value for name, value in values.items() if value is not None})
