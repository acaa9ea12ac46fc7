"""Debian packages: those that the host needs, and a Debian root from the host's sources."""

from __future__ import annotations

import os
import platform
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl.errors import HostError
from devctl.local.commands import capture, run_logged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A program that we call, or a file that a compiler reads, and its Debian package.
HOST_PROGRAMS: Mapping[str, str] = {
    "/usr/include/seccomp.h": "libseccomp-dev",
    "/usr/include/stdlib.h": "libc6-dev",
    "buildah": "buildah",
    "gcc": "gcc",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
_TARGET_FORMAT = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)"
_READING = "read apt's sources"

# Without the option, an unreachable mirror is only a warning, and the next step fails.
_UPDATE = ("apt-get", "update", "-o", "APT::Update::Error-Mode=any")


class Source(NamedTuple):
    """One line of apt's sources."""

    uri: str
    suite: str
    component: str


def _fetched_sources(codename: str) -> list[Source]:
    """A release's Debian sources whose indexes apt has, without other vendors'."""
    command = ["apt-get", "indextargets", "--format", _TARGET_FORMAT, "Created-By: Packages"]
    sources = []
    for line in capture(command, what=_READING).splitlines():
        uri, suite, component, origin = line.split("|")
        if origin == "Debian" and suite.partition("-")[0] == codename:
            sources.append(Source(uri, suite, component))
    return sources


def host_sources() -> tuple[str, list[Source]]:
    """The host's codename and its Debian sources.

    Raises:
        HostError: There is no apt, or it has no source for the host's release.
        StepError: apt failed.
    """
    release: dict[str, str] = {}
    with suppress(OSError):
        release = platform.freedesktop_os_release()
    codename = release.get("VERSION_CODENAME", "")
    if shutil.which("apt-get") is None or not codename:
        raise HostError(
            f"this is {release.get('PRETTY_NAME', 'an unknown system')}, not a Debian with apt",
            "use a Debian 12 machine or newer",
        )
    sources = _fetched_sources(codename)
    if not sources:  # no index was ever fetched, as on a new machine
        capture(_UPDATE, what=_READING)
        sources = _fetched_sources(codename)
    if not sources:
        raise HostError(
            f"apt has no source for `{codename}`", "add the release's own line to its sources"
        )
    return codename, sources


def install_missing(log: Path, programs: Mapping[str, str] = HOST_PROGRAMS) -> list[str]:
    """Install the packages of missing programs, or files by absolute path; returns their names.

    Raises:
        StepError: apt failed.
    """
    missing = sorted({package for name, package in programs.items() if not _is_here(name)})
    if missing:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        what = f"install {', '.join(missing)}"
        run_logged(_UPDATE, log, what=what, env=environment)
        command = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
        run_logged(command, log, what=what, env=environment)
    return missing


def make_root(target: Path, suite: str, include: Sequence[str], log: Path) -> None:
    """Create a tar file of a minimal Debian from the host's mirrors; apt checks signatures."""
    codename, sources = host_sources()
    # The same mirrors have other releases: `bookworm-security` becomes `trixie-security`.
    lines = [
        f"deb {uri} {suite}{own.removeprefix(codename)} {component}"
        for uri, own, component in sources
    ]
    run_logged(
        [
            *("mmdebstrap", "--variant=minbase", f"--include={','.join(include)}"),
            *("--format=tar", suite, target),
            *lines,
        ],
        log,
        what=f"make a Debian {suite} root",
    )


def _is_here(name: str) -> bool:
    return Path(name).exists() if name.startswith("/") else shutil.which(name) is not None
