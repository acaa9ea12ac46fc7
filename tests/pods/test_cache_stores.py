"""Node caches, filled from the cluster's own registry, git server and model store."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.cache_plans import image, mirror, model, only, to_oneself
from support.caches import Caches
from support.servers import wait_until

from devctl.api.node_cache import ROOT, mirror_path, model_path
from devctl.local.paths import cache_paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.sharing import Shared

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

# The kinds come with the operator.
pytestmark = pytest.mark.usefixtures("deployed")

MIB = 1 << 20
LARGE = 256 * MIB
"""Bytes of what is cut off: long enough to be seen while it is fetched."""
INGESTS = "lib/containerd/io.containerd.content.v1.content/ingest/*/data"
PARTS = f"{ROOT.removeprefix('/var/')}/.staging/model-*/parts/*"


@pytest.fixture
def caches(  # noqa: PLR0913, PLR0917 - all that they are made of
    kubectl: Kubectl,
    cluster: ClusterSettings,
    paths: ClusterPaths,
    images: dict[str, Image],
    shared: Shared,
    namespace: str,
    tmp_path: Path,
) -> Iterator[Caches]:
    assert {"cache", "stores"} <= set(cluster.parts)
    base = images["busybox"].archive(cache_paths())
    with to_oneself(kubectl, shared):
        yield Caches(kubectl, cluster, paths, namespace, base, tmp_path)


@pytest.fixture
def repository(caches: Caches, tmp_path: Path) -> str:
    """A repository with one commit; its URL in a plan."""
    bare, work = tmp_path / "app.git", tmp_path / "work"
    who = ("-c", "user.name=Alice", "-c", "user.email=alice@company.com")
    for command in (
        ("init", "--quiet", "--bare", "--initial-branch=main", str(bare)),
        ("clone", "--quiet", str(bare), str(work)),
        ("-C", str(work), *who, "commit", "--quiet", "--allow-empty", "--message=first"),
        ("-C", str(work), "push", "--quiet", "origin", "HEAD:main"),
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    return caches.stores.add_repository("app", bare)


def test_an_image_a_repository_and_a_model_come_from_the_cluster_s_own_stores(
    caches: Caches, repository: str
) -> None:
    ref = caches.push("test/small", MIB)
    commit = caches.stores.add_model("test/small", MIB)
    caches.plan(image("small", ref), mirror("app", repository), model("small", "test/small"))
    for node in caches.nodes:
        assert caches.wait_for(node, "images", "small", "ready")["bytes"] > MIB
        caches.wait_for(node, "gitRepos", "app", "ready")
        caches.wait_for(node, "models", "small", "ready")
        root = caches.root(node)
        assert (root / mirror_path("app") / "HEAD").read_text() == "ref: refs/heads/main\n"
        snapshot = root / model_path("test/small") / "snapshots" / commit
        assert (snapshot / "weights").stat().st_size == MIB
        caches.start(node, ref)


def test_a_pull_that_is_cut_off_goes_on_where_it_was(caches: Caches) -> None:
    node, ref = caches.last, caches.push("test/large", LARGE)
    caches.plan(image("large", ref, **only(node)))
    caches.stores.cut_off("registry", lambda: caches.has_begun(node, INGESTS, LARGE))
    caches.wait_for(node, "images", "large", "ready")
    log = caches.stores.log("registry")
    answers = [line for line in log if "GET /v2/test/large/blobs" in line]
    assert any(re.search(r'" 206 \d', line) for line in answers), answers
    caches.start(node, ref)


def test_a_download_that_is_cut_off_goes_on_from_its_byte(caches: Caches) -> None:
    node = caches.last
    caches.stores.add_model("test/large", LARGE)
    caches.plan(model("large", "test/large", **only(node)))
    caches.stores.cut_off("models", lambda: caches.has_begun(node, PARTS, LARGE))
    caches.wait_for(node, "models", "large", "ready")

    # The log is written every few seconds.
    def went_on() -> bool:
        found = re.compile(r'/weights HTTP/1.1" range="bytes=[1-9]\d*-" status=206')
        return any(found.search(line) for line in caches.stores.log("models"))

    wait_until(went_on, lambda: str(caches.stores.log("models")))


def test_a_full_disk_is_said_and_harms_nothing_else(caches: Caches) -> None:
    node = caches.last
    old, new = caches.push("test/old", MIB), caches.push("test/new", MIB)
    for name in ("old", "new"):
        caches.stores.add_model(f"test/{name}", MIB)
    before = [image("old", old), model("old", "test/old")]
    caches.plan(*before)
    for field in ("images", "models"):
        caches.wait_for(node, field, "old", "ready")
    try:
        # For the agent, a disk of which 99 % must stay free is full.
        caches.leave_free(99)
        caches.plan(*before, image("new", new), model("new", "test/new"))
        said = caches.wait_for(node, "images", "new", "failed")
        assert "the node's disk is full" in said["message"]
        said = caches.wait_for(node, "models", "new", "failed")
        assert "the cache may take only" in said["message"]
        for field in ("images", "models"):
            caches.wait_for(node, field, "old", "ready")
        caches.start(node, old)
    finally:
        caches.leave_free(3)
    for field in ("images", "models"):
        caches.wait_for(node, field, "new", "ready")
