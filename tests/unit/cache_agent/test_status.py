"""What is reported, in the bounds of the kind."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import yaml
from devctl_cache_agent.agent import Board
from devctl_cache_agent.status import FAILED, READY, Entry, content, shown, stamped

from devctl.api.node_cache import MAX_ERRORS, MAX_ITEMS, MAX_MESSAGE
from devctl.local.paths import REPOSITORY
from unit.cache_agent.items import image, mirror, model


def schema() -> dict[str, Any]:
    crd = yaml.safe_load((REPOSITORY / "config/crd/nodecachestatus.yaml").read_text())
    found = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    fields: dict[str, Any] = found["properties"]
    return fields


def test_each_sort_has_its_list_in_the_order_of_names() -> None:
    entries = {
        mirror("b"): Entry(READY, present=True, message="at commit 0123", length=7),
        model(): Entry(FAILED, present=True, message="no"),
    }
    found = content([image(), mirror("b"), mirror("a"), model()], entries, ["x", "x"])
    assert [each["name"] for each in found["gitRepos"]] == ["a", "b"]
    assert found["gitRepos"][1] == {
        "name": "b",
        "status": "ready",
        "present": True,
        "message": "at commit 0123",
        "bytes": 7,
    }
    waiting = {"status": "pulling", "present": False, "message": "waits for its turn"}
    assert found["images"] == [{"name": "vllm", **waiting}]
    assert found["models"][0]["status"] == "failed"
    assert found["errors"] == ["x"]


def test_the_bounds_are_those_of_the_schema() -> None:
    items = [image(f"i{number:03}") for number in range(MAX_ITEMS + 9)]
    entries = {
        each: Entry(message="x" * 9999 + "\n", percent=999, length=-1, seconds=-1) for each in items
    }
    found = content(items, entries, [f"{number}" * 600 for number in range(30)])
    fields = schema()
    assert len(found["images"]) == fields["images"]["maxItems"] == MAX_ITEMS
    line = fields["images"]["items"]["properties"]
    assert len(found["images"][0]["message"]) == line["message"]["maxLength"] == MAX_MESSAGE
    assert found["images"][0]["percent"] == line["percent"]["maximum"]
    assert found["images"][0]["bytes"] == line["bytes"]["minimum"]
    assert found["images"][0]["fetchSeconds"] == line["fetchSeconds"]["minimum"]
    assert len(found["errors"]) == fields["errors"]["maxItems"] == MAX_ERRORS
    assert len(found["errors"][0]) == fields["errors"]["items"]["maxLength"]
    assert set(stamped(found, datetime.now(UTC))) == set(fields)
    assert set(found["images"][0]) == set(line)


def test_a_long_list_cuts_off_no_other() -> None:
    items = [image(f"i{number:03}") for number in range(MAX_ITEMS)] + [mirror(), model()]
    found = content(items, {}, [])
    assert [len(found[field]) for field in ("images", "gitRepos", "models")] == [MAX_ITEMS, 1, 1]


def test_only_a_mirror_that_is_ready_stays_so_while_it_is_brought_up_to_date() -> None:
    ready, now = Entry(READY, present=True, seconds=7), Entry(present=True, message="fetching")
    assert shown(ready, now, mirror()) == ready
    assert shown(Entry(FAILED, present=True), now, mirror()) == now
    assert shown(ready, now, model()) == now


def test_a_board_that_wants_nothing_reports_empty_lists() -> None:
    assert Board().content() == {"images": [], "gitRepos": [], "models": [], "errors": []}


def test_the_time_is_that_of_the_report() -> None:
    at = datetime(2026, 11, 26, 2, 3, 4, tzinfo=UTC)
    assert stamped({}, at) == {"lastUpdate": "2026-11-26T02:03:04Z"}
