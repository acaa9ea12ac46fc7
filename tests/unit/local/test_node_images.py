from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.errors import HostError, NotFoundError, StepError
from devctl.local import checksums
from devctl.local.images import Image
from devctl.local.node_images import (
    export_image,
    import_archive,
    import_missing,
    wait_for_containerd,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.local.paths import CachePaths, ClusterPaths, NodePaths

# Stands for nsenter and the containerd client behind it.
FAKE_NODE = """#!/bin/sh
echo "$*" >> "$0.calls"
case "$*" in *" tag "*) ;; *) cat >> "$0.imported" ;; esac
[ ! -e "$0.fails" ] || { echo "ctr: unexpected EOF" >&2; exit 1; }
"""
IMAGES = [
    Image("etcd", Path("etcd"), version="3.6.8-0", digest="1"),
    Image("node", Path("node"), pods=False, digest="1"),
    Image("pause", Path("pause"), version="3.10.2", digest="1"),
]


@pytest.fixture
def node(paths: ClusterPaths) -> NodePaths:
    node = paths.node("lab-1")
    node.root.mkdir(parents=True)
    return node


@pytest.fixture
def program(fake_program: Callable[[str, str], Path]) -> Path:
    return fake_program("nsenter", FAKE_NODE)


def imported(program: Path) -> list[str]:
    """The archives that were read since the last question."""
    file = program.with_name("nsenter.imported")
    text = file.read_text() if file.exists() else ""
    file.unlink(missing_ok=True)
    return text.split()


def store(image: Image, cache: CachePaths) -> None:
    folder = image.archive_folder(cache)
    folder.mkdir(parents=True)
    image.archive(cache).write_text(f"{image.key}\n")
    checksums.write_sums(folder)


def test_a_node_gets_what_its_pods_use_once(
    node: NodePaths, cache: CachePaths, program: Path
) -> None:
    for image in IMAGES:
        store(image, cache)
    assert import_missing(node, IMAGES, "/ctr", cache) == [
        "localhost/devctl/etcd:3.6.8-0",
        "localhost/devctl/pause:3.10.2",
    ]
    assert imported(program) == ["etcd-1", "pause-1"]
    assert import_missing(node, IMAGES, "/ctr", cache) == []
    assert imported(program) == []


def test_a_node_has_an_image_under_its_further_names_too(
    cache: CachePaths, node: NodePaths, program: Path
) -> None:
    named = replace(IMAGES[0], aliases=("docker.io/library/etcd:latest",))
    store(named, cache)
    import_missing(node, [named], "/ctr", cache)
    *_, last = program.with_name("nsenter.calls").read_text().splitlines()
    assert last.endswith(f"images tag --force {named.reference} docker.io/library/etcd:latest")


def test_new_content_under_the_same_tag_is_imported_again(
    node: NodePaths, cache: CachePaths, program: Path
) -> None:
    rebuilt = replace(IMAGES[0], digest="2")
    for image in (*IMAGES, rebuilt):
        store(image, cache)
    import_missing(node, IMAGES, "/ctr", cache)
    imported(program)
    import_missing(node, [rebuilt, *IMAGES[1:]], "/ctr", cache)
    assert imported(program) == ["etcd-2"]


def test_a_corrupt_archive_is_not_imported(
    node: NodePaths, cache: CachePaths, program: Path
) -> None:
    store(IMAGES[0], cache)
    IMAGES[0].archive(cache).write_text("evil")
    with pytest.raises(HostError, match="is corrupt"):
        import_missing(node, IMAGES, "/ctr", cache)
    assert imported(program) == []


def test_a_refused_import_is_tried_again_next_time(
    node: NodePaths, cache: CachePaths, program: Path
) -> None:
    store(IMAGES[0], cache)
    program.with_name("nsenter.fails").touch()
    with pytest.raises(StepError, match=r"^cannot import `image.tar` .*: ctr: unexpected EOF$"):
        import_missing(node, IMAGES[:1], "/ctr", cache)
    program.with_name("nsenter.fails").unlink()
    assert import_missing(node, IMAGES[:1], "/ctr", cache) == [IMAGES[0].reference]


def test_a_half_written_record_means_nothing_is_there(
    node: NodePaths, cache: CachePaths, program: Path
) -> None:
    store(IMAGES[0], cache)
    node.imported.write_text('{"localhost/devctl/et')
    assert import_missing(node, IMAGES[:1], "/ctr", cache) == [IMAGES[0].reference]
    assert imported(program) == ["etcd-1"]


def test_an_archive_of_ones_own_is_imported(node: NodePaths, tmp_path: Path, program: Path) -> None:
    archive = tmp_path / "mine.tar"
    archive.write_text("mine\n")
    import_archive(node, archive, "/ctr")
    assert imported(program) == ["mine"]


def test_a_containerd_that_never_answers_is_an_error(node: NodePaths, program: Path) -> None:
    program.with_name("nsenter.fails").touch()
    with pytest.raises(StepError, match="containerd does not answer"):
        wait_for_containerd(node, "/ctr", seconds=0)


@pytest.fixture
def stores(
    tmp_path: Path, fake_program: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], Path]:
    """Only the given programs are there to export from."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return fake_program


def test_the_first_store_that_has_an_image_exports_it(
    stores: Callable[[str, str], Path], tmp_path: Path
) -> None:
    target = tmp_path / "image.tar"
    stores("docker", '#!/bin/sh\necho half > "$3"\nexit 1\n')
    stores("podman", '#!/bin/sh\necho "podman $1 $4" > "$3"\n')
    export_image("company/app:1", target)
    assert target.read_text() == "podman save company/app:1\n"


def test_an_image_that_no_store_has_is_not_found(
    stores: Callable[[str, str], Path], tmp_path: Path
) -> None:
    stores("docker", '#!/bin/sh\necho half > "$3"\nexit 1\n')
    with pytest.raises(NotFoundError, match="no image `company/app:1`"):
        export_image("company/app:1", tmp_path / "image.tar")
    assert not (tmp_path / "image.tar").exists()
