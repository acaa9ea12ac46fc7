"""Debian packages: the ones the host needs, and a Debian root from the host's own sources."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl.errors import HostError
from devctl.local.commands import capture, run_logged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Program that we call, or file that a compiler reads -> the Debian package that brings it.
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

# Without the option a mirror that cannot be reached is only a warning, and the next step fails.
_UPDATE = ("apt-get", "update", "-o", "APT::Update::Error-Mode=any")


class Source(NamedTuple):
    """One line of apt's sources."""

    uri: str
    suite: str
    component: str

    def line(self) -> str:
        """The one-line form that apt and mmdebstrap read."""
        return f"deb {self.uri} {self.suite} {self.component}"


def parse_targets(output: str, codename: str) -> list[Source]:
    """The host's own Debian sources in what `apt-get indextargets` prints.

    Sources of other distributions and vendors carry other suites and are left out.
    """
    sources = []
    for line in output.splitlines():
        uri, release, component, origin = line.split("|")
        if origin == "Debian" and release.partition("-")[0] == codename:
            sources.append(Source(uri, release, component))
    return sources


def for_suite(sources: Iterable[Source], codename: str, suite: str) -> list[Source]:
    """The same mirrors for another release: `bookworm-security` becomes `trixie-security`."""
    return [s._replace(suite=suite + s.suite.removeprefix(codename)) for s in sources]


def host_sources() -> tuple[str, list[Source]]:
    """The host's codename and its Debian sources.

    Raises:
        HostError: No apt here, or it knows no source of the host's own release.
        StepError: apt could not be asked.
    """
    release = _os_release()
    codename = release.get("VERSION_CODENAME", "")
    if shutil.which("apt-get") is None or not codename:
        raise HostError(
            f"this is {release.get('PRETTY_NAME', 'an unknown system')}, not a Debian with apt",
            "use a Debian 12 machine or newer",
        )
    command = ["apt-get", "indextargets", "--format", _TARGET_FORMAT, "Created-By: Packages"]
    sources = parse_targets(capture(command, what="read apt's sources"), codename)
    if not sources:
        # apt lists no source whose index was never fetched, as on a machine made from an image.
        capture(_UPDATE, what="read apt's sources")
        sources = parse_targets(capture(command, what="read apt's sources"), codename)
    if not sources:
        raise HostError(
            f"apt has no source for `{codename}`", "add the release's own line to its sources"
        )
    return codename, sources


def install_missing(log: Path, programs: Mapping[str, str] = HOST_PROGRAMS) -> list[str]:
    """Install the packages whose programs or files the host lacks; returns their names.

    Args:
        log: Where apt's words go.
        programs: Each program, or absolute path of a file, and the package that brings it.

    Raises:
        StepError: apt could not install them.
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
    """A minimal Debian as a tar file, from the host's mirrors, signatures checked by apt.

    Raises:
        StepError: It could not be made.
    """
    codename, sources = host_sources()
    run_logged(
        [
            *("mmdebstrap", "--variant=minbase", f"--include={','.join(include)}"),
            *("--format=tar", suite, target),
            *(source.line() for source in for_suite(sources, codename, suite)),
        ],
        log,
        what=f"make a Debian {suite} root",
    )


def _is_here(name: str) -> bool:
    return Path(name).exists() if name.startswith("/") else shutil.which(name) is not None


def _os_release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}
