"""The manifest of a job, from what a person asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from devctl.api.ephemeral_acceleration_job import GROUP, KIND, NAME, NAME_RULE, VERSION
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Options(TypedDict, total=False):
    """What can be asked for; what is left out gets the default of the kind's schema."""

    model: str
    input_path: str
    output_path: str
    weights_path: str
    """A safetensors file on the volume; its labels stand beside it."""
    gpu: int
    ttl: int
    """Seconds for which the finished pod is kept."""
    pvc_ttl: int
    """Seconds for which the volume is kept after the end."""
    storage_class: str
    pvc_size: str
    image: str
    command: Sequence[str]
    suspend: bool


_FIELDS = {
    "model": ("model",),
    "input_path": ("input", "path"),
    "output_path": ("output", "path"),
    "weights_path": ("weights", "path"),
    "gpu": ("resources", "gpu"),
    "ttl": ("ttlSecondsAfterFinished",),
    "pvc_ttl": ("pvcTTLSecondsAfterFinished",),
    "storage_class": ("storageClass",),
    "pvc_size": ("pvcSize",),
    "image": ("image",),
    "command": ("command",),
    "suspend": ("suspend",),
}


def check_name(name: str) -> None:
    """See that a job can have a name.

    Raises:
        UsageError: It cannot.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"`{name}` cannot be a job's name", f"a name has to {NAME_RULE}")


def job_manifest(name: str, options: Options) -> dict[str, Any]:
    """The manifest of a job; fields that nobody asked for are left out.

    Raises:
        UsageError: The name is not valid.

    >>> job_manifest("a", {"gpu": 0, "input_path": "/artifacts/a.jpg"})["spec"]
    {'input': {'path': '/artifacts/a.jpg'}, 'resources': {'gpu': 0}}
    """
    check_name(name)
    given: Mapping[str, Any] = options
    spec: dict[str, Any] = {}
    for option, path in _FIELDS.items():
        if option in given:
            value = given[option]
            block = spec
            for part in path[:-1]:
                block = block.setdefault(part, {})
            block[path[-1]] = list(value) if option == "command" else value
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": spec,
    }
