"""Login programs of a kubeconfig (client.authentication.k8s.io)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from devctl.errors import DeniedError, DevctlError, UsageError
from devctl.kube.failures import one_line

if TYPE_CHECKING:
    from devctl.kube.kubeconfig import Access

LIFE = 60.0
"""Seconds for which an answer without an expiry is used."""
_EARLY = 10.0
"""Seconds by which an answer expires early: a request takes time."""
_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")


@dataclass(frozen=True)
class Answer:
    """What a plugin has answered, to use until a `time.time()`."""

    until: float
    token: str = ""
    certificate: str = ""
    key: str = ""

    @property
    def alive(self) -> bool:
        """Whether it can still be used."""
        return time.time() < self.until


def run_plugin(access: Access) -> Answer:
    """Run the plugin of a kubeconfig's user, which may ask the person.

    Raises:
        UsageError: The kubeconfig describes it wrongly.
        DeniedError: It failed.
        DevctlError: It cannot be run, or its answer is not valid.
    """
    about: dict[str, Any] = access.user["exec"]
    version, command = str(about.get("apiVersion", "")), str(about.get("command") or "")
    if version not in _VERSIONS or not command:
        raise UsageError(
            f"the login program `{command}` in the kubeconfig asks for `{version}`",
            f"have it use {_VERSIONS[0]}",
        )
    if os.sep in command:
        command = str(access.home / command)  # relative to the kubeconfig, as kubectl has it
    mode = str(about.get("interactiveMode") or "IfAvailable")
    terminal = mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not terminal:
        raise UsageError(
            f"the login program `{command}` wants to ask you, and there is no terminal",
            "run the command on a terminal",
        )
    try:
        ended = subprocess.run(
            [command, *map(str, about.get("args") or [])],
            env=_environment(access, about, version, terminal=terminal),
            stdin=None if terminal else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise DevctlError(
            f"the login program `{command}` of the kubeconfig cannot be run: {error.strerror}",
            one_line(str(about.get("installHint") or "install it, or fix the kubeconfig")),
        ) from error
    if ended.returncode:
        raise DeniedError(
            f"the login program `{command}` failed with exit code {ended.returncode}",
            "log in as its provider asks you to, and repeat the command",
        )
    return _parse(command, ended.stdout)


def _environment(
    access: Access, about: dict[str, Any], version: str, *, terminal: bool
) -> dict[str, str]:
    spec: dict[str, Any] = {"interactive": terminal}
    if about.get("provideClusterInfo"):
        known = {
            "server": access.server,
            "tls-server-name": access.cluster.get("tls-server-name"),
            "insecure-skip-tls-verify": access.cluster.get("insecure-skip-tls-verify"),
            "certificate-authority-data": access.cluster.get("certificate-authority-data"),
            "proxy-url": access.cluster.get("proxy-url"),
        }
        spec["cluster"] = {name: value for name, value in known.items() if value}
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    own = {str(pair["name"]): str(pair.get("value", "")) for pair in about.get("env") or []}
    return {**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}


def _parse(command: str, output: bytes) -> Answer:
    try:
        status = json.loads(output)["status"]
        token = str(status.get("token") or "")
        certificate = str(status.get("clientCertificateData") or "")
        key = str(status.get("clientKeyData") or "")
        ends = status.get("expirationTimestamp")
        now = time.time()
        until = datetime.fromisoformat(ends).timestamp() - _EARLY if ends else now + LIFE
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DevctlError(
            f"the login program `{command}` does not print an ExecCredential",
            "run it by hand, and fix what it prints",
        ) from error
    if not token and not (certificate and key):
        raise DevctlError(
            f"the login program `{command}` gives neither a token nor a certificate with its key",
            "run it by hand, and fix what it prints",
        )
    return Answer(until, token, certificate, key)
