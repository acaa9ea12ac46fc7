"""The manifest of a GPU workload that runs a command of a local project."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from devctl.api.gpu_workload import WORKSPACE
from devctl.client.workloads.workload import check_name
from devctl.errors import UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


MOST = 63
"""Arguments of a program: the kind's schema allows 64 words."""
TORCHRUN = (
    # torchrun sets these for each process that it starts; it is none of them itself.
    *("env", "-u", "RANK", "-u", "WORLD_SIZE"),
    *("torchrun", "--nnodes", "$(NNODES)", "--node-rank", "$(NODE_RANK)"),
    *("--nproc-per-node", "$(LOCAL_WORLD_SIZE)", "--rdzv-backend", "static"),
    *("--master-addr", "$(MASTER_ADDR)", "--master-port", "$(MASTER_PORT)"),
)
"""Starts torchrun in one of several pods: the kubelet puts in what devctl.api.ranks names."""
_MOUNT = re.compile(r"(?P<claim>[a-z0-9][-a-z0-9.]*):(?P<path>/[^:]*)(?P<ro>:ro)?")


@dataclass(frozen=True)
class Submission:
    """What is asked for; an option that is None gets the default of the kind's schema.

    Attributes:
        argv: The words of the command.
        nodes: In how many pods it runs, each with so many GPUs.
        launcher: Words before those, in which the kubelet replaces `$(NAME)`.
        image: Its container image.
        env: Further variables.
        imports: Subfolders of the project where Python also looks for packages.
        code: The ConfigMap with the project.
        volume: The size of the volume for what it writes; None for none.
        mounts: Claims to mount, as `CLAIM:PATH` or `CLAIM:PATH:ro`.
    """

    argv: Sequence[str]
    image: str
    gpus: int = 1
    nodes: int = 1
    launcher: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    imports: Sequence[str] = ()
    code: str | None = None
    volume: str | None = None
    mounts: Sequence[str] = ()
    priority: str | None = None
    strategy: str | None = None
    queue: str | None = None
    retries: int | None = None
    timeout: int | str | None = None
    cpu: str | None = None
    memory: str | None = None
    keep: int | None = None

    def manifest(self, name: str) -> dict[str, Any]:
        """The manifest.

        Raises:
            UsageError: The name, an argument or a mount is not possible.
        """
        check_name(name)
        program, *arguments = [*self.launcher, *map(literal, self.argv)]
        if len(arguments) > MOST:
            raise UsageError(
                f"the command has {len(arguments)} arguments, and can have {MOST}",
                "put them into a file of the project",
            )
        spec = {
            "modelName": name,
            "gpuCount": self.gpus,
            "nodes": self.nodes if self.nodes > 1 else None,
            "image": self.image,
            "command": [program],
            "args": arguments or None,
            "env": [{"name": key, "value": value} for key, value in self._variables().items()],
            "priority": self.priority,
            "schedulingStrategy": self.strategy,
            "queueName": self.queue,
            "timeout": self.timeout,
            "ttlSecondsAfterFinished": self.keep,
            "retryPolicy": None if self.retries is None else {"maxRetries": self.retries},
            "resources": given({"cpu": self.cpu, "memory": self.memory}),
            "volumes": [mounted(each) for each in self.mounts],
            "workspace": {"mountPath": WORKSPACE}
            | given({"configMapName": self.code, "size": self.volume}),
        }
        return {
            "apiVersion": resources.GPUWorkload.api_version,
            "kind": resources.GPUWorkload.name,
            "metadata": {"name": name},
            "spec": given(spec),
        }

    def _variables(self) -> dict[str, str]:
        """The variables; Python's output is shown as it comes."""
        own = {"PYTHONUNBUFFERED": "1"}
        if self.imports:
            own["PYTHONPATH"] = ":".join(f"{WORKSPACE}/{each}".rstrip("/") for each in self.imports)
        return own | dict(self.env)


def mounted(text: str) -> dict[str, Any]:
    """A claim to mount, as the kind describes it.

    >>> mounted("models:/models:ro")
    {'claimName': 'models', 'mountPath': '/models', 'readOnly': True}

    Raises:
        UsageError: It is not of the form CLAIM:PATH or CLAIM:PATH:ro.
    """
    found = _MOUNT.fullmatch(text)
    if not found:
        raise UsageError(
            f"--mount `{text}` is not CLAIM:PATH or CLAIM:PATH:ro", "write `models:/models:ro`"
        )
    return {
        "claimName": found["claim"],
        "mountPath": found["path"].rstrip("/"),
        "readOnly": bool(found["ro"]),
    }


def literal(word: str) -> str:
    """A word of which the kubelet expands nothing: it would take `$(NAME)` for a variable.

    >>> literal("a$(B)$$")
    'a$$(B)$$$$'
    """
    return word.replace("$", "$$")


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value not in (None, [], {})}
