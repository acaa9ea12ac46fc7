"""The Go programs of the local cluster: built once per content of tools/<group>, then cached."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.local import checksums
from devctl.local.commands import run_logged
from devctl.local.paths import REPOSITORY, CachePaths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from devctl.local.go import GoToolchain

TOOLS = REPOSITORY / "tools"
# Everything that decides what a build gives, besides the Go version.
_INPUTS = ("go.mod", "go.sum", "programs.toml")


@dataclass(frozen=True)
class ProgramGroup:
    """Programs that share one module graph."""

    name: str
    builds: tuple[Mapping[str, Any], ...]
    digest: str

    def folder(self, cache: CachePaths) -> Path:
        """Where the programs lie once they are built."""
        return cache.programs / f"{self.name}-{self.digest}"

    @property
    def programs(self) -> list[str]:
        """The names of the programs."""
        return [name for build in self.builds for name in build["programs"]]


def load_groups(go_version: str, tools: Path = TOOLS) -> dict[str, ProgramGroup]:
    """Every group under tools/, by name."""
    groups = {}
    for manifest in sorted(tools.glob("*/programs.toml")):
        digest = hashlib.sha256(go_version.encode())
        for name in _INPUTS:
            digest.update((manifest.parent / name).read_bytes())
        builds = tuple(tomllib.loads(manifest.read_text())["build"])
        name = manifest.parent.name
        groups[name] = ProgramGroup(name, builds, digest.hexdigest()[:16])
    return groups


def link_flags(build: Mapping[str, Any]) -> str:
    """The linker's flags: no debug tables, the version stamps, and C libraries linked in."""
    stamps = (
        f"-X {package}.{variable}={value}"
        for package in build.get("stamp", ())
        for variable, value in build["variables"].items()
    )
    static = ("-extldflags", "-static") if build.get("cgo") else ()
    return " ".join(["-s", "-w", *static, *stamps])


def default_binary_name(package: str) -> str:
    """The name that `go build` gives to a package's program: a version suffix does not count.

    >>> default_binary_name("go.etcd.io/etcd/server/v3")
    'server'
    """
    return re.sub(r"/v\d+$", "", package).rsplit("/", 1)[-1]


def build_environment(build: Mapping[str, Any], cache: CachePaths) -> dict[str, str]:
    """The environment of a build: the caller's registry settings, our own caches and flags."""
    tags = ",".join(build.get("tags", ()))
    return {
        **os.environ,
        "CGO_ENABLED": "1" if build.get("cgo") else "0",
        "GOCACHE": str(cache.go_work / "build"),
        "GOMODCACHE": str(cache.go_work / "modules"),
        "GOFLAGS": f"-trimpath -buildvcs=false -mod=readonly -modcacherw -tags={tags}",
        "GOTOOLCHAIN": "local",
    }


def build_group(
    group: ProgramGroup, go: GoToolchain, cache: CachePaths, report: Callable[[str], None]
) -> Path:
    """Build what is missing of a group and return its folder; a cached one is only looked up.

    The folder appears under its final name only when it is complete.

    Raises:
        StepError: Something could not be fetched or compiled.
    """
    folder = group.folder(cache)
    if folder.is_dir():
        return folder
    started = time.monotonic()
    log = cache.logs / f"programs-{group.name}.log"
    report(f"compiling {group.name} ({len(group.programs)} programs); log: {log}")
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for build in group.builds:
        run_logged(
            [
                *(go.program, "build", "-o", f"{partial}/", "-ldflags", link_flags(build)),
                *build["programs"].values(),
            ],
            log,
            what=f"compile {group.name}",
            env=build_environment(build, cache),
            cwd=TOOLS / group.name,
        )
        for name, package in build["programs"].items():
            (partial / default_binary_name(package)).rename(partial / name)
    checksums.write_sums(partial)
    partial.rename(folder)
    report(f"compiled {group.name} in {time.monotonic() - started:.0f} s")
    return folder
