"""The person's own key, made once."""

from __future__ import annotations

import fcntl
import re
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.ssh import paths
from devctl.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PUBLIC = re.compile(r"(ssh-ed25519) ([A-Za-z0-9+/]{60,200}={0,2})(?: [^\r\n]*)?\n?", re.ASCII)
_NAME = "id_ed25519"


class KeyPair(NamedTuple):
    """A key of the person's.

    Attributes:
        private: The file with its secret half.
        public: Its public half, as one line.
    """

    private: Path
    public: str


def own_key() -> KeyPair:
    """The key that opens servers: made the first time, for nothing but that.

    Raises:
        HostError: It cannot be made or read.
    """
    folder = paths.folder()
    private = folder / _NAME
    try:
        # Several sessions may be the first one.
        with (folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not private.exists():
                _make(folder)
            private.chmod(0o600)
            return KeyPair(private, _public(private))
    except OSError as error:
        raise paths.unwritable(private, error) from error


def _make(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".new.", dir=folder) as made:
        comment = f"devctl@{socket.gethostname()}"
        _keygen(["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(Path(made) / _NAME)])
        for name in (f"{_NAME}.pub", _NAME):
            (Path(made) / name).replace(folder / name)


def _public(private: Path) -> str:
    """The public half, from the secret one where its file is gone or of another key's kind."""
    match = _PUBLIC.fullmatch(paths.read(private.with_suffix(".pub")))
    if match is None:
        text = _keygen(["-y", "-P", "", "-f", str(private)])
        match = _PUBLIC.fullmatch(text)
        if match is None:
            raise HostError(
                f"`{private}` is not a key of devctl's", "move it away: a new one is made then"
            )
        paths.replace(private.with_suffix(".pub"), text)
    return match[0].strip()


def _keygen(arguments: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            ["ssh-keygen", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise no_client("ssh-keygen") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"code {done.returncode}"]
        raise HostError(
            f"ssh-keygen failed: {said[-1]}", "fix that, or move the folder `~/.ssh/devctl` away"
        )
    return done.stdout


def no_client(program: str) -> HostError:
    """What is said where the system has no ssh."""
    return HostError(
        f"this machine has no `{program}`",
        "install OpenSSH's client, or use `devctl exec`, which needs none",
    )
