"""The CachePlan: no edit loses an item of another one, and what nodes have."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING, Any

import pytest

from devctl.client.client import Client
from devctl.client.vllm import items
from devctl.client.vllm.items import Item, added, find_item, new_item, removed, updated
from devctl.errors import AlreadyExistsError, DeniedError, DevctlError, NotFoundError, UsageError
from unit.client.fake_cluster import FakeApi
from unit.client.vllm_things import (
    NODE_CACHES,
    PLANS,
    UNKNOWN_KIND,
    VLLM,
    cache_plan,
    node_cache,
)

if TYPE_CHECKING:
    from unit.client.objects import Thing

CUDA = new_item("image", "cuda", {"ref": "nvidia/cuda:1"})
MODEL = new_item("model", "cuda", {"repoId": "a/cuda", "revision": "v1"})
REPO = new_item("gitRepo", "vllm", {"url": "https://host/vllm.git", "branch": "main"})


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def client(api: FakeApi) -> Client:
    return Client(api.cluster())


def stored(api: FakeApi) -> list[str]:
    return [f"{each['type']}/{each['name']}" for each in api.get(PLANS, "default")["spec"]["items"]]


def test_examples() -> None:
    assert doctest.testmod(items).failed == 0


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ("nginx:latest", "nginx-latest"),
        ("nginx", "nginx"),
        ("localhost:5000/team/nginx", "nginx"),
        ("nvidia/cuda:12.1-runtime-ubuntu22.04", "cuda-12.1-runtime-ubuntu22.04"),
        ("public.ecr.aws/q9t5s3a7/vllm-ci:latest", "vllm-ci-latest"),
        ("a/b:1@sha256:abc", "b-1"),
    ],
)
def test_names_of_images(ref: str, name: str) -> None:
    assert items.image_name(ref) == name


@pytest.mark.parametrize("url", ["git@github.com:user/x.git", "ssh://git@host/a/x/", "https://h/x"])
def test_names_of_repositories(url: str) -> None:
    assert items.repo_name(url) == "x"


def test_what_has_no_name_needs_one() -> None:
    with pytest.raises(UsageError, match="cannot be an item's name"):
        new_item("gitRepo", items.repo_name("https://"), {"url": "https://"})


def test_an_item_may_be_for_some_nodes() -> None:
    item = new_item("image", "x", {"ref": "x"}, {"gpu": "h100"})
    assert (item.raw["scope"], item.nodes) == ("nodeSelector", "gpu=h100")
    assert (CUDA.raw["scope"], CUDA.nodes) == ("allNodes", "")
    (changed,) = updated([item], "x", {}, {})
    assert (changed.raw["scope"], changed.nodes) == ("allNodes", "")
    (changed,) = updated([CUDA], "cuda", {"ref": None}, {"a": "b"})
    assert changed.raw["nodeSelector"] == {"a": "b"}


def test_an_item_is_added_once() -> None:
    assert added([CUDA], MODEL) == [CUDA, MODEL]
    # The API server adds the scope if others leave it out.
    there = Item({"type": "image", "name": "cuda", "image": {"ref": "nvidia/cuda:1"}})
    assert added([there], CUDA) == [there]
    with pytest.raises(AlreadyExistsError, match="`cuda` already: nvidia/cuda:1"):
        added([CUDA], new_item("image", "cuda", {"ref": "nvidia/cuda:2"}))


def test_an_item_is_found_by_its_name_and_if_need_be_its_type() -> None:
    assert find_item([CUDA, MODEL, REPO], "vllm") is REPO
    assert find_item([CUDA, MODEL, REPO], "gitrepo/vllm") is REPO
    assert find_item([CUDA, MODEL], "model/cuda") is MODEL
    with pytest.raises(UsageError, match="several items are called `cuda`"):
        find_item([CUDA, MODEL], "cuda")
    with pytest.raises(UsageError, match="`disk` is no type"):
        find_item([CUDA], "disk/cuda")
    with pytest.raises(NotFoundError, match="no item `image/vllm`"):
        find_item([REPO], "image/vllm")
    assert removed([CUDA, MODEL], "model/cuda") == [CUDA]


def test_fields_of_an_item_change() -> None:
    (changed,) = updated([REPO], "vllm", {"branch": "", "commit": "a" * 40, "url": None})
    assert changed.raw["gitRepo"] == {"url": "https://host/vllm.git", "commit": "a" * 40}
    with pytest.raises(UsageError, match="`cuda` is of type image"):
        updated([CUDA], "cuda", {"branch": "main"})


def test_the_first_item_creates_the_plan(api: FakeApi, client: Client) -> None:
    assert client.cache.plan() is None
    plan, new = client.cache.add(CUDA)
    assert (plan.name, new, stored(api)) == ("default", True, ["image/cuda"])
    assert client.cache.add(CUDA)[1] is False
    assert [item.version for item in client.cache.items()] == [""]


def test_an_edit_keeps_what_another_one_adds_meanwhile(
    api: FakeApi, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have read the same plan; the slower one reads it again."""
    api.add(PLANS, cache_plan(VLLM))
    patch, tries = client.cluster.patch, [MODEL]

    def late(*arguments: Any, **options: Any) -> Thing:
        if tries:
            Client(api.cluster()).cache.add(tries.pop())
        return patch(*arguments, **options)

    monkeypatch.setattr(client.cluster, "patch", late)
    assert client.cache.add(CUDA)[1]
    assert stored(api) == ["image/vllm", "model/cuda", "image/cuda"]


