"""What names of the CachePlan stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apply.errors import ApplyError

from devctl.api.applied import Reason
from devctl.api.messages import listed

Plans = Sequence[Mapping[str, Any]]
_WORDS = {"image": "image", "gitRepo": "repository", "model": "model"}


def image_of(spec: Mapping[str, Any], plans: Plans) -> str:
    """The image of a run.

    Raises:
        ApplyError: The plan has no image of that name.
    """
    if "image" in spec:
        return str(spec["image"])
    return str(_item(plans, "image", "imageName", str(spec["imageName"]))["image"]["ref"])


def repo_of(spec: Mapping[str, Any], plans: Plans) -> str | None:
    """The name of the repository of a run; None if it names none.

    Raises:
        ApplyError: The plan has no repository of that name.
    """
    name = spec.get("repoName")
    return str(_item(plans, "gitRepo", "repoName", name)["name"]) if name else None


def models_of(spec: Mapping[str, Any], plans: Plans) -> list[str]:
    """The names on the hub of a run's models.

    Raises:
        ApplyError: The plan lacks one.
    """
    names = spec.get("models", [])
    return [str(_item(plans, "model", "models", name)["model"]["repoId"]) for name in names]


def _item(plans: Plans, kind: str, field: str, name: str) -> Mapping[str, Any]:
    items: list[Mapping[str, Any]] = [
        each for plan in plans for each in plan["spec"].get("items", [])
    ]
    of_kind = [each for each in items if each["type"] == kind]
    for each in of_kind:
        if each["name"] == name:
            return each
    known = listed([f"`{each['name']}`" for each in of_kind])
    has = f"it has {known}" if known else "it has none"
    message = f"spec.{field} `{name}`: the CachePlan has no {_WORDS[kind]} of that name ({has})"
    raise ApplyError(Reason.INVALID, message)
