from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from devctl.errors import DevctlError
from devctl.local.images import Image, load_images
from devctl.local.paths import REPOSITORY
from devctl.local.programs import TOOLS, ProgramGroup, load_groups

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GROUPS = {"go": ProgramGroup("go", ({"programs": {"app": "example.org/app"}},), "1234")}
APP: dict[str, Any] = {
    "name": "app",
    "base": "base",
    "context": ["code", "config.yaml"],
    "programs": {"go": ["app"]},
    "args": {"LEVEL": "1"},
}


def write_image(
    repository: Path, folder: str, manifest: dict[str, Any], containerfile: str = "FROM scratch\n"
) -> None:
    target = repository / "images" / folder
    target.mkdir(parents=True, exist_ok=True)
    (target / "image.json").write_text(json.dumps(manifest))
    (target / "Containerfile").write_text(containerfile)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    write_image(root, "base", {"name": "base", "bootstrap": {"suite": "trixie", "include": ["a"]}})
    write_image(root, "app", APP)
    (root / "code" / "part").mkdir(parents=True)
    (root / "code" / "main.py").write_text("print(1)\n")
    (root / "code" / "part" / "more.py").write_text("print(2)\n")
    (root / "config.yaml").write_text("a: 1\n")
    return root


def app(repository: Path) -> Image:
    return load_images(GROUPS, repository)["app"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda r: (r / "code/main.py").write_text("print(3)\n"), id="content"),
        pytest.param(lambda r: (r / "config.yaml").write_text("a: 2\n"), id="file-of-its-own"),
        pytest.param(lambda r: (r / "code/part/new.py").touch(), id="new-file"),
        pytest.param(lambda r: (r / "code/main.py").rename(r / "code/run.py"), id="name"),
        pytest.param(lambda r: (r / "code/main.py").unlink(), id="removed-file"),
        pytest.param(lambda r: (r / "code/main.py").chmod(0o755), id="executable"),
        pytest.param(lambda r: write_image(r, "app", APP, "FROM x\n"), id="containerfile"),
        pytest.param(lambda r: write_image(r, "app", APP | {"args": {"LEVEL": "2"}}), id="args"),
        pytest.param(lambda r: write_image(r, "app", APP | {"programs": {}}), id="programs"),
        pytest.param(lambda r: write_image(r, "app", APP | {"version": "v2"}), id="version"),
        pytest.param(lambda r: write_image(r, "base", {"name": "base"}), id="base-bootstrap"),
        pytest.param(
            lambda r: (r / "images/base/Containerfile").write_text("FROM x\n"), id="base-content"
        ),
    ],
)
def test_every_input_changes_what_the_archive_is_cached_under(
    repository: Path, change: Callable[[Path], object]
) -> None:
    before = app(repository)
    change(repository)
    assert app(repository).key != before.key


def test_a_rebuilt_program_changes_the_digest(repository: Path) -> None:
    before = app(repository)
    groups = {"go": replace(GROUPS["go"], digest="5678")}
    assert load_images(groups, repository)["app"].digest != before.digest


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda r: (r / "code/main.py").chmod(0o600), id="mode"),
        pytest.param(lambda r: (r / "code/main.py").touch(), id="time"),
        pytest.param(lambda r: (r / "unrelated.py").touch(), id="other-file"),
        pytest.param(lambda r: (r / "code/part/__pycache__").mkdir(), id="empty-folder"),
    ],
)
def test_nothing_else_changes_the_digest(
    repository: Path, change: Callable[[Path], object]
) -> None:
    before = app(repository)
    change(repository)
    assert app(repository) == before


def test_pythons_caches_are_ignored(repository: Path) -> None:
    before = app(repository)
    folder = repository / "code" / "part" / "__pycache__"
    folder.mkdir()
    (folder / "more.cpython-311.pyc").write_bytes(b"compiled")
    assert app(repository) == before


