"""Flavors: what they ask for, and what is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devctl.client.flavors import Flavor, Flavors, check_flavor
from devctl.errors import NotFoundError, UsageError
from unit.client.objects import FLAVORS, flavor

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi


@pytest.fixture
def flavors(api: FakeApi) -> Flavors:
    return Flavors(api.cluster())


def test_what_a_flavor_says() -> None:
    gpu = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}
    raw = flavor("gpu-large", gpu, default=True)
    raw["status"]["conditions"] = [{"type": "Schedulable", "status": "False", "message": "no node"}]
    found = Flavor(raw)
    assert (found.cpu, found.memory, found.gpus) == ("8", "32Gi", "1")
    assert (found.default, found.schedulable, found.message) == (True, True, "no node")
    assert (found.limits, found.free, found.total) == ({}, None, None)
    assert Flavor(flavor() | {"status": {}}).schedulable is None
    assert Flavor(flavor("claims", {"cpu": "8", "canhazgpu.com/gpu": 2})).gpus == "2"
    assert Flavor(flavor()).gpus == Flavor(flavor()).message == ""


def test_what_is_free_is_what_the_observer_has_counted(api: FakeApi, flavors: Flavors) -> None:
    full, unseen = flavor("small"), flavor("new") | {"status": {}}
    full["status"] |= {"free": 0, "total": 8}
    api.add(FLAVORS, full, unseen)
    found = {each.name: (each.free, each.total) for each in flavors.list()}
    assert found == {"new": (None, None), "small": (0, 8)}
    # Whoever may read flavors needs no other right.
    assert api.requests == [f"GET {FLAVORS}"]


def test_one_that_is_not_there(api: FakeApi, flavors: Flavors) -> None:
    with pytest.raises(NotFoundError, match="there is no flavor `big`") as raised:
        flavors.get("big")
    assert "devctl flavors" in raised.value.fix
    api.refusals["GET", FLAVORS] = (404, "the server could not find the requested resource")
    with pytest.raises(NotFoundError, match="may not be installed"):
        flavors.get("big")


def test_cordoned_and_uncordoned(api: FakeApi, flavors: Flavors) -> None:
    api.add(FLAVORS, flavor("small"))
    assert not flavors.get("small").cordoned
    assert flavors.cordon("small").message == "cordoned: takes no new servers"
    assert flavors.get("small").cordoned
    assert not flavors.uncordon(flavors.get("small")).cordoned
    for change in (flavors.cordon, flavors.uncordon):
        with pytest.raises(NotFoundError, match="there is no flavor `big`"):
            change("big")


def test_without_a_default_no_cordoned_flavor_is_suggested(api: FakeApi) -> None:
    api.add(FLAVORS, flavor("gone", cordoned=True), flavor("small"))
    with pytest.raises(UsageError, match="no flavor is the default") as raised:
        check_flavor(api.cluster(), None)
    assert raised.value.fix == "name one with --flavor: `small`"
    api.drop(FLAVORS, "small")
    with pytest.raises(UsageError) as raised:
        check_flavor(api.cluster(), None)
    assert raised.value.fix == "have an administrator create a flavor, or uncordon one"
