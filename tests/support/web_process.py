"""lighttpd as images/web-stores starts it: as the git server, or as the model store."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from typing import TYPE_CHECKING

from support.servers import wait_until
from support.unpacked import environment, unpacked

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = REPOSITORY / "images" / "web-stores"
_PACKAGES = ("lighttpd", "lighttpd-modules-lua", "liblua5.4-0", "libxxhash0")


class WebProcess:
    """One of them, on a port of the loopback interface.

    Args:
        which: `git` or `models`.
        folder: What it serves; its log is beside it.
    """

    def __init__(self, which: str, folder: Path) -> None:
        """Choose a port, and start nothing yet."""
        self._which, self._folder = which, folder
        self._log = folder.with_suffix(".log")
        self.token = folder.with_suffix(".token")
        """The file with the token, if there is one."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = int(free.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it serves."""
        settings = {
            "ADDRESS": "127.0.0.1",
            "PORT": str(self._port),
            "ACCESS_LOG": str(self._log),
            "REPOSITORIES": str(self._folder),
            "MODELS": str(self._folder),
            "SCRIPT": str(IMAGE / "models.lua"),
            "TOKEN_FILE": str(self.token),
        }
        command, variables = _program()
        configuration = ["-D", "-f", str(IMAGE / f"{self._which}.conf")]
        self._process = subprocess.Popen([*command, *configuration], env=variables | settings)
        wait_until(self._serves, f"the {self._which} server serves")

    def send(self, how: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process
        self._process.send_signal(how)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> str:
        """End it; the requests that it has answered so far."""
        if self._process is not None:
            self.send(how)
            self._process.wait(30)
            self._process = None
        return self._log.read_text() if self._log.exists() else ""

    def _serves(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self._port)) == 0


def ensure_lighttpd() -> None:
    """Bring it along: where a plane runs, nothing can be downloaded."""
    _program()


def _program() -> tuple[list[str], dict[str, str]]:
    """The program with where its modules are, and its environment."""
    if found := shutil.which("lighttpd"):
        return [found], dict(os.environ)
    root = unpacked("lighttpd", _PACKAGES)
    (modules,) = root.glob("usr/lib/**/lighttpd/")
    return [str(root / "usr/sbin/lighttpd"), "-m", str(modules)], environment(root)
