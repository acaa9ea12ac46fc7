"""Building everything that is missing: programs are compiled while images download."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import nullcontext
from threading import Event, Semaphore
from typing import TYPE_CHECKING, NamedTuple

from devctl.local import buildah
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
    """Build what is missing, and images that only `also` names; returns where everything is.

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
        _build(needs, go, groups, images, cache, report)
        node_root = buildah.unpack(images["node"], cache)
        return Artifacts(needed, images, node_root, frozenset(needs))


def ensure_images(
    cache: CachePaths, report: Callable[[str], None], names: Iterable[str]
) -> Mapping[str, Image]:
    """Build images and what they are made of, as far as it is missing, and nothing else.

    Raises:
        StepError: A build failed; finished ones stay cached.
        HostError: A cached file is corrupt.
    """
    with hold(cache.lock, "the cache of programs and images", report):
        go = ensure_go(cache)
        groups, images = describe(cache)
        wanted = with_bases(names, images)
        made_of = {group for image in wanted.values() for group in image.programs}
        needed = {name: group for name, group in groups.items() if name in made_of}
        _build(plan(needed, wanted, cache), go, groups, images, cache, report)
    return wanted


def _build(  # noqa: PLR0913, PLR0917 - what a build needs
    needs: Mapping[str, set[str]],
    go: GoToolchain,
    groups: Mapping[str, ProgramGroup],
    images: Mapping[str, Image],
    cache: CachePaths,
    report: Callable[[str], None],
) -> None:
    """Do what is planned, and remove what no checkout needs any more."""

    def make(kind: str, name: str) -> None:
        if kind == "programs":
            build_group(groups[name], go, cache, report)
            return
        started = time.monotonic()
        base = images[name].base
        buildah.build_image(images[name], images[base] if base else None, groups, cache)
        report(f"built image {name} in {time.monotonic() - started:.0f} s")

    if needs:
        _run(needs, make)
        shutil.rmtree(cache.go_work, ignore_errors=True)
        buildah.forget_others(images, cache)


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

    Jobs are named ``programs/<group>`` and ``image/<name>``; no job precedes those that it waits
    for. An image with an archive is rebuilt only as the base of another, if buildah's store has
    lost its layers.
    """
    jobs = {f"programs/{g.name}" for g in groups.values() if not g.folder(cache).is_dir()}
    jobs |= {
        f"image/{i.name}" for i in images.values() if i.pods and not i.archive(cache).is_file()
    }
    if "node" in images and not (cache.node_roots / images["node"].key).is_dir():
        jobs.add("image/node")
    for image in reversed(list(images.values())):  # bases come before what is built on them
        if (
            image.base
            and f"image/{image.name}" in jobs
            and not buildah.has_layers(images[image.base], cache)
        ):
            jobs.add(f"image/{image.base}")
    needs = {f"programs/{name}": set[str]() for name in sorted(groups, key=_priority)}
    for image in images.values():
        bases = {f"image/{image.base}"} if image.base else set[str]()
        needs[f"image/{image.name}"] = bases | {f"programs/{group}" for group in image.programs}
    return {job: before & jobs for job, before in needs.items() if job in jobs}


def _priority(group: str) -> int:
    return _COMPILE_ORDER.index(group) if group in _COMPILE_ORDER else len(_COMPILE_ORDER)


def _run(needs: Mapping[str, set[str]], make: Callable[[str, str], None]) -> None:
    """Do planned jobs, each as soon as those before it are done; a failure stops the rest."""
    jobs: dict[str, Future[None]] = {}
    failed = Event()
    slots = Semaphore(_IMAGE_WORKERS)

    def do(kind: str, name: str, before: list[Future[None]]) -> None:
        wait(before)
        with slots if kind == "image" else nullcontext():
            if failed.is_set():
                return
            try:
                make(kind, name)
            except BaseException:
                failed.set()
                raise

    with ThreadPoolExecutor(1) as compilers, ThreadPoolExecutor(len(needs)) as builders:
        try:
            for job, before in needs.items():
                kind, _, name = job.partition("/")
                pool = builders if kind == "image" else compilers
                jobs[job] = pool.submit(do, kind, name, [jobs[need] for need in before])
            for done in as_completed(jobs.values()):
                done.result()
        except BaseException:
            failed.set()
            raise
