"""vLLM itself in a run, on processors, with a tiny model of random weights: `make test-vllm`.

No tier runs this: its image is large, and a start takes a minute or more.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support import cache_plans
from support.cache_plans import planned
from support.stores import git_url, send_model, send_repository
from support.tiers import prepare
from support.tiny_model import write_model
from support.vllm_checkout import PROJECT, new, pushed, write
from support.vllm_cpu import IMAGE, SIZE, UP_SECONDS, copy_sources, serve
from support.vllm_place import completed, vllm_place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.sharing import Shared
    from support.vllm_place import VllmPlace

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

REPOSITORY, MODEL = "vllm-cpu", "tests/tiny"
PROMPT = "What is the capital of Vermont?"
CHANGED = "0.32.0+changed.by.the.test"


class Served(NamedTuple):
    """What a run of the image alone says, and the sources in it."""

    version: str
    said: str
    sources: Path


@pytest.fixture(scope="module")
def nodes(cluster: ClusterSettings) -> list[str]:
    """The nodes of a cluster with all that runs use."""
    assert {"cache", "dra", "stores"} <= set(cluster.parts)
    return [node.name for node in cluster.nodes]


@pytest.fixture(scope="module")
def image(deployed: None, shared: Shared, images: dict[str, Image]) -> str:  # noqa: ARG001
    """vLLM's image, on every node."""
    shared.once(prepare.load, IMAGE, name=f"load-{IMAGE}")
    return images[IMAGE].reference


@pytest.fixture(scope="module")
def vllm(
    kubectl: Kubectl, kubeconfig: Path, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VllmPlace]:
    """A user of the cluster."""
    home = tmp_path_factory.mktemp("user")
    with vllm_place(kubectl, kubeconfig, home, image, f"{image}-{{commit}}") as place:
        yield place


@pytest.fixture(scope="module")
def served(
    vllm: VllmPlace, nodes: list[str], image: str, tmp_path_factory: pytest.TempPathFactory
) -> Served:
    """A run in no checkout, whose model nodes have fetched from the store."""
    above = tmp_path_factory.mktemp("served")
    write_model(above / "tiny")
    send_model(vllm.kubectl, above / "tiny", MODEL)
    with planned(
        vllm.kubectl, nodes, [cache_plans.image("vllm", image), cache_plans.model("tiny", MODEL)]
    ):
        vllm.user.must("vllm", "run", "--name", "cached", *SIZE, "--", *serve(MODEL))
        vllm.up("cached", UP_SECONDS)
        with vllm.forwarded("cached") as client:
            version = client.get("/version").json()["version"]
            said = completed(client, "tiny", PROMPT)
        copy_sources(vllm, "cached", above / "sources")
        vllm.user.must("cleanup", "--name", "cached")
    return Served(version, said, above / "sources")


def test_a_model_of_the_nodes_cache_is_served(served: Served) -> None:
    assert served.version.startswith("0.")
    assert served.said
    assert (served.sources / "vllm/version.py").is_file()


def test_a_change_of_the_checkout_is_seen_in_the_answer(
    vllm: VllmPlace, served: Served, nodes: list[str], image: str
) -> None:
    root, mirror = new(served.sources.with_name("vllm")), served.sources.with_name("mirror.git")
    shutil.copytree(served.sources, root, dirs_exist_ok=True)
    write(root, {"pyproject.toml": PROJECT})
    pushed(root, git_url(REPOSITORY), mirror)
    send_repository(vllm.kubectl, mirror, REPOSITORY)

    version = (root / "vllm/version.py").read_text()
    write(root, {"vllm/version.py": f'{version}\n__version__ = "{CHANGED}"\n'})
    # The model travels with the changes.
    write_model(root / "tiny")
    line = ("vllm", "run", "--name", "changed", "--image", image, *SIZE, "--", *serve("./tiny"))
    with planned(vllm.kubectl, nodes, [cache_plans.mirror(REPOSITORY, git_url(REPOSITORY))]):
        vllm.user.must(*line, cwd=root)
        vllm.up("changed", UP_SECONDS)
        with vllm.forwarded("changed") as client:
            assert client.get("/version").json() == {"version": CHANGED}
            assert [each["id"] for each in client.get("/v1/models").json()["data"]] == ["tiny"]
            assert completed(client, "tiny", PROMPT) == served.said
        vllm.user.must("cleanup", "--name", "changed")
    assert served.version != CHANGED
