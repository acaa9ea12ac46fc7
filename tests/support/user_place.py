"""A namespace of a user who has no more rights than devctl's own roles give."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from support.command_line import CommandLine
from support.servers import SMALL, DevServer, apply_flavor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

ACCOUNT = "user"


@dataclass(frozen=True)
class UserPlace:
    """What the tests of a module have to themselves.

    Attributes:
        name: The namespace, and a flavor for small servers.
        kubectl: The administrator's.
        user: The user's shell.
        administrator: The administrator's, in the same namespace.
    """

    name: str
    kubectl: Kubectl
    user: CommandLine
    administrator: CommandLine

    @property
    def options(self) -> tuple[str, ...]:
        """What `devctl create` is told so that a server is small."""
        return ("--flavor", self.name, "--home-size", "10Mi")

    @property
    def owner(self) -> str:
        """Whom the API server takes the user for."""
        return f"system:serviceaccount:{self.name}:{ACCOUNT}"

    def server(self, name: str, **spec: Any) -> DevServer:
        """A server as the administrator looks at it, or makes it for the user."""
        common = {"owner": self.owner, "flavor": self.name, "image": "none:1"}
        return DevServer(self.kubectl, self.name, common | spec, name)


def account_kubeconfig(
    kubectl: Kubectl, administrator: Path, namespace: str, account: str, home: Path
) -> Path:
    """A kubeconfig of a new service account, which may do what is bound to it."""
    kubectl("-n", namespace, "create", "serviceaccount", account)
    token = kubectl("-n", namespace, "create", "token", account, "--duration=2h").strip()
    options = (f"--kubeconfig={administrator}", "--flatten", "--minify", "-o", "json")
    config = json.loads(kubectl("config", "view", *options))
    config["users"][0]["user"] = {"token": token}
    config["contexts"][0]["context"]["namespace"] = namespace
    file = home / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


@contextmanager
def user_place(
    kubectl: Kubectl, administrator: Path, home: Path, image: str
) -> Iterator[UserPlace]:
    """A namespace, its user and a flavor; all servers in it are deleted in the end.

    Args:
        kubectl: The administrator's.
        administrator: Their kubeconfig.
        home: The user's home on this machine.
        image: Of servers that name none.
    """
    name = f"user-{uuid4().hex[:6]}"
    kubectl("create", "namespace", name)
    apply_flavor(kubectl, name, resources=SMALL)
    kubeconfig = account_kubeconfig(kubectl, administrator, name, ACCOUNT, home)
    role = ("--clusterrole=devctl-user", f"--serviceaccount={name}:{ACCOUNT}")
    kubectl("-n", name, "create", "rolebinding", ACCOUNT, *role)
    user = CommandLine(kubeconfig, name, home, {"DEVCTL_IMAGE": image})
    yield UserPlace(name, kubectl, user, replace(user, kubeconfig=administrator))
    # Before its namespace and its flavor, so that the operator has nothing to retry.
    kubectl("-n", name, "delete", "devserver", "--all")
    kubectl("delete", "devserverflavor", name)
    kubectl("delete", "namespace", name, "--wait=false")
