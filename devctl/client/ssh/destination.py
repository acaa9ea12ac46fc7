"""A replica of a server as ssh knows it: its names, its key, and how to reach it."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from devctl.client.manifests import check_name
from devctl.client.ssh import keys
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATTERN = """Host *.devctl "!*'*\""""
USER = "dev"
"""The user in devctl's own image."""
_ALIVE = 15
"""Seconds between ssh's keep-alive messages: the kubelet closes idle streams after some hours, and
a dead node closes none."""
_BACKSLASH = re.compile(r"(\\)")
_CONTROLS = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?", re.ASCII)
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True)
class Destination:
    """Where ssh connects to.

    Attributes:
        server: The address of the API server.
        identity: The file with the private key.
        user: The user in the container.
        place: The options `kubeconfig` and `context` of `devctl ssh-proxy`.
        environment: The variables of `devctl ssh-proxy`.
    """

    name: str
    replica: int
    namespace: str
    server: str
    identity: Path
    user: str = USER
    place: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise UsageError if ssh or a shell could misinterpret any of it."""
        check_name(self.name)
        if self.replica < 0:
            raise UsageError(f"there is no replica {self.replica}", "replicas count from 0")
        if not _USER.fullmatch(self.user):
            raise UsageError(f"`{self.user}` cannot be a user's name", "name the user in the image")
        if not _NAMESPACE.fullmatch(self.namespace):
            raise UsageError(f"`{self.namespace}` cannot be a namespace", "name another with -n")
        for text in (*self.place.values(), *self.environment.values(), str(self.identity)):
            if any(category(char) in _CONTROLS for char in text):
                raise UsageError(f"ssh cannot take a path or name with {text!a} in it", "rename it")

    @property
    def host(self) -> str:
        """The host that people type after `ssh`, once `devctl config-ssh` was run."""
        # No server can be called `lab.1`, but one can be `lab-1`.
        return f"{self.name}.{self.replica}.devctl" if self.replica else f"{self.name}.devctl"

    @property
    def alias(self) -> str:
        """The name of the replica's key, which is unique across clusters."""
        return f"{self.host}.{self.suffix}"

    @property
    def suffix(self) -> str:
        """Distinguishes the hosts of a namespace and cluster from others."""
        return f"{self.namespace}.{sha256(self.server.encode()).hexdigest()[:8]}"

    @property
    def known_hosts(self) -> Path:
        """The file that holds only this replica's key."""
        return keys.folder() / "known_hosts" / self.alias

    def options(self) -> list[tuple[str, str]]:
        """The options of ssh, as in its configuration."""
        return [
            # Shared connections are identified by it.
            ("HostName", self.alias),
            ("User", self.user),
            ("ProxyCommand", _shell_line(self.proxy())),
            ("HostKeyAlias", self.alias),
            ("UserKnownHostsFile", _expanded(self.known_hosts)),
            ("GlobalKnownHostsFile", "/dev/null"),
            ("StrictHostKeyChecking", "yes"),
            ("UpdateHostKeys", "no"),
            ("HostKeyAlgorithms", "ssh-ed25519"),
            ("IdentityFile", _expanded(self.identity)),
            ("IdentitiesOnly", "yes"),
            ("PreferredAuthentications", "publickey"),
            # Faster than ssh's own choice, ChaCha20, on processors with instructions for AES.
            ("Ciphers", "aes128-gcm@openssh.com,aes256-gcm@openssh.com,aes128-ctr"),
            ("ServerAliveInterval", str(_ALIVE)),
            ("ServerAliveCountMax", "4"),
        ]

    def proxy(self) -> list[str]:
        """The command that ssh connects through; the last word is the host."""
        env = [f"{name}={value}" for name, value in self.environment.items()]
        place = [word for key, value in self.place.items() for word in (f"--{key}", value)]
        command = [*program(), "ssh-proxy", "--namespace", self.namespace, *place, self.host]
        return ["env", *env, *command] if env else command

    def command(self, argv: Sequence[str] = (), options: Sequence[str] = ()) -> list[str]:
        """The words that start the system's ssh, with further options of ssh.

        Without `argv` it opens a shell. A single word is a line for the shell there, as with ssh;
        several words are quoted, so that they arrive unchanged.
        """
        told = [word for name, value in self.options() for word in ("-o", f"{name}={value}")]
        line = [argv[0] if len(argv) == 1 else shlex.join(argv)] if argv else []
        return ["ssh", *told, *options, "--", self.host, *line]

    def config(self) -> str:
        """A block of ssh's configuration for all present and future servers of the namespace.

        ssh replaces `%n` by the host as it was typed, and `%h` by the host with the suffix.
        """
        known_hosts = str(self.known_hosts.parent).replace("%", "%%")
        varying = {
            "HostName": f"%h.{self.suffix}",
            # A shell runs it. The pattern excludes hosts with a quote in their names, so that none
            # can end the quoted word: a git submodule's URL may name any host.
            "ProxyCommand": f"{_shell_line(self.proxy()[:-1])} '%n'",
            "UserKnownHostsFile": quoted(f"{known_hosts}/%h"),
        }
        # Without an alias, the key is looked up by HostName, which has the same value.
        options = [each for each in self.options() if each[0] != "HostKeyAlias"]
        lines = [f"  {name} {varying.get(name, value)}\n" for name, value in options]
        return "".join([f"{_PATTERN}\n", *lines])


def parse_host(host: str) -> tuple[str, int]:
    """The server and the replica of a host name; raises UsageError for other hosts.

    >>> parse_host("lab.devctl"), parse_host("lab.1.devctl"), parse_host("lab")
    (('lab', 0), ('lab', 1), ('lab', 0))
    """
    name, _, replica = host.lower().removesuffix(".devctl").partition(".")
    if replica and not (replica.isascii() and replica.isdecimal()):
        raise UsageError(
            f"`{host}` is not a server's host name", "write NAME.devctl or NAME.1.devctl"
        )
    check_name(name)
    return name, int(replica[:6] or 0)


def program() -> list[str]:
    """The words that start devctl, independently of the current folder and PATH."""
    script = Path(sys.executable).with_name("devctl")
    if os.access(script, os.X_OK):
        return [str(script)]
    # -P: ignore a folder called `devctl` in the current one.
    return [sys.executable, "-P", "-m", "devctl"]


def _expanded(path: Path) -> str:
    """A path for options in which ssh expands `%`."""
    return quoted(str(path).replace("%", "%%"))


def _shell_line(argv: Sequence[str]) -> str:
    """A command for options in which ssh expands `%` and that it runs in a shell."""
    return " ".join(map(_word, argv)).replace("%", "%%")


def _word(text: str) -> str:
    r"""A word for a shell that survives ssh, which takes any backslash before a quote as an escape.

    >>> print(_word("a b\\"))
    'a b'\\
    """
    parts = [part for part in _BACKSLASH.split(text) if part]
    return "".join(r"\\" if part == "\\" else shlex.quote(part) for part in parts) or "''"


def quoted(path: str) -> str:
    r"""A path in ssh's configuration.

    >>> print(quoted('/home/a "b"'))
    "/home/a \"b\""
    """
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
