"""Settings, from the environment. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_JOBS = 256
_MOST_MEMORY = 1 << 20


class SettingError(Exception):
    """A setting is missing, or is not what it has to be."""


@dataclass(frozen=True)
class Settings:
    """In what deployments differ.

    Attributes:
        node: The name of the node.
        url: The gateway's address, without /gpu-workers.
        authority: A file with the authority of its certificate; empty for those of the system.
        token_file: The token of the agent's account, for the audience of the gateway.
        registration_file: A registration token, which may not be there.
        folder: For its own files; it goes with the pod.
        most_jobs: Jobs that the node takes at once; 0 for one per GPU.
        made_up_memory: Megabytes of each GPU that a local cluster pretends to have; 0 elsewhere.
    """

    node: str
    url: str
    authority: str
    token_file: str
    registration_file: str
    folder: str
    most_jobs: int
    made_up_memory: int


def read(environment: Mapping[str, str]) -> Settings:
    """The settings.

    Raises:
        SettingError: One is missing or wrong.
    """
    for name in ("NODE_NAME", "GATEWAY_URL"):
        if not environment.get(name):
            raise SettingError(f"the variable {name} is not set")
    return Settings(
        node=environment["NODE_NAME"],
        url=environment["GATEWAY_URL"],
        authority=environment.get("GATEWAY_AUTHORITY_FILE", ""),
        token_file=environment.get("TOKEN_FILE", "/run/secrets/gpu-workers/token"),
        registration_file=environment.get(
            "REGISTRATION_TOKEN_FILE", "/etc/gpu-worker/registration/registration-token"
        ),
        folder=environment.get("STATE_FOLDER", "/run/gpu-worker"),
        most_jobs=_number(environment, "MAX_CONCURRENT_JOBS", _MOST_JOBS),
        made_up_memory=_number(environment, "MADE_UP_GPU_MEMORY_MEGABYTES", _MOST_MEMORY),
    )


def _number(environment: Mapping[str, str], name: str, most: int) -> int:
    text = environment.get(name) or "0"
    if not (text.isascii() and text.isdecimal()) or int(text[:10]) > most:
        raise SettingError(f"{name} is `{text}`: write a number from 0 to {most}")
    return int(text)
