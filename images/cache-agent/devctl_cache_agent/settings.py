"""The agent's settings, which are variables of its environment. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from devctl.api.node_cache import ROOT
from devctl.api.quantities import parse_quantity
from devctl_cache_agent.git import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

_HUNDRED = 100


class SettingError(Exception):
    """A setting that is missing or not valid."""


class Settings(NamedTuple):
    """What an administrator has chosen."""

    node: str
    root: str
    socket: str
    """The container runtime's."""
    pods: str
    """The kubelet's folder of pods."""
    cdi: str
    """The container runtime's folder of CDI specifications, as the DRA plugin has it."""
    most: int
    """Bytes that the cache may take."""
    free_percent: int
    """How much of the disk stays free."""
    endpoint: str
    """The hub, or a mirror of it."""
    git_protocols: tuple[str, ...]
    git_mirrors: dict[str, str]
    git_user: int | None
    port: int


def read(environment: Mapping[str, str]) -> Settings:
    """The settings.

    Raises:
        SettingError: One is missing or not valid.
    """
    node = environment.get("NODE_NAME", "")
    if not node:
        raise SettingError("the variable NODE_NAME is not set")
    try:
        most = int(parse_quantity(environment.get("CACHE_MAX_BYTES", "200Gi")))
    except ValueError as error:
        raise SettingError(f"CACHE_MAX_BYTES: {error}") from error
    protocols = tuple(_words(environment.get("GIT_PROTOCOLS", "https,ssh")))
    if not protocols or not PROTOCOLS.issuperset(protocols):
        raise SettingError(f"GIT_PROTOCOLS: choose from {', '.join(sorted(PROTOCOLS))}")
    free = _number(environment, "CACHE_FREE_PERCENT", "20")
    if free >= _HUNDRED:
        raise SettingError("CACHE_FREE_PERCENT: a number below 100")
    user = environment.get("GIT_USER", "")
    return Settings(
        node=node,
        root=environment.get("CACHE_ROOT", ROOT),
        socket=environment.get("RUNTIME_SOCKET", "/run/containerd/containerd.sock"),
        pods=environment.get("KUBELET_PODS", "/var/lib/kubelet/pods"),
        cdi=environment.get("CDI_ROOT", "/var/run/cdi"),
        most=most,
        free_percent=free,
        endpoint=environment.get("HF_ENDPOINT") or "https://huggingface.co",
        git_protocols=protocols,
        git_mirrors=_mirrors(environment.get("GIT_MIRRORS", "")),
        git_user=_number(environment, "GIT_USER", "") if user else None,
        port=_number(environment, "HTTP_PORT", "8082"),
    )


def _mirrors(text: str) -> dict[str, str]:
    """Pairs of beginnings of URLs: `https://github.com/=https://git.example/github/`."""
    found = {}
    for pair in _words(text):
        prefix, equals, other = pair.partition("=")
        if not (prefix and equals and other):
            raise SettingError(
                "GIT_MIRRORS: pairs such as https://github.com/=https://git.example/"
            )
        found[prefix] = other
    return found


def _words(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _number(environment: Mapping[str, str], name: str, default: str) -> int:
    text = environment.get(name, default)
    if not (text.isascii() and text.isdigit() and len(text) <= 6):  # noqa: PLR2004
        raise SettingError(f"{name}: a whole number")
    return int(text)
