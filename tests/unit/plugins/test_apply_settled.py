"""Whether an apply would change nothing."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from apply.fields import is_settled

if TYPE_CHECKING:
    from collections.abc import Callable

MANIFEST: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "s",
        "namespace": "team",
        "labels": {"a": "b"},
        "finalizers": ["f/one"],
        "ownerReferences": [{"uid": "u1", "name": "ada"}],
    },
    "spec": {
        "selector": {"a": "b"},
        "ports": [{"port": 80, "name": "x"}, {"port": 81}],
    },
}
FIELDS = {
    "f:metadata": {
        "f:labels": {"f:a": {}},
        "f:finalizers": {'v:"f/one"': {}},
        "f:ownerReferences": {'k:{"uid":"u1"}': {}},
    },
    "f:spec": {
        "f:selector": {},
        "f:ports": {
            'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}},
            'k:{"port":81,"protocol":"TCP"}': {".": {}, "f:port": {}},
        },
    },
}


def live() -> dict[str, Any]:
    """The object as stored by the server: with defaults, a foreign label and a status."""
    found = copy.deepcopy(MANIFEST)
    found["metadata"]["labels"]["other"] = "x"
    found["spec"] |= {"type": "ClusterIP"}
    for port in found["spec"]["ports"]:
        port["protocol"] = "TCP"
    found["status"] = {}
    entry = {"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": FIELDS}
    found["metadata"]["managedFields"] = [entry]
    return found


def test_an_object_with_defaults_and_foreign_fields_is_settled() -> None:
    assert is_settled(MANIFEST, live(), "us")


@pytest.mark.parametrize(
    "change",
    [
        lambda wanted: wanted["metadata"]["labels"].update(a="c"),
        lambda wanted: wanted["metadata"]["labels"].update(new="c"),
        lambda wanted: wanted["metadata"]["labels"].pop("a"),
        lambda wanted: wanted["metadata"].pop("labels"),
        lambda wanted: wanted["metadata"]["finalizers"].append("f/two"),
        lambda wanted: wanted["metadata"].update(finalizers=["f/two"]),
        lambda wanted: wanted["metadata"]["ownerReferences"][0].update(name="eve"),
        lambda wanted: wanted["metadata"]["ownerReferences"][0].update(uid="u2"),
        lambda wanted: wanted["spec"]["selector"].update(a="c"),
        lambda wanted: wanted["spec"]["ports"].pop(),
        lambda wanted: wanted["spec"]["ports"].append({"port": 82}),
        lambda wanted: wanted["spec"]["ports"][0].update(name="y"),
        lambda wanted: wanted["spec"]["ports"][0].pop("name"),
        lambda wanted: wanted["spec"]["ports"][1].update(port=82),
        lambda wanted: wanted["spec"]["ports"][1].update(protocol="UDP"),
        lambda wanted: wanted.update(spec=None),
        lambda wanted: wanted.update(apiVersion="v2"),
    ],
)
def test_a_changed_manifest_is_not_settled(change: Callable[[dict[str, Any]], Any]) -> None:
    wanted = copy.deepcopy(MANIFEST)
    change(wanted)

    assert not is_settled(wanted, live(), "us")


@pytest.mark.parametrize(
    "drift",
    [
        lambda there: there["metadata"]["labels"].update(a="c"),
        lambda there: there["metadata"].pop("labels"),
        lambda there: there["metadata"].pop("managedFields"),
        lambda there: there["metadata"]["managedFields"][0].update(manager="them"),
        lambda there: there["metadata"]["managedFields"][0].update(operation="Update"),
        lambda there: there["spec"]["ports"].pop(),
        lambda there: there["spec"]["ports"][1].update(port="81"),
        lambda there: there["spec"]["selector"].update(more="x"),
        lambda there: there.update(spec=[]),
    ],
)
def test_a_changed_object_is_not_settled(drift: Callable[[dict[str, Any]], Any]) -> None:
    there = live()
    drift(there)

    assert not is_settled(MANIFEST, there, "us")
