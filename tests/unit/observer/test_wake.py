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
    assert wake_value(asleep, HERE) is None


def test_the_value_is_the_cause_and_nothing_else() -> None:
    value = wake_value(failed(), HERE)
    assert value
    # A role that failed again, for whatever reason, is not woken again.
    assert wake_value(failed(since=ago(seconds=1)), HERE) == value
    # Neither for another flavor, while it names one.
    assert wake_value(failed(), known(flavor(), flavor("gpu", 7))) == value
    others = [
        wake_value(failed(), known(flavor(generation=2))),
        wake_value(failed(), known(remade("f-2"))),
        wake_value(failed(4, 4), HERE),
    ]
    assert len({value, *others}) == 4


def test_the_choice_of_the_default_depends_on_every_flavor() -> None:
    unnamed = failed(flavor=None)
    one, two = flavor("a", default=True), flavor("b", default=True)
    assert wake_value(unnamed, known(one, two)) is None
    assert wake_value(unnamed, known(flavor("a"), flavor("b"))) is None
    alone = wake_value(unnamed, known(one))
    settled = wake_value(unnamed, known(one, flavor("b", 2)))
    assert alone
    assert settled
    assert alone != settled
    assert wake_value(unnamed, known(flavor("b", 2), one)) == settled


@pytest.mark.parametrize("annotations", [{}, {"annotations": None}, {"annotations": {"a": "b"}}])
def test_a_server_that_was_never_woken(annotations: dict[str, Any]) -> None:
    assert parse_server({"metadata": {"name": "a", **annotations}, "spec": {}}).wake == ""
