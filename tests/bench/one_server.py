"""One DevServer for a bench, in a namespace of its own, and commands as a user types them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from devctl.api.labels import GROUP, VERSION
from devctl.local.paths import cache_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "lab"
DEVCTL = str(Path(sys.executable).with_name("devctl"))
# Short, because a bench that waits for ever says nothing.
PATIENCE = 300
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class OneServer:
    """A server called `lab`.

    Attributes:
        namespace: Where it is.
        home: The home folder of a user on this machine, who has run `devctl config-ssh`.
    """

    namespace: str
    home: Path

    @property
    def variables(self) -> dict[str, str]:
        """The user's environment."""
        own = {"HOME": str(self.home), "DEVCTL_NAMESPACE": self.namespace}
        return {**os.environ, **own}

    def seconds(self, *command: str) -> float:
        """How long a command takes that has to succeed."""
        begun = time.monotonic()
        subprocess.run(
            command,
            env=self.variables,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
        )
        return time.monotonic() - begun

    def kubectl(self, *arguments: str) -> list[str]:
        """The words of kubectl in the server's namespace."""
        return [program(), "-n", self.namespace, *arguments]

    def inside(self, script: str) -> None:
        """Run a line in the server, outside of what is measured."""
        self.seconds(*self.kubectl("exec", f"{NAME}-0", "--", "sh", "-c", script))


def program() -> str:
    """The kubectl to call."""
    found = find_kubectl(cache_paths()) or shutil.which("kubectl")
    assert found
    return str(found)


def kubectl(*arguments: str, text: str | None = None) -> str:
    """What kubectl prints."""
    return subprocess.run(
        [program(), *arguments], input=text, capture_output=True, text=True, check=True
    ).stdout


def flavor(name: str) -> dict[str, object]:
    """A flavor that fits on any node."""
    requests = {"cpu": "100m", "memory": "128Mi"}
    resources = {"requests": requests, "limits": {"memory": "1Gi"}}
    return manifest("DevServerFlavor", name, resources=resources)


def manifest(kind: str, name: str, namespace: str = "", **spec: object) -> dict[str, object]:
    """An object of devctl's."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": metadata, "spec": spec}


@contextmanager
def own_namespace() -> Iterator[str]:
    """A namespace and a flavor of its name; both, and what is in them, are deleted in the end."""
    name = f"bench-{uuid4().hex[:6]}"
    kubectl("create", "namespace", name)
    kubectl("apply", "--server-side", "-f", "-", text=json.dumps(flavor(name)))
    try:
        yield name
    finally:
        kubectl("-n", name, "delete", "devserver", "--all")
        kubectl("delete", "devserverflavor", name)
        kubectl("delete", "namespace", name, "--wait=false")


@contextmanager
def one_server(image: str, home_size: str = "2Gi") -> Iterator[OneServer]:
    """A server that runs, and a user who can reach it."""
    with own_namespace() as namespace, tempfile.TemporaryDirectory() as home:
        owner = kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
        spec = {"owner": owner, "flavor": namespace, "image": image}
        made = manifest("DevServer", NAME, namespace, persistentHomeSize=home_size, **spec)
        kubectl("apply", "--server-side", "-f", "-", text=json.dumps(made))
        ready = ("--for=condition=Ready", f"--timeout={PATIENCE}s")
        kubectl("-n", namespace, "wait", f"devserver/{NAME}", *ready)
        server = OneServer(namespace, Path(home))
        server.seconds(DEVCTL, "config-ssh", "--yes")
        yield server


def ssh_config(server: OneServer) -> tuple[str, str]:
    """The options with which ssh and scp find the server."""
    return ("-F", str(server.home / ".ssh/config"))


def random_file(path: Path, megabytes: int) -> Path:
    """A file that nothing makes smaller."""
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(os.urandom(_MEBIBYTE))
    return path


def heading() -> None:
    """Print what the figures depend on."""
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, Linux {os.uname().release}, load {load:.1f} at the start")
