"""What is needed of the CachePlan, and the labels of nodes that have it."""

from __future__ import annotations

import doctest
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from devctl.api import cache_affinity, node_cache
from devctl.api.cache_affinity import WEIGHTS, items_of, needed, terms
from devctl.api.node_cache import PREFIX, label_of

PLAN: list[dict[str, Any]] = [
    {"type": "image", "name": "z", "image": {"ref": "docker.io/library/python:3"}},
    {"type": "image", "name": "a", "image": {"ref": "python:3"}},
    {"type": "image", "name": "other", "image": {"ref": "python:4"}},
    {"type": "gitRepo", "name": "main", "gitRepo": {"url": "https://host/vllm.git"}},
    {"type": "model", "name": "opt", "model": {"repoId": "facebook/opt-125m"}},
    {"type": "model", "name": "main", "model": {"repoId": "x/main"}},
]
NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?", fullmatch=True)
_QUALIFIED = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def test_examples() -> None:
    for module in (cache_affinity, node_cache):
        assert doctest.testmod(module).failed == 0


def test_an_image_counts_by_whatever_name_it_is_called() -> None:
    assert needed(PLAN, image="python:3") == [("image", "a"), ("image", "z")]
    assert needed(PLAN, image="python") == []
    assert needed(PLAN) == needed([], image="python:3", repo="main", models=["opt"]) == []


def test_names_count_for_their_type_only() -> None:
    assert needed(PLAN, repo="main") == [("gitRepo", "main")]
    assert needed(PLAN, repo="opt", models=["main", "no"]) == [("model", "main")]


def test_a_cluster_without_a_plan_prefers_nothing() -> None:
    assert terms(needed(items_of([]), image="python:3", repo="main", models=["opt"])) == []
    assert items_of([{"spec": {}}]) == []


def test_all_that_is_needed_weighs_no_more_than_a_preferred_node() -> None:
    names = needed(PLAN, image="python:3", repo="main", models=["main", "opt"])
    found = terms(names)
    assert sum(term["weight"] for term in found) == sum(WEIGHTS.values()) == 100
    assert [term["weight"] for term in found] == [20, 25, 25, 15, 15]
    (expression,) = found[0]["preference"]["matchExpressions"]
    assert expression == {"key": f"{PREFIX}git.main", "operator": "In", "values": ["ready"]}


@given(kind=st.sampled_from(sorted(WEIGHTS)), one=NAMES, other=NAMES)
def test_every_name_has_a_label_of_its_own(kind: str, one: str, other: str) -> None:
    for name in (one, other, one * 9):
        prefix, _, rest = label_of(kind, name).partition("/")
        assert prefix == PREFIX.rstrip("/")
        assert _QUALIFIED.fullmatch(rest)
    assert (label_of(kind, one) == label_of(kind, other)) == (one == other)
    assert label_of("image", one) != label_of("model", one)
