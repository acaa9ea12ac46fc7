"""A role that failed for lack of a flavor is triggered by the flavor, once for each cause."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from devctl_observer.control.role_controller import Known
from devctl_observer.kinds.servers.model import SERVER
from devctl_observer.kinds.servers.wake import cause

from unit.observer.objects import ago, flavor, server


def failed(generation: int = 3, of: int = 3, *, status: str = "False", **changes: Any) -> Any:
    condition = {
        "type": "Applied",
        "status": status,
        "reason": changes.pop("reason", "Invalid"),
        "observedGeneration": of,
        "lastTransitionTime": changes.pop("since", ago(hours=1)),
    }
    meta = {"generation": generation, **changes.pop("meta", {})}
    return server({"conditions": [condition]}, meta, **changes)


def known(*flavors: Any) -> dict[str, Any]:
    return {f.metadata.name: f for f in flavors}


def remade(uid: str, **of: Any) -> Any:
    found = flavor(**of)
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, uid=uid))


def cause_of(found: Any, flavors: dict[str, Any], grew: str = "never", **known: Any) -> Any:
    return cause(found, flavors, Known(grew=grew, born="now", **known))


HERE = known(flavor())


@pytest.mark.parametrize(
    "asleep",
    [
        server(),
        failed(status="True"),
        failed(status="Unknown"),
        failed(reason="Conflict"),
        failed(of=2),
        failed(meta={"deletionTimestamp": ago(seconds=1)}),
        failed(flavor="gone"),
        failed(flavor=None),
    ],
)
def test_who_is_not_woken(asleep: Any) -> None:
    assert not cause_of(asleep, HERE)


def test_the_value_is_the_cause_and_nothing_else() -> None:
    value = cause_of(failed(), HERE)
    assert value
    # A repeated failure does not trigger the role again.
    assert cause_of(failed(since=ago(seconds=1)), HERE) == value
    # Neither does another flavor, if the server names one.
    assert cause_of(failed(), known(flavor(), flavor("gpu", 7))) == value
    others = [
        cause_of(failed(), known(flavor(generation=2))),
        cause_of(failed(), known(remade("f-2"))),
        cause_of(failed(4, 4), HERE),
    ]
    assert len({value, *others}) == 4


def test_the_choice_of_the_default_depends_on_every_flavor() -> None:
    unnamed = failed(flavor=None)
    one, two = flavor("a", default=True), flavor("b", default=True)
    assert not cause_of(unnamed, known(one, two))
    assert not cause_of(unnamed, known(flavor("a"), flavor("b")))
    alone = cause_of(unnamed, known(one))
    settled = cause_of(unnamed, known(one, flavor("b", 2)))
    assert alone
    assert settled
    assert alone != settled
    assert cause_of(unnamed, known(flavor("b", 2), one)) == settled


def test_uncordoning_the_default_triggers_the_role() -> None:
    unnamed = failed(flavor=None)
    cordoned = cause_of(unnamed, known(flavor("a", default=True, cordoned=True)))
    assert cordoned
    assert cause_of(unnamed, known(flavor("a", 2, default=True))) != cordoned


@pytest.mark.parametrize("annotations", [{}, {"annotations": None}, {"annotations": {"a": "b"}}])
def test_a_server_that_was_never_woken(annotations: dict[str, Any]) -> None:
    assert SERVER.parse({"metadata": {"name": "a", **annotations}, "spec": {}}).wake == ""


@pytest.mark.parametrize(
    "full",
    [
        failed(reason="QuotaExceeded"),
        server({"conditions": [{"type": "Ready", "status": "False", "reason": "QuotaExceeded"}]}),
    ],
    ids=["the role was refused", "its pod was"],
)
def test_who_waits_for_a_quota_is_woken_whenever_there_is_more_room(full: Any) -> None:
    values = [cause_of(full, HERE, grew) for grew in ("never", "7", "7", "9")]
    assert all(values)
    assert values[1] == values[2]
    assert len(set(values)) == 3


@pytest.mark.parametrize("reason", ["Conflict", "Terminating"])
def test_who_has_something_in_its_way_is_woken_when_a_part_of_it_goes(reason: str) -> None:
    values = [cause_of(failed(reason=reason), HERE, gone=uid) for uid in ("", "old", "other")]
    assert not values[0]
    assert len(set(values)) == 3


def test_each_loss_has_a_cause_of_its_own() -> None:
    lost: dict[str, Any] = {"lost": ["the StatefulSet"]}
    values = [cause_of(server(), HERE, gone=uid, **lost) for uid in ("", "u-1", "u-2")]
    values.append(cause_of(server(meta={"generation": 4}), HERE, gone="u-1", **lost))
    assert len({*values, ()}) == 5
