"""A real Redis as images/redis starts it: the host's program, or that of its release's packages."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from functools import cache
from typing import TYPE_CHECKING

from support.servers import wait_until
from support.unpacked import environment, unpacked

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = REPOSITORY / "images" / "redis"
PASSWORD = "a word of its own"  # noqa: S105
_PACKAGES = ("redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1")


class RedisProcess:
    """Redis on a socket, with its data in a folder.

    Args:
        folder: Where the data, the password and the socket are.
    """

    def __init__(self, folder: Path) -> None:
        """Start nothing yet."""
        self._folder = folder
        self.socket, self.password = folder / "redis.sock", folder / "password"
        self.password.write_text(f"{PASSWORD}\n")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self._process = self.start_script()
        wait_until(lambda: self.answer("PING") == "PONG", self._log)

    def start_script(self) -> subprocess.Popen[bytes]:
        """Only start it."""
        command = [
            *("sh", str(IMAGE / "start.sh"), "--port", "0"),
            *("--unixsocket", str(self.socket), "--logfile", str(self._folder / "log")),
        ]
        paths = {
            "PASSWORD_FILE": str(self.password),
            "CONFIG_FILE": str(IMAGE / "redis.conf"),
            "DATA": str(self._folder),
            "ACCOUNTS_FILE": str(self._folder / "users.acl"),
        }
        return subprocess.Popen(command, env=_environment() | paths)

    def lose(self) -> None:
        """Kill it, and with it all that it knew."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self._folder / "appendonlydir", ignore_errors=True)

    def has_written(self, text: str) -> bool:
        """Whether a text is in the files that it starts from."""
        files = (self._folder / "appendonlydir").glob("*")
        return any(text.encode() in file.read_bytes() for file in files)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def answer(self, *command: str) -> str:
        """What a command answers on the tool's behalf, who has no password."""
        options = ("redis-cli", "--raw", "-s", str(self.socket))
        done = subprocess.run(
            [*options, *command], env=_environment(), capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def _log(self) -> str:
        log = self._folder / "log"
        return log.read_text()[-2000:] if log.exists() else "it has no log"


def ensure_redis() -> None:
    """Bring its programs along: where a plane runs, nothing can be downloaded."""
    _found()


def _environment() -> dict[str, str]:
    return os.environ | _found()


@cache
def _found() -> dict[str, str]:
    """What puts the programs on the path; unpacked, since the package would start a server."""
    if shutil.which("redis-server") and shutil.which("redis-cli"):
        return {}
    return environment(unpacked("redis", _PACKAGES))
