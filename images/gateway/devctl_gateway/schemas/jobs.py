"""Jobs: what is submitted, and what becomes of it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from devctl.api.gpu_worker_job import MAX_INPUT
from devctl_gateway.schemas.asked import Asked
from devctl_gateway.schemas.billing import Money
from devctl_gateway.schemas.text import Line
from devctl_gateway.schemas.times import Time

State = Literal["pending", "scheduled", "running", "completed", "failed", "cancelled"]
Strategy = Literal["leastLoaded", "packed", "costOptimized", "random"]
_TEXT = "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$"
Argument = Annotated[str, Field(max_length=4096, pattern=_TEXT)]
"""Text with tabs and line breaks, and no other control characters."""
_MEGABYTES = 1 << 26
_MOST_OF_A_GPU = 1 << 20
_HOST = "[a-zA-Z0-9]+([.-]+[a-zA-Z0-9]+)*(:[0-9]{1,5})?"
_PART = "[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*"
_REPOSITORY = f"^({_HOST}/)?{_PART}(/{_PART})*$"
"""A registry and a path in it, or a path alone; neither a tag nor a digest."""


class Variable(Asked):
    """A variable of the environment."""

    name: str = Field(max_length=128, pattern="^[A-Za-z_][A-Za-z0-9_]*$")
    value: Argument


class NewJob(Asked):
    """A job to be run."""

    job_name: Line
    docker_image: str = Field(
        min_length=1,
        max_length=255,
        pattern=_REPOSITORY,
        description="Without a tag.",
    )
    docker_tag: str = Field(
        default="latest",
        max_length=128,
        pattern="^([A-Za-z0-9_][A-Za-z0-9._-]*|sha256:[0-9a-f]{64})$",
        description="A tag, or a digest: `sha256:…`.",
    )
    gpu_memory_required: int = Field(
        default=0, ge=0, le=8 << 20, description="Of all its GPUs together, in megabytes."
    )
    gpu_count: int | None = Field(
        default=None, ge=0, le=8, description="1 if GPU memory is required, else 0."
    )
    cpu_cores_required: int = Field(default=1, ge=1, le=1024)
    memory_required: int = Field(default=1024, ge=16, le=_MEGABYTES, description="In megabytes.")
    input_data: dict[str, Any] = Field(
        default_factory=dict,
        description="The program gets it as the file INPUT_DATA_FILE, and in INPUT_DATA.",
    )
    command: list[Argument] | None = Field(default=None, min_length=1, max_length=64)
    args: list[Argument] | None = Field(default=None, min_length=1, max_length=64)
    env: list[Variable] = Field(default_factory=list, max_length=64)
    queue: str | None = Field(
        default=None, max_length=63, pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
    )
    priority: Literal["low", "normal", "high"] = "normal"
    scheduling_strategy: Strategy = "leastLoaded"
    timeout_seconds: int = Field(default=86400, ge=1, le=604800)
    retries: int = Field(default=0, ge=0, le=5)

    @property
    def gpus(self) -> int:
        """How many GPUs it needs."""
        return int(self.gpu_memory_required > 0) if self.gpu_count is None else self.gpu_count

    @property
    def image(self) -> str:
        """The reference of its image.

        >>> NewJob(job_name="a", docker_image="a/b", docker_tag="sha256:" + "0" * 64).image[:12]
        'a/b@sha256:0'
        """
        return f"{self.docker_image}{'@' if ':' in self.docker_tag else ':'}{self.docker_tag}"


def image_parts(reference: str) -> tuple[str, str]:
    """The repository of an image, and its tag or digest.

    >>> image_parts("r.example:5000/a/b:1.2")
    ('r.example:5000/a/b', '1.2')
    >>> image_parts("a/b@sha256:00")
    ('a/b', 'sha256:00')
    """
    repository, _, rest = (
        reference.partition("@") if "@" in reference else reference.rpartition(":")
    )
    return repository, rest


OWN = frozenset({"JOB_ID", "GPU_COUNT", "INPUT_DATA", "INPUT_DATA_FILE"})
"""Variables that nobody else sets."""


def spec_of(new: NewJob, owner: str, queue: str, artifacts_claim: str = "") -> dict[str, Any]:
    """The spec of the GPUWorkerJob of a submission.

    Args:
        new: The submission.
        owner: The ID of the account that pays.
        queue: The queue of jobs that name none; empty for none.
        artifacts_claim: The claim that it writes files to; empty for none.

    Raises:
        ValueError: It asks for what cannot be: the message says what.
    """
    text = _input(new.input_data)
    if new.gpu_memory_required and not new.gpus:
        raise ValueError("gpu_memory_required needs a GPU: leave out gpu_count, or raise it")
    names = [entry.name for entry in new.env]
    if taken := OWN.intersection(names):
        raise ValueError(f"env may not have {', '.join(sorted(taken))}: the API sets that")
    if len(names) != len(set(names)):
        raise ValueError("env has a name twice")
    each = -(-new.gpu_memory_required // new.gpus) if new.gpus else 0
    if each > _MOST_OF_A_GPU:
        raise ValueError(
            f"gpu_memory_required is at most {_MOST_OF_A_GPU} for each GPU: lower it, or raise "
            "gpu_count"
        )
    found: dict[str, Any] = {
        "owner": owner,
        "jobName": new.job_name,
        "image": new.image,
        "gpus": new.gpus,
        "gpuMemoryMegabytes": each,
        "cpuCores": new.cpu_cores_required,
        "memoryMegabytes": new.memory_required,
        "inputData": text,
        "priority": new.priority,
        "schedulingStrategy": new.scheduling_strategy,
        "timeoutSeconds": new.timeout_seconds,
        "retries": new.retries,
    }
    optional = {
        "command": new.command,
        "args": new.args,
        "env": [entry.model_dump() for entry in new.env] or None,
        "queueName": new.queue or queue or None,
        "artifactsClaim": artifacts_claim or None,
    }
    return found | {name: value for name, value in optional.items() if value is not None}


def _input(data: dict[str, Any]) -> str:
    """The JSON that a program gets.

    Python reads more than JSON has: numbers that are none, and halves of characters, which no
    other program would take, the API server included.

    Raises:
        ValueError: There is such a value in it, or it is too long.
    """
    try:
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValueError("input_data has half a surrogate pair: send whole characters") from None
    except ValueError:
        raise ValueError(
            "input_data has a number that JSON cannot write, such as NaN or 1e999: send it as text"
        ) from None
    if size > MAX_INPUT:
        raise ValueError(f"input_data is at most {MAX_INPUT} bytes: store more than that elsewhere")
    return text


class Job(BaseModel):
    """A job."""

    job_id: str
    job_name: str
    docker_image: str
    docker_tag: str
    gpu_count: int
    gpu_memory_required: int = Field(
        description="Of all its GPUs together, in megabytes, as it was asked for."
    )
    gpu_memory_per_gpu: int = Field(description="What each of its GPUs has at least, in megabytes.")
    cpu_cores_required: int
    memory_required: int
    command: list[str] | None
    args: list[str] | None
    env: list[Variable]
    queue: str | None
    priority: str
    scheduling_strategy: str
    timeout_seconds: int
    retries: int
    state: State
    reason: str | None
    message: str | None
    queue_position: int | None = Field(
        description="Its place among those that wait for the same: 1 is next; null unless it waits."
    )
    node_id: str | None = Field(description="Of the node that it runs on, or ran on last.")
    node_name: str | None
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    exit_code: int | None
    cost: Money | None = Field(description="Until now; `GET jobs/{id}/cost` has its parts.")
    currency: str
    reported: dict[str, Any] = Field(description="What the agent of its node says of it.")


class StatusReport(Asked):
    """What the agent of its node says of a job: shown only."""

    status: State
    progress: int | None = Field(default=None, ge=0, le=100, description="In percent.")
    message: str | None = Field(default=None, max_length=1024, pattern=_TEXT)
