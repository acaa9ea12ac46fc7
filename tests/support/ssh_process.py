"""A real sshd that serves git repositories to whoever has a key."""

from __future__ import annotations

import shutil
import socket
import subprocess
from functools import cache
from typing import TYPE_CHECKING

from support.servers import wait_until
from support.unpacked import environment, unpacked

if TYPE_CHECKING:
    from pathlib import Path

_PACKAGES = ("openssh-server", "libwrap0")

# The accounts that sshd asks for are its own: it sees another /etc/passwd than the machine.
_START = """
set -e
mount --make-rprivate /
mount --bind {folder}/passwd /etc/passwd
mkdir -p /run/sshd
exec {program} -D -e -f {folder}/config
"""
_ACCOUNTS = """\
root:*:0:0::/root:/bin/sh
git:*:0:0::/:/bin/sh
sshd:*:65533:65534::/run/sshd:/usr/sbin/nologin
"""
_CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
PidFile none
"""


class SshProcess:
    """sshd on a port of the loopback interface, for the user `git`.

    Args:
        folder: Where its keys are; `client` is the one that it lets in.
    """

    def __init__(self, folder: Path) -> None:
        """Make its keys, and start nothing yet."""
        self._folder = folder
        folder.mkdir()
        for name in ("host", "client", "other"):
            make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(make, check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        (folder / "passwd").write_text(_ACCOUNTS)
        (folder / "config").write_text(_CONFIG.format(port=self.port, folder=folder))
        self._process: subprocess.Popen[bytes] | None = None

    def key(self, name: str) -> bytes:
        """A private key: `client`, or one that it does not know."""
        return (self._folder / name).read_bytes()

    def known_host(self, name: str = "host") -> bytes:
        """The line of known_hosts by which a client believes it, or another key."""
        public = (self._folder / f"{name}.pub").read_text()
        return f"[127.0.0.1]:{self.port} {public}".encode()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        program, variables = _program()
        script = _START.format(folder=self._folder, program=program)
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", script], env=variables, stderr=log
            )
        wait_until(self._serves, (self._folder / "log").read_text)

    def stop(self) -> None:
        """End it."""
        if self._process:
            self._process.terminate()
            self._process.wait(30)

    def _serves(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0


def ensure_sshd() -> None:
    """Bring it along: where a plane runs, nothing can be downloaded."""
    _program()


@cache
def _program() -> tuple[str, dict[str, str]]:
    if found := shutil.which("sshd", path="/usr/sbin"):
        return found, {"PATH": "/usr/sbin:/usr/bin:/bin"}
    root = unpacked("openssh-server", _PACKAGES)
    return str(root / "usr/sbin/sshd"), environment(root)
