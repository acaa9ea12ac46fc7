"""Building everything that is missing: programs are compiled while images download."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from devctl.local import buildah, checksums
from devctl.local.images import Image, load_images
from devctl.local.lock import hold
from devctl.local.programs import ProgramGroup, build_group, ensure_go, load_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from devctl.local.paths import CachePaths
    from devctl.local.programs import GoToolchain

# Compiling uses all cores, so groups are compiled one at a time, starting with those for images
# that take long to build. Building images is mostly waiting for downloads.
_COMPILE_ORDER = ("ansible-operator", "containerd", "runc", "kubernetes")
_IMAGE_WORKERS = 2


class Artifacts(NamedTuple):
    """Everything that a cluster is made of."""

    groups: Mapping[str, ProgramGroup]
    images: Mapping[str, Image]
    node_root: Path
    built: frozenset[str]
    """What was missing: `programs/<group>` and `image/<name>`."""


def ensure_built(
    cache: CachePaths, report: Callable[[str], None], also: Collection[str] = ()
) -> Artifacts:
    """Build what is missing and return where everything is.

    Args:
        cache: Where it is stored.
        report: Called with progress messages.
        also: Names of images to build that `up` does not need.

    Raises:
        StepError: A build failed; finished ones stay cached.
        HostError: A cached file is corrupt.
    """
    with hold(cache.lock, "the cache of programs and images", report):
        go = ensure_go(cache)
        groups, images = describe(cache)
        wanted = with_bases((n for n, i in images.items() if i.up or n in also), images)
        needed = needed_groups(groups, wanted)
        needs = plan(needed, wanted, cache)
        if needs:
            _Builder(go, needed, images, cache, report).run(needs)
            shutil.rmtree(cache.go_work, ignore_errors=True)
            buildah.forget_others(images, cache)
        node_root = buildah.unpack(images["node"], cache)
        return Artifacts(needed, images, node_root, frozenset(needs))


def ensure_programs(
    cache: CachePaths, report: Callable[[str], None], names: Collection[str]
) -> dict[str, Path]:
    """Build some groups of programs, without images; returns each group's folder."""
    with hold(cache.lock, "the cache of programs and images", report):
        go = ensure_go(cache)
        groups = load_groups(go.version)
        return {name: build_group(groups[name], go, cache, report) for name in names}


def with_bases(names: Iterable[str], images: Mapping[str, Image]) -> dict[str, Image]:
    """The named images and those that they are built on, bases first."""
    wanted = set(names)
    for image in reversed(list(images.values())):
        if image.name in wanted and image.base:
            wanted.add(image.base)
    return {name: image for name, image in images.items() if name in wanted}


def needed_groups(
    groups: Mapping[str, ProgramGroup], images: Mapping[str, Image]
) -> dict[str, ProgramGroup]:
    """The groups that every cluster needs, and the optional ones that these images are made of."""
    wanted = {group for image in images.values() for group in image.programs}
    return {n: group for n, group in groups.items() if not group.optional or n in wanted}


def describe(cache: CachePaths) -> tuple[dict[str, ProgramGroup], dict[str, Image]]:
    """The programs and images of this checkout, built or not."""
    groups = load_groups(ensure_go(cache).version)
    return groups, load_images(groups)


def plan(
    groups: Mapping[str, ProgramGroup], images: Mapping[str, Image], cache: CachePaths
) -> dict[str, set[str]]:
    """The jobs that are necessary, and for each of them the jobs to do before it.

    Jobs are named ``programs/<group>`` and ``image/<name>``. An image with an archive is rebuilt
    only as the base of another, if buildah's store has lost its layers.
    """
    jobs = {f"programs/{g.name}" for g in groups.values() if not g.folder(cache).is_dir()}
    jobs |= {
        f"image/{i.name}" for i in images.values() if i.pods and not i.archive(cache).is_file()
    }
    if not (cache.node_roots / images["node"].key).is_dir():
        jobs.add("image/node")
    for image in reversed(list(images.values())):  # bases come before what is built on them
        if (
            image.base
            and f"image/{image.name}" in jobs
            and not buildah.has_layers(images[image.base], cache)
        ):
            jobs.add(f"image/{image.base}")
    needs = {f"programs/{name}": set[str]() for name in groups}
    for image in images.values():
        bases = {f"image/{image.base}"} if image.base else set[str]()
        needs[f"image/{image.name}"] = bases | {f"programs/{group}" for group in image.programs}
    return {job: needs[job] & jobs for job in jobs}


@dataclass(frozen=True)
class _Builder:
    """Runs planned jobs, each as soon as those before it are done."""

    go: GoToolchain
    groups: Mapping[str, ProgramGroup]
    images: Mapping[str, Image]
    cache: CachePaths
    report: Callable[[str], None]
    failed: Event = field(default_factory=Event)

    def run(self, needs: Mapping[str, set[str]]) -> None:
        """Do every job; the first failure cancels jobs that have not begun, and is raised."""
        sorter = TopologicalSorter(needs)
        sorter.prepare()
        running: dict[Future[None], str] = {}
        with ThreadPoolExecutor(1) as compilers, ThreadPoolExecutor(_IMAGE_WORKERS) as builders:
            try:
                while sorter.is_active():
                    for job in sorted(sorter.get_ready(), key=_priority):
                        kind, _, name = job.partition("/")
                        if kind == "programs":
                            running[compilers.submit(self._do, self._compile, name)] = job
                        else:
                            running[builders.submit(self._do, self._build, name)] = job
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                        sorter.done(running.pop(future))
            except BaseException:
                for future in running:
                    future.cancel()
                raise

    def _do(self, job: Callable[[str], None], name: str) -> None:
        # A pool's thread may take its next job before it is cancelled.
        if self.failed.is_set():
            return
        try:
            job(name)
        except BaseException:
            self.failed.set()
            raise

    def _compile(self, name: str) -> None:
        build_group(self.groups[name], self.go, self.cache, self.report)

    def _build(self, name: str) -> None:
        started = time.monotonic()
        image = self.images[name]
        base = self.images[image.base] if image.base else None
        buildah.build_image(image, base, self.groups, self.cache)
        self.report(f"built image {name} in {time.monotonic() - started:.0f} s")


def _priority(job: str) -> int:
    name = job.partition("/")[2]
    return _COMPILE_ORDER.index(name) if name in _COMPILE_ORDER else len(_COMPILE_ORDER)


def verify_cached(artifacts: Artifacts, cache: CachePaths) -> None:
    """Raise HostError if a cached program differs from its recorded checksum."""
    for group in artifacts.groups.values():
        checksums.verify(group.folder(cache))