def test_bases_come_first_whatever_they_are_called(repository: Path) -> None:
    write_image(repository, "a", {"name": "a", "base": "m"})
    write_image(repository, "m", {"name": "m", "base": "z"})
    write_image(repository, "z", {"name": "z"})
    names = list(load_images(GROUPS, repository))
    assert sorted(names) == ["a", "app", "base", "m", "z"]
    assert names.index("z") < names.index("m") < names.index("a")


@pytest.mark.parametrize(
    ("name", "base"), [("base", "nowhere"), ("base", "app")], ids=["unknown", "circle"]
)
def test_a_base_that_cannot_be_is_named(repository: Path, name: str, base: str) -> None:
    write_image(repository, "base", {"name": name, "base": base})
    with pytest.raises(DevctlError, match="unknown base"):
        load_images(GROUPS, repository)


def test_variants_share_a_containerfile_and_override_its_manifest(repository: Path) -> None:
    common = {"base": "base", "version": "v1", "pods": False}
    variants = [{"name": "one"}, {"name": "two", "version": "v2", "pods": True}]
    write_image(repository, "both", {**common, "variants": variants})
    images = load_images(GROUPS, repository)
    one, two = images["one"], images["two"]
    assert (one.base, one.version, one.pods) == ("base", "v1", False)
    assert (two.base, two.version, two.pods) == ("base", "v2", True)
    assert one.folder == two.folder
    assert one.digest != two.digest


def test_the_tag_is_the_version_where_one_is_dictated_and_else_the_content(
    repository: Path,
) -> None:
    image = app(repository)
    assert image.reference == f"localhost/devctl/app:{image.digest}"
    assert replace(image, version="v1.2").reference == "localhost/devctl/app:v1.2"


# From here on: this repository's own images.

IMAGES = load_images(load_groups("any"))


def required_version(module: str) -> str:
    go_mod = (TOOLS / "kubernetes" / "go.mod").read_text()
    match = re.search(rf"^\t{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    assert match is not None
    return match[1]


def copied(image: Image) -> list[str]:
    """What an image's Containerfile copies out of the build context."""
    text = (image.folder / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line.split()[1:-1] for line in text.splitlines() if re.match(r"(COPY|ADD) ", line)]
    words = [word for line in lines if not line[0].startswith("--from") for word in line]
    for name, value in image.args.items():
        words = [word.replace(f"${{{name}}}", value) for word in words]
    return words


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
def test_an_image_of_this_repository_names_only_what_there_is(image: Image) -> None:
    groups = load_groups("any")
    assert [entry for entry in image.context if not (REPOSITORY / entry).exists()] == []
    for group, programs in image.programs.items():
        assert set(programs) <= set(groups[group].programs)


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
def test_a_containerfile_of_this_repository_copies_only_what_is_staged(image: Image) -> None:
    staged = {*image.context, *(f"bin/{p}" for names in image.programs.values() for p in names)}
    if image.bootstrap:
        staged.add("base.tar")
    assert set(copied(image)) == staged


@pytest.mark.parametrize(
    ("name", "module", "expected", "tag"),
    [
        ("kube-apiserver", "k8s.io/kubernetes", "v1.36.4", "v1.36.4"),
        ("kube-controller-manager", "k8s.io/kubernetes", "v1.36.4", "v1.36.4"),
        ("kube-proxy", "k8s.io/kubernetes", "v1.36.4", "v1.36.4"),
        ("kube-scheduler", "k8s.io/kubernetes", "v1.36.4", "v1.36.4"),
        ("etcd", "go.etcd.io/etcd/server/v3", "v3.6.8", "3.6.8-0"),
        ("coredns", "github.com/coredns/coredns", "v1.14.2", "v1.14.2"),
    ],
)
def test_kubeadms_images_carry_the_tags_that_kubeadm_names(
    name: str, module: str, expected: str, tag: str
) -> None:
    assert required_version(module) == expected
    assert IMAGES[name].version == tag
