from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.errors import HostError, StepError
from devctl.local import build, buildah, checksums, steps
from devctl.local.build import Artifacts, ensure_built, plan
from devctl.local.images import Image
from devctl.local.programs import GoToolchain, ProgramGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from devctl.local.paths import CachePaths, ClusterPaths
    from devctl.local.settings import ClusterSettings

GROUPS = {name: ProgramGroup(name, (), "1") for name in ("containerd", "kubernetes")}
IMAGES = {
    image.name: image
    for image in [
        Image("base", Path("base"), digest="1"),
        Image("etcd", Path("etcd"), programs={"kubernetes": ["etcd"]}, digest="1"),
        Image("middle", Path("middle"), base="base", digest="1"),
        Image("node", Path("node"), base="base", digest="1"),
        Image("top", Path("top"), base="middle", programs={"containerd": ["ctr"]}, digest="1"),
    ]
}
EVERYTHING = {*(f"programs/{name}" for name in GROUPS), *(f"image/{name}" for name in IMAGES)}


def make(cache: CachePaths, jobs: Iterable[str]) -> None:
    """Leave what these jobs leave."""
    for job in jobs:
        kind, _, name = job.partition("/")
        if kind == "programs":
            GROUPS[name].folder(cache).mkdir(parents=True)
        else:
            IMAGES[name].archive_folder(cache).mkdir(parents=True)
            IMAGES[name].archive(cache).touch()


def layers(monkeypatch: pytest.MonkeyPatch, kept: Iterable[str]) -> None:
    names = set(kept)
    monkeypatch.setattr(buildah, "has_layers", lambda image, _cache: image.name in names)


@pytest.fixture
def node_root(cache: CachePaths) -> None:
    (cache.node_roots / IMAGES["node"].key).mkdir(parents=True)


def test_what_is_wanted_is_built_on_what_it_is_made_of() -> None:
    assert list(build.with_bases(["top", "etcd"], IMAGES)) == ["base", "etcd", "middle", "top"]


def test_an_optional_group_is_built_only_for_images_that_need_it() -> None:
    groups = GROUPS | {"extra": ProgramGroup("extra", (), "1", optional=True)}
    assert build.needed_groups(groups, IMAGES) == GROUPS
    special = Image("special", Path("special"), programs={"extra": ["more"]}, digest="1")
    assert build.needed_groups(groups, IMAGES | {"special": special}) == groups


