"""The person's own key, and the private folder for everything that ssh needs."""

from __future__ import annotations

import fcntl
import re
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl.errors import HostError
from devctl.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PUBLIC = re.compile(r"(ssh-ed25519) ([A-Za-z0-9+/]{60,200}={0,2})(?: [^\r\n]*)?\n?", re.ASCII)
_NAME = "id_ed25519"
_FOLDER = 0o700


class KeyPair(NamedTuple):
    """The file with a private key, and the public key as one line."""

    private: Path
    public: str


def own_key() -> KeyPair:
    """The key for servers only, generated on first use; raises HostError if that is impossible."""
    own = folder()
    private = own / _NAME
    # Several sessions may be the first one.
    with writing(private), (own / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not private.exists():
            _make(own)
        private.chmod(0o600)
        return KeyPair(private, _public(private))


def _make(own: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".new.", dir=own) as made:
        comment = f"devctl@{socket.gethostname()}"
        _keygen(["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(Path(made) / _NAME)])
        for name in (f"{_NAME}.pub", _NAME):
            (Path(made) / name).replace(own / name)


def _public(private: Path) -> str:
    """The public key, from the private one if its file is missing or damaged."""
    match = _PUBLIC.fullmatch(read(private.with_suffix(".pub")))
    if match is None:
        text = _keygen(["-y", "-P", "", "-f", str(private)])
        match = _PUBLIC.fullmatch(text)
        if match is None:
            raise HostError(
                f"`{private}` is not a key of devctl's", "move it away: a new one is generated then"
            )
        replace(private.with_suffix(".pub"), text)
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
    """The error of a machine without OpenSSH."""
    return HostError(
        f"this machine has no `{program}`",
        "install OpenSSH's client, or use `devctl exec`, which needs none",
    )


def folder() -> Path:
    """The folder `~/.ssh/devctl`, created if necessary; raises HostError if that is impossible."""
    path = config_file().parent
    with writing(path):
        path.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
        path.mkdir(mode=_FOLDER, exist_ok=True)
    return path


def config_file() -> Path:
    """Devctl's own configuration of ssh."""
    return Path.home() / ".ssh" / "devctl" / "config"


def users_config() -> Path:
    """The person's configuration of ssh, which includes it."""
    return Path.home() / ".ssh" / "config"


def replace(path: Path, text: str) -> None:
    """Replace a file atomically; raises HostError if it cannot be written."""
    with writing(path):
        write_file(path, text)


def read(path: Path) -> str:
    """The contents of a file, if it exists; raises HostError if it cannot be read."""
    try:
        return path.read_bytes().decode(errors="surrogateescape")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise HostError(
            f"`{path}` cannot be read: {error.strerror or error}",
            "give yourself permission to read it",
        ) from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise HostError if a file cannot be written in a `with` block."""
    try:
        yield
    except OSError as error:
        raise HostError(
            f"`{path}` cannot be written: {error.strerror or error}",
            "free space there, or give yourself permission to write it",
        ) from error
