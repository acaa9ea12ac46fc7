"""The manifest of a VLLMRun, of what a person asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from devctl.client.vllm.run import check_name
from devctl.client.workloads.submission import given, literal
from devctl.errors import UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from devctl.client.vllm.items import Item

MOST_MODELS = 16
_SECRET = re.compile(r"(?P<name>[a-z0-9][-a-z0-9.]*)(:(?P<key>[-._a-zA-Z0-9]+)(=(?P<env>\w+))?)?")


@dataclass(frozen=True)
class Request:
    """What is asked for; an option that is None gets the default of the kind's schema.

    Attributes:
        command: The program and its arguments, all taken literally.
        image: Its image; or
        image_name: the image's name in the CachePlan.
        gpus: How many GPUs.
        gpu_ids: Which ones, by their numbers on the node.
        prefer_node: A node to use if it has room.
        repo_name: The name of a repository in the CachePlan.
        checkout: What its pod builds of that repository; see FromCheckout.spec.
        models: Names of models in the CachePlan that it is to find on its node.
        port: Where the program serves; 0 for nowhere.
        timeout: How long it may take until its program starts.
        env: Variables.
        secrets: Secrets as variables, as `NAME`, `NAME:KEY` or `NAME:KEY=VARIABLE`.
        keep: How many seconds to keep the pod of a finished run.
        notes: What people are told of its checkout, by annotation.
    """

    command: Sequence[str]
    image: str | None = None
    image_name: str | None = None
    gpus: int | None = None
    gpu_ids: Sequence[int] = ()
    prefer_node: str | None = None
    repo_name: str | None = None
    checkout: Mapping[str, Any] | None = None
    models: Sequence[str] = ()
    port: int | None = None
    timeout: int | str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Sequence[str] = ()
    cpu: str | None = None
    memory: str | None = None
    keep: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict)

    def manifest(self, name: str) -> dict[str, Any]:
        """The manifest.

        Raises:
            UsageError: The name, the numbers of GPUs or a secret is not possible.
        """
        check_name(name)
        if self.gpus and self.gpu_ids and self.gpus != len(self.gpu_ids):
            raise UsageError(
                f"{self.gpus} GPUs are asked for, and {len(self.gpu_ids)} by their numbers",
                "leave out --gpus",
            )
        spec = {
            "command": [literal(word) for word in self.command],
            "image": self.image,
            "imageName": self.image_name,
            "gpus": self.gpus,
            "gpuIds": list(self.gpu_ids),
            "preferNode": self.prefer_node,
            "repoName": self.repo_name,
            "checkout": dict(self.checkout or {}),
            "models": list(self.models),
            "port": self.port,
            "timeout": self.timeout,
            "env": [{"name": key, "value": value} for key, value in self.env.items()],
            "secrets": [secret(each) for each in self.secrets],
            "resources": given({"cpu": self.cpu, "memory": self.memory}),
            "ttlSecondsAfterFinished": self.keep,
        }
        return {
            "apiVersion": resources.VLLMRun.api_version,
            "kind": resources.VLLMRun.name,
            "metadata": {"name": name, **given({"annotations": dict(self.notes)})},
            "spec": given(spec),
        }


def secret(written: str) -> dict[str, str]:
    """A Secret as variables, as the kind describes it.

    >>> secret("hf-token:token=HF_TOKEN"), secret("keys")
    ({'name': 'hf-token', 'key': 'token', 'env': 'HF_TOKEN'}, {'name': 'keys'})

    Raises:
        UsageError: It is of no such form.
    """
    found = _SECRET.fullmatch(written)
    if not found:
        raise UsageError(
            f"--secret `{written}` is not NAME, NAME:KEY or NAME:KEY=VARIABLE",
            "write `hf-token:token=HF_TOKEN`",
        )
    return {name: value for name, value in found.groupdict().items() if value}


def gpu_ids(written: str) -> list[int]:
    """The numbers of GPUs in a list such as `0,2`.

    >>> gpu_ids("0, 2")
    [0, 2]

    Raises:
        UsageError: It is no such list, or names one twice.
    """
    words = [word.strip() for word in written.split(",")]
    if not all(word.isascii() and word.isdecimal() for word in words):
        raise UsageError(f"`{written}` are no numbers of GPUs", "write `0,2`")
    found = [int(word) for word in words]
    if len(set(found)) < len(found):
        raise UsageError(f"`{written}` names a GPU twice", "name each once")
    return found


def models_named(command: Sequence[str], items: Iterable[Item]) -> Sequence[str]:
    """The names of the models that a command names, as the CachePlan calls them.

    At most as many as a run can have.
    """
    words = {part for word in command for part in (word, word.partition("=")[2])}
    found = [item.name for item in items if item.type == "model" and item.what in words]
    return found[:MOST_MODELS]
