"""Somebody who works on vLLM: their checkout, and a cluster that has what it is built on.

The image is a stand-in for vLLM's, which says so; these are fixtures.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support.cache_plans import image, mirror, planned, to_oneself
from support.stores import git_url, send_repository
from support.tiers import prepare
from support.vllm_checkout import PROJECT, git, new, pushed, sources, write
from support.vllm_place import vllm_place
from unit.cli.test_k8shazgpu import KNOWN

from devctl.local import build, steps
from devctl.local.namespaces import enter
from devctl.local.paths import REPOSITORY, cache_paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.cache_plans import Item
    from support.commands import Kubectl
    from support.sharing import Shared
    from support.vllm_place import VllmPlace

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

MAIN, OTHER = "vllm-main", "other"
"""Repositories of the plan: that of the checkout, and one that has nothing to do with it."""

IMAGES = "localhost/devctl/vllm-of"
"""The name of the images of commits."""

_PACKAGE = REPOSITORY / "images/vllm-stand-in/vllm"


class Work(NamedTuple):
    """A checkout as it was pushed.

    Attributes:
        root: Its folder.
        base: The commit that others have.
        mirror: The bare repository that others have.
    """

    root: Path
    base: str
    mirror: Path


@pytest.fixture(scope="session")
def stand_in(deployed: None, shared: Shared, images: dict[str, Image]) -> str:  # noqa: ARG001
    """The image that stands in for vLLM's, on every node."""
    shared.once(prepare.load, "vllm-stand-in", name="load-vllm-stand-in")
    return images["vllm-stand-in"].reference


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, user_programs: None) -> Work:  # noqa: ARG001
    """A checkout of a project that is called vllm, and whose package is the stand-in's."""
    above = tmp_path_factory.mktemp("work")
    root, mirror = new(above / "vllm"), above / "mirror.git"
    package = {f"vllm/{file.name}": file.read_text() for file in _PACKAGE.glob("*.py")}
    write(root, {**package, "pyproject.toml": PROJECT})
    sources(root)
    base = pushed(root, git_url(MAIN), mirror)
    git(root, "remote", "add", "origin", "git@git.example:me/vllm.git")
    return Work(root, base, mirror)


@pytest.fixture(scope="module")
def items(
    kubectl: Kubectl, cluster: ClusterSettings, paths: ClusterPaths, stand_in: str, work: Work
) -> list[Item]:
    """Those of a plan; the stores have them, and nodes the image of the checkout's commit."""
    assert {"cache", "dra", "stores"} <= set(cluster.parts)
    _name_image(cluster, paths, stand_in, f"{IMAGES}:{work.base}")
    send_repository(kubectl, work.mirror, MAIN)
    unrelated = new(work.root.with_name("unrelated"))
    write(unrelated, {"README": "nothing of vLLM's\n"})
    pushed(unrelated, git_url(OTHER), unrelated.with_suffix(".git"))
    send_repository(kubectl, unrelated.with_suffix(".git"), OTHER)
    return [
        *(image(name, stand_in) for name in ("vllm", *_named("--image-name"))),
        mirror(MAIN, git_url(MAIN)),
        *(mirror(name, git_url(MAIN)) for name in _named("--repo-name")),
        mirror(OTHER, git_url(OTHER)),
    ]


@pytest.fixture(scope="module")
def vllm(  # noqa: PLR0913, PLR0917 - all that they are made of
    kubectl: Kubectl,
    kubeconfig: Path,
    cluster: ClusterSettings,
    shared: Shared,
    items: list[Item],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[VllmPlace]:
    """The user, once every node has what is planned."""
    home, pattern = tmp_path_factory.mktemp("user"), f"{IMAGES}:{{commit}}"
    image = str(items[0]["image"]["ref"])
    nodes = [node.name for node in cluster.nodes]
    with (
        vllm_place(kubectl, kubeconfig, home, image, pattern) as place,
        to_oneself(kubectl, shared),
        planned(kubectl, nodes, items),
    ):
        yield place


@pytest.fixture
def checkout(work: Work, tmp_path: Path) -> Path:
    """A copy of the checkout in which the test may do what it likes."""
    copy = tmp_path / "vllm"
    subprocess.run(["cp", "--archive", str(work.root), str(copy)], check=True)
    return copy


def _named(option: str) -> list[str]:
    """What the lines that people know say after an option."""
    lines = [line.split() for line in KNOWN]
    return sorted({line[line.index(option) + 1] for line in lines if option in line})


def _name_image(cluster: ClusterSettings, paths: ClusterPaths, image: str, name: str) -> None:
    """Give an image another name on every node, as if it had been pulled by that."""
    group = build.describe(cache_paths())[0]["containerd"]
    ctr = steps.PROGRAMS_IN_NODE / group.folder(cache_paths()).name / "ctr"
    tag = [str(ctr), "--namespace", "k8s.io", "images", "tag", "--force", image, name]
    for node in cluster.nodes:
        subprocess.run([*enter(paths.node(node.name)), *tag], check=True, capture_output=True)
