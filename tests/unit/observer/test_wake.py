"""A role that failed for its flavor runs again when the flavor is there: once for each cause."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from devctl_observer.servers.model import parse_server
from devctl_observer.servers.wake import wake_value

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


def value_of(found: Any, flavors: dict[str, Any], grew: str = "never") -> str | None:
    return wake_value(found, flavors, grew)


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
    assert value_of(asleep, HERE) is None


def test_the_value_is_the_cause_and_nothing_else() -> None:
    value = value_of(failed(), HERE)
    assert value
    # A role that failed again, for whatever reason, is not woken again.
    assert value_of(failed(since=ago(seconds=1)), HERE) == value
    # Neither for another flavor, while it names one.
    assert value_of(failed(), known(flavor(), flavor("gpu", 7))) == value
    others = [
        value_of(failed(), known(flavor(generation=2))),
        value_of(failed(), known(remade("f-2"))),
        value_of(failed(4, 4), HERE),
    ]
    assert len({value, *others}) == 4


def test_the_choice_of_the_default_depends_on_every_flavor() -> None:
    unnamed = failed(flavor=None)
    one, two = flavor("a", default=True), flavor("b", default=True)
    assert value_of(unnamed, known(one, two)) is None
    assert value_of(unnamed, known(flavor("a"), flavor("b"))) is None
    alone = value_of(unnamed, known(one))
    settled = value_of(unnamed, known(one, flavor("b", 2)))
    assert alone
    assert settled
    assert alone != settled
    assert value_of(unnamed, known(flavor("b", 2), one)) == settled


@pytest.mark.parametrize("annotations", [{}, {"annotations": None}, {"annotations": {"a": "b"}}])
def test_a_server_that_was_never_woken(annotations: dict[str, Any]) -> None:
    assert parse_server({"metadata": {"name": "a", **annotations}, "spec": {}}).wake == ""


@pytest.mark.parametrize(
    "full",
    [
        failed(reason="QuotaExceeded"),
        server({"conditions": [{"type": "Ready", "status": "False", "reason": "QuotaExceeded"}]}),
    ],
    ids=["the role was refused", "its pod was"],
)
def test_who_waits_for_a_quota_is_woken_whenever_there_is_more_room(full: Any) -> None:
    values = [value_of(full, HERE, grew) for grew in ("never", "7", "7", "9")]
    assert all(values)
    assert values[1] == values[2]
    assert len(set(values)) == 3