def test_a_plan_that_comes_meanwhile_is_kept(
    api: FakeApi, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = client.cluster.create

    def late(*arguments: Any, **options: Any) -> Thing:
        api.add(PLANS, cache_plan(VLLM))
        return create(*arguments, **options)

    monkeypatch.setattr(client.cluster, "create", late)
    client.cache.add(CUDA)
    assert stored(api) == ["image/vllm", "image/cuda"]


def test_who_is_never_fast_enough_is_told(
    api: FakeApi, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.add(PLANS, cache_plan(VLLM))

    def change(*_arguments: Any, **_options: Any) -> Thing:
        raise DevctlError("changed", reason="Conflict")

    monkeypatch.setattr(client.cluster, "patch", change)
    with pytest.raises(DevctlError, match="has changed 8 times meanwhile"):
        client.cache.add(CUDA)


def test_other_refusals_are_passed_on(api: FakeApi, client: Client) -> None:
    api.add(PLANS, cache_plan(VLLM))
    api.refusals["PATCH", PLANS] = (403, "cacheplans is forbidden")
    with pytest.raises(DeniedError, match="cacheplans is forbidden"):
        client.cache.add(CUDA)


def test_several_items_are_removed_or_none(api: FakeApi, client: Client) -> None:
    api.add(PLANS, cache_plan(VLLM, dict(CUDA.raw), dict(MODEL.raw)))
    with pytest.raises(NotFoundError, match="the CachePlan has no item `nothing`"):
        client.cache.remove("vllm", "nothing")
    assert len(stored(api)) == 3
    client.cache.remove("vllm", "model/cuda")
    assert stored(api) == ["image/cuda"]
    assert client.cache.update("cuda", {"ref": "nvidia/cuda:2"})[0].items[0].what == "nvidia/cuda:2"


def test_what_nodes_have(api: FakeApi, client: Client) -> None:
    api.refusals["GET", NODE_CACHES] = UNKNOWN_KIND
    assert client.cache.nodes() == []
    api.refusals.clear()
    image = {"name": "vllm", "status": "pulling", "percent": 40, "bytes": 1024, "message": "x"}
    api.add(NODE_CACHES, node_cache("b"), node_cache("a", images=[image], errors=("disk full",)))
    first, second = client.cache.nodes()
    assert (first.name, first.errors, second.items) == ("a", ["disk full"], [])
    (item,) = first.items
    assert (item.node, item.type, item.name, item.state) == ("a", "image", "vllm", "pulling")
    assert (item.percent, item.size, item.message) == (40, 1024, "x")
    assert first.updated_at