@pytest.mark.usefixtures("node_root")
def test_an_image_that_no_pod_uses_is_built_for_others_only(
    cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no archive that could be missing."""
    images = IMAGES | {"middle": replace(IMAGES["middle"], pods=False)}
    make(cache, EVERYTHING - {"image/middle"})
    layers(monkeypatch, kept=["base"])
    assert plan(GROUPS, images, cache) == {}
    images["top"] = replace(images["top"], digest="2")
    assert plan(GROUPS, images, cache) == {"image/middle": set(), "image/top": {"image/middle"}}


@pytest.mark.usefixtures("node_root")
def test_nothing_is_built_where_everything_is_there(
    cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache, EVERYTHING)
    layers(monkeypatch, kept=[])
    assert plan(GROUPS, IMAGES, cache) == {}


def test_from_nothing_everything_waits_for_what_it_is_made_of(
    cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers(monkeypatch, kept=[])
    assert plan(GROUPS, IMAGES, cache) == {
        "programs/containerd": set(),
        "programs/kubernetes": set(),
        "image/base": set(),
        "image/etcd": {"programs/kubernetes"},
        "image/middle": {"image/base"},
        "image/node": {"image/base"},
        "image/top": {"image/middle", "programs/containerd"},
    }


@pytest.mark.usefixtures("node_root")
@pytest.mark.parametrize(
    ("missing", "kept", "expected"),
    [
        pytest.param({"image/etcd"}, [], {"image/etcd": set()}, id="without-a-base"),
        pytest.param({"image/top"}, ["middle"], {"image/top": set()}, id="layers-kept"),
        pytest.param(
            {"image/top"},
            [],
            {"image/base": set(), "image/middle": {"image/base"}, "image/top": {"image/middle"}},
            id="layers-lost",
        ),
        pytest.param(
            {"image/top"},
            ["base"],
            {"image/middle": set(), "image/top": {"image/middle"}},
            id="some-layers-lost",
        ),
        pytest.param(
            {"programs/containerd"}, [], {"programs/containerd": set()}, id="program-only"
        ),
    ],
)
def test_only_what_is_missing_is_built(
    cache: CachePaths,
    monkeypatch: pytest.MonkeyPatch,
    missing: set[str],
    kept: list[str],
    expected: dict[str, set[str]],
) -> None:
    make(cache, EVERYTHING - missing)
    layers(monkeypatch, kept)
    assert plan(GROUPS, IMAGES, cache) == expected


def test_a_lost_node_root_is_made_again_on_a_base_that_is_there(
    cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache, EVERYTHING)
    layers(monkeypatch, kept=[])
    assert plan(GROUPS, IMAGES, cache) == {"image/base": set(), "image/node": {"image/base"}}


class Workshop:
    """Stands for everything that takes long; `done` has the jobs in the order of their begin."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: str = "") -> None:
        self.done: list[str] = []
        self.failing = failing
        layers(monkeypatch, kept=[])
        monkeypatch.setattr(build, "ensure_go", lambda _: GoToolchain("go", "go1.26.6"))
        monkeypatch.setattr(build, "describe", lambda _: (GROUPS, IMAGES))
        monkeypatch.setattr(build, "build_group", self.build_group)
        monkeypatch.setattr(buildah, "build_image", self.build_image)
        monkeypatch.setattr(buildah, "forget_others", lambda _images, _cache: None)
        monkeypatch.setattr(buildah, "unpack", lambda image, cache: cache.node_roots / image.key)

    def build_group(
        self, group: ProgramGroup, _go: GoToolchain, cache: CachePaths, _report: object
    ) -> Path:
        self.do(f"programs/{group.name}", cache)
        return group.folder(cache)

    def build_image(
        self, image: Image, base: Image | None, _groups: object, cache: CachePaths
    ) -> None:
        assert (base.name if base else None) == image.base
        self.do(f"image/{image.name}", cache)

    def do(self, job: str, cache: CachePaths) -> None:
        self.done.append(job)
        if job == self.failing:
            raise StepError(f"cannot make {job}")
        make(cache, [job])


@pytest.fixture
def workshop(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Workshop]:
    return lambda failing: Workshop(monkeypatch, failing)


def test_everything_is_built_once_and_after_what_it_needs(
    cache: CachePaths, workshop: Callable[[str], Workshop]
) -> None:
    shop = workshop("")
    cache.go_work.mkdir(parents=True)
    ensure_built(cache, lambda _: None)
    assert sorted(shop.done) == sorted(EVERYTHING)
    for job, needs in {
        "image/etcd": ["programs/kubernetes"],
        "image/node": ["image/base"],
        "image/top": ["image/middle", "programs/containerd"],
    }.items():
        assert all(shop.done.index(need) < shop.done.index(job) for need in needs)
    assert not cache.go_work.exists()


def test_an_image_alone_is_built_with_what_it_is_made_of(
    cache: CachePaths, workshop: Callable[[str], Workshop]
) -> None:
    shop = workshop("")
    images = build.ensure_images(cache, lambda _: None, ["top"])
    assert list(images) == ["base", "middle", "top"]
    wanted = {"programs/containerd", "image/base", "image/middle", "image/top"}
    assert sorted(shop.done) == sorted(wanted)
    shop.done.clear()
    build.ensure_images(cache, lambda _: None, ["top"])
    assert shop.done == []


@pytest.mark.parametrize(
    ("failing", "never"),
    [
        ("image/base", {"image/middle", "image/node", "image/top"}),
        ("image/middle", {"image/top"}),
        ("programs/kubernetes", {"image/etcd"}),
        # Programs compile one after the other; the next one takes minutes.
        ("programs/containerd", {"programs/kubernetes", "image/etcd", "image/top"}),
    ],
)
def test_a_failed_job_stops_the_rest_and_comes_out(
    cache: CachePaths, workshop: Callable[[str], Workshop], failing: str, never: set[str]
) -> None:
    shop = workshop(failing)
    with pytest.raises(StepError, match=f"^cannot make {failing}$"):
        ensure_built(cache, lambda _: None)
    assert never.isdisjoint(shop.done)


def test_what_was_finished_before_a_failure_is_not_built_again(
    cache: CachePaths, workshop: Callable[[str], Workshop], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = workshop("image/top")
    with pytest.raises(StepError, match=r"^cannot make image/top$"):
        ensure_built(cache, lambda _: None)
    finished = set(shop.done) - {"image/top"}
    shop.done.clear()
    shop.failing = ""
    layers(monkeypatch, kept=[job.partition("/")[2] for job in finished])
    (cache.node_roots / IMAGES["node"].key).mkdir(parents=True)
    ensure_built(cache, lambda _: None)
    assert finished.isdisjoint(shop.done)
    assert "image/top" in shop.done


def test_a_corrupt_cached_program_is_named(
    cluster: ClusterSettings,
    paths: ClusterPaths,
    cache: CachePaths,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Artifacts(GROUPS, {}, cache.node_roots, built=frozenset())
    monkeypatch.setattr(build, "ensure_built", lambda *_: made)
    for group in GROUPS.values():
        group.folder(cache).mkdir(parents=True)
        (group.folder(cache) / "program").write_bytes(b"good")
        checksums.write_sums(group.folder(cache))
    context = steps.Context(cluster, paths, cache, lambda _: None)
    assert not steps.artifacts(context)["changed"]
    damaged = GROUPS["kubernetes"].folder(cache) / "program"
    damaged.write_bytes(b"evil")
    with pytest.raises(HostError, match="is corrupt") as raised:
        steps.artifacts(context)
    assert str(damaged) in raised.value.message
    assert raised.value.fix == f"remove `{damaged.parent}` and run it again"
