"""What this machine has to have."""

from __future__ import annotations

import shutil
from importlib.metadata import PackageNotFoundError, version

from devctl.client.doctor.finding import Finding, ok, warning

_NEEDED = ("ssh", "ssh-keygen")


def programs() -> Finding:
    """The programs that devctl starts."""
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if missing:
        what = " and ".join(f"`{name}`" for name in missing)
        return warning(
            "programs",
            f"this machine has no {what}: `devctl ssh` cannot work",
            "install OpenSSH's client; `devctl exec` needs none",
        )
    return ok("programs", f"devctl {own_version()}, ssh")


def own_version() -> str:
    """The version of devctl."""
    try:
        return version("devctl")
    except PackageNotFoundError:
        return "of unknown version"
