"""What the plan wants of a node."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_cache_agent.plan import Item, Sort, wanted

from unit.cache_agent.items import plan

IMAGE = {"type": "image", "name": "vllm", "image": {"ref": "registry.example/vllm:1"}}


def git(url: str, **more: str) -> dict[str, Any]:
    return {"type": "gitRepo", "name": "repo", "gitRepo": {"url": url, **more}}


def model(repo: str, **more: str) -> dict[str, Any]:
    return {"type": "model", "name": "opt", "model": {"repoId": repo, **more}}


def test_every_sort_of_item_is_understood() -> None:
    commit = "a" * 40
    items, wrong = wanted(
        plan(IMAGE, git("https://git.example/a", branch="x/y", commit=commit), model("gpt2")), {}
    )
    assert items == (
        Item(Sort.IMAGE, "vllm", "registry.example/vllm:1"),
        Item(Sort.MIRROR, "repo", "https://git.example/a", "x/y", commit),
        Item(Sort.MODEL, "opt", "gpt2", "main"),
    )
    assert wrong == ()


@pytest.mark.parametrize(
    ("scope", "labels", "here"),
    [
        ({}, {}, True),
        ({"scope": "allNodes"}, {}, True),
        ({"scope": "nodeSelector", "nodeSelector": {"gpu": "a"}}, {"gpu": "a", "b": "c"}, True),
        ({"scope": "nodeSelector", "nodeSelector": {"gpu": "a"}}, {"gpu": "b"}, False),
        ({"scope": "nodeSelector", "nodeSelector": {"gpu": "a", "b": "c"}}, {"gpu": "a"}, False),
        ({"scope": "nodeSelector", "nodeSelector": {"gpu": ""}}, {}, False),
        ({"scope": "nodeSelector", "nodeSelector": {}}, {"gpu": "a"}, False),
        ({"scope": "nodeSelector"}, {"gpu": "a"}, False),
        ({"scope": "other"}, {}, False),
    ],
)
def test_a_scope_chooses_nodes(scope: dict[str, Any], labels: dict[str, str], here: bool) -> None:  # noqa: FBT001
    items, wrong = wanted(plan({**IMAGE, **scope}), labels)
    assert bool(items) is here
    assert wrong == ()


@pytest.mark.parametrize(
    "item",
    [
        {**IMAGE, "name": "../etc"},
        {**IMAGE, "name": ".."},
        {**IMAGE, "name": ""},
        {**IMAGE, "name": 7},
        {**IMAGE, "image": {"ref": "-x"}},
        {**IMAGE, "image": None},
        {**IMAGE, "type": "folder"},
        git("ext::sh -c id"),
        git("--upload-pack=id"),
        git("file:///etc"),
        git("https://user:password@git.example/a"),
        git("ssh://-oProxyCommand=id/a"),
        git("git@-x:a"),
        git("https://git.example/a b"),
        git("https://git.example/a", branch="--force"),
        git("https://git.example/a", branch="a/../b"),
        git("https://git.example/a", commit="abc"),
        model("../x"),
        model("a/b/c"),
        model("a--b/c"),
        model("a/b", revision="../../x"),
        model("a/b", revision="x/./y"),
    ],
    ids=str,
)
def test_what_could_be_something_else_is_told_and_left_out(item: dict[str, Any]) -> None:
    items, wrong = wanted(plan(item, {**IMAGE, "name": "good"}), {})
    assert [each.name for each in items] == ["good"]
    assert len(wrong) == 1
    assert "is not valid" in wrong[0]


def test_an_item_that_is_there_twice_is_kept_once() -> None:
    items, wrong = wanted(plan(IMAGE, IMAGE), {})
    assert len(items) == len(wrong) == 1


@pytest.mark.parametrize("found", [None, {}, {"spec": None}, {"spec": {"items": {}}}, [], "x"])
def test_without_a_plan_nothing_is_wanted(found: Any) -> None:
    assert wanted(found, {}) == ((), ())


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/vllm-project/vllm.git",
        "ssh://git@host:22/a.git",
        "git@github.com:a/b.git",
    ],
)
def test_the_usual_addresses_are_understood(url: str) -> None:
    ((item,), _) = wanted(plan(git(url)), {})
    assert item.source == url
