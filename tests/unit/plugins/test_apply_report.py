"""The report of a run."""

from __future__ import annotations

import json
from typing import Any

from apply.report import Report, compare


def thing(version: str = "1", kind: str = "ConfigMap", **fields: Any) -> dict[str, Any]:
    metadata = {"name": "cfg", "namespace": "team", "resourceVersion": version}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def test_equal_resource_versions_are_no_change() -> None:
    assert compare(thing("1"), thing("1")) == "unchanged"
    assert compare(thing("1"), thing("1", data={"a": "b"})) == "configured"  # a dry run
    assert compare(None, thing("1")) == "created"
    assert compare(thing("1", data={"a": "b"}), thing("2", data={"a": "c"})) == "configured"


def test_a_status_written_in_between_is_no_change() -> None:
    assert compare(thing("1", status={"ready": 0}), thing("2", status={"ready": 1})) == "unchanged"


def test_a_second_pass_keeps_what_the_first_one_did() -> None:
    report = Report()
    report.applied(None, thing("1"))
    report.applied(thing("1"), thing("1"))

    assert [entry["action"] for entry in report.objects.values()] == ["created"]
    assert report.changed


def test_the_result_names_every_object() -> None:
    report = Report()
    report.applied(thing("1"), thing("1"))
    assert report.result() == {
        "changed": False,
        "objects": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "cfg",
                "resourceVersion": "1",
                "action": "unchanged",
            }
        ],
        "pruned": [],
    }
    report.deleted(thing("7", "Secret"))
    assert report.changed
    assert report.pruned == [{"apiVersion": "v1", "kind": "Secret", "name": "cfg"}]


def test_a_difference_shows_values_but_no_secret() -> None:
    report = Report()
    report.applied(thing("1", data={"a": "old"}), thing("2", data={"a": "new"}))
    report.applied(
        thing("1", "Secret", data={"a": "b2xk", "b": "c2FtZQ=="}),
        thing("2", "Secret", data={"a": "bmV3", "b": "c2FtZQ=="}),
    )

    plain, secret = report.differences
    assert (plain["before"]["data"], plain["after"]["data"]) == ({"a": "old"}, {"a": "new"})
    assert plain["before_header"] == "ConfigMap team/cfg"
    assert secret["before"]["data"] == {"a": "(hidden)", "b": "(hidden)"}
    assert secret["after"]["data"] == {"a": "(hidden), changed", "b": "(hidden)"}
    assert not any(value in json.dumps(secret) for value in ("b2xk", "bmV3", "c2FtZQ=="))
