from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.errors import HostError, StepError
from devctl.local import buildah, checksums
from devctl.local.images import Image
from devctl.local.programs import ProgramGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.local.paths import CachePaths

GROUP = ProgramGroup("go", (), "1")
BASE = Image("base", Path("base"), digest="3")
# Looks at the build context, writes an archive on `push`, and fails where it is told to.
FAKE_BUILDAH = """#!/bin/sh
echo "$*" >> "$0.calls"
while [ "$1" != bud ] && [ "$1" != push ] && [ "$1" != rmi ] && [ "$1" != images ]; do shift; done
verb=$1
[ ! -e "$0.fails-$verb" ] || { echo "cannot $verb" >&2; exit 1; }
for last; do :; done
case $verb in
  bud) (cd "$last" && find . -type f | sort) > "$0.context" ;;
  push) archive=${last#docker-archive:}; echo archive > "${archive%%.tar:*}.tar" ;;
  images) cat "$0.images" ;;
esac
"""


@pytest.fixture
def program(fake_program: Callable[[str, str], Path]) -> Path:
    return fake_program("buildah", FAKE_BUILDAH)


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Image:
    repository = tmp_path / "repository"
    (repository / "code" / "__pycache__").mkdir(parents=True)
    (repository / "code" / "main.py").touch()
    (repository / "code" / "__pycache__" / "main.pyc").touch()
    (repository / "deep" / "er").mkdir(parents=True)
    (repository / "deep" / "er" / "file").touch()
    monkeypatch.setattr(buildah, "REPOSITORY", repository)
    return Image(
        "app",
        repository,
        base="base",
        context=("code", "deep/er/file"),
        programs={"go": ["tool"]},
        args={"LEVEL": "1"},
        digest="2",
    )


@pytest.fixture
def groups(cache: CachePaths) -> dict[str, ProgramGroup]:
    folder = GROUP.folder(cache)
    folder.mkdir(parents=True)
    (folder / "tool").write_bytes(b"tool")
    (folder / "unused").write_bytes(b"unused")
    checksums.write_sums(folder)
    return {"go": GROUP}


def beside(program: Path, name: str) -> Path:
    return program.with_name(f"{program.name}.{name}")


@pytest.mark.usefixtures("program")
def test_an_image_that_no_pod_uses_is_kept_in_the_store_alone(
    image: Image, groups: dict[str, ProgramGroup], cache: CachePaths
) -> None:
    buildah.build_image(replace(image, pods=False), BASE, groups, cache)
    assert list(cache.images.iterdir()) == []


def test_a_built_image_is_a_checked_archive_of_exactly_its_parts(
    program: Path, image: Image, groups: dict[str, ProgramGroup], cache: CachePaths
) -> None:
    buildah.build_image(image, BASE, groups, cache)
    assert image.archive(cache).is_file()
    assert checksums.read_sums(image.archive_folder(cache)).keys() == {"image.tar"}
    assert beside(program, "context").read_text().split() == [
        "./bin/tool",
        "./code/main.py",
        "./deep/er/file",
    ]
    bud, push = beside(program, "calls").read_text().splitlines()
    assert f"--root {cache.buildah / 'root'} " in bud
    assert f"--tag {image.reference} " in bud
    assert f"--build-arg=BASE={BASE.reference} " in bud
    assert "--build-arg=LEVEL=1 " in bud
    assert push.endswith(f":{image.reference}")
    # Nothing else is left in the cache, the context least of all.
    assert list(cache.images.iterdir()) == [image.archive_folder(cache)]


@pytest.mark.parametrize("verb", ["bud", "push"])
def test_a_failed_build_leaves_nothing_under_the_final_name(
    program: Path,
    image: Image,
    groups: dict[str, ProgramGroup],
    cache: CachePaths,
    verb: str,
) -> None:
    beside(program, f"fails-{verb}").touch()
    with pytest.raises(StepError, match=f"image `app`: cannot {verb}$") as raised:
        buildah.build_image(image, BASE, groups, cache)
    assert str(cache.logs / "image-app.log") in raised.value.fix
    assert not image.archive_folder(cache).exists()
    beside(program, f"fails-{verb}").unlink()
    buildah.build_image(image, BASE, groups, cache)
    assert image.archive(cache).is_file()


def test_a_corrupt_program_goes_into_no_image(
    program: Path, image: Image, groups: dict[str, ProgramGroup], cache: CachePaths
) -> None:
    (GROUP.folder(cache) / "tool").write_bytes(b"evil")
    with pytest.raises(HostError, match="is corrupt"):
        buildah.build_image(image, BASE, groups, cache)
    assert not beside(program, "calls").exists()


def test_only_what_no_image_json_describes_is_forgotten(
    program: Path, image: Image, cache: CachePaths
) -> None:
    old = replace(image, digest="old")
    for kept in (image, BASE, old):
        kept.archive_folder(cache).mkdir(parents=True)
    listed = [image.reference, old.reference, "docker.example/someone/else:1", "<none>:<none>"]
    beside(program, "images").write_text("\n".join(listed))
    assert buildah.has_layers(image, cache)
    assert not buildah.has_layers(BASE, cache)
    beside(program, "calls").unlink()
    buildah.forget_others({"app": image, "base": BASE}, cache)
    assert {folder.name for folder in cache.images.iterdir()} == {image.key, BASE.key}
    removals = [c for c in beside(program, "calls").read_text().splitlines() if " rmi " in c]
    assert [removal.split()[-1] for removal in removals] == [old.reference]
