"""Runs some of whose replicas are gone, silent, or without the program of every pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from devctl.client.runs import record
from devctl.errors import (
    ConnectionLostError,
    DevctlError,
    NotFoundError,
)
from unit.client.objects import PODS, SERVERS, pod, server
from unit.client.run_things import SLEEP, Ranks, running, seen, start

if TYPE_CHECKING:
    from devctl.client.runs.runs import Runs
    from unit.client.fake_cluster import FakeApi


def evict(api: FakeApi, name: str = "lab-1") -> None:
    """A pod whose container has ended."""
    found = running(name)
    found["status"]["containerStatuses"][0]["state"] = {"terminated": {"exitCode": 137}}
    api.add(PODS, found)


def test_survivors_are_read_and_ended_where_a_rank_is_away(
    api: FakeApi, lab: Ranks, runs: Runs
) -> None:
    run = start(runs, SLEEP)
    evict(api)
    found = runs.find("lab", running=True)
    assert (found.name, [*found.records], found.state) == (run.name, [0], "Running")
    assert "replica 1 of server `lab` does not run" in found.place.away[1].message
    assert b"".join(runs.output(found, 0)) == b"begun 0\n"
    assert found.place.called(0) == "replica 0"
    runs.stop(found)
    assert runs.find("lab", run.name).code == 143
    with pytest.raises(NotFoundError, match="no run `other` on the replicas that answer"):
        runs.find("lab", "other")
    with pytest.raises(DevctlError, match="replica 1 of server `lab` does not run"):
        runs.place("lab")
    assert lab.count == 2


def test_a_rank_that_does_not_answer_is_away_like_one_that_is_gone(
    api: FakeApi, lab: Ranks, runs: Runs
) -> None:
    start(runs)
    lab.broken.add("lab-0")
    found = runs.find("lab")
    assert [*found.records] == [1]
    assert "pod `lab-0` does not answer" in found.place.away[0].message
    # Whoever is about to start one has to know of all.
    with pytest.raises(ConnectionLostError):
        runs.check_free(runs.place("lab"))
    evict(api)
    with pytest.raises(ConnectionLostError):
        runs.list("lab")


def test_a_torn_record_of_an_older_release_hides_no_other_run(lab: Ranks, runs: Runs) -> None:
    lab.changes = {'if is_whole "$run/record"; then': "if true; then"}
    first = start(runs)
    seen(first, runs.follow(first))
    second = start(runs, SLEEP)
    for rank in (0, 1):
        (lab.home(rank) / f".devctl/runs/{first.name}/record").write_bytes(b"")
    found = {run.name: run for run in runs.list("lab")}
    assert found.keys() == {first.name, second.name}
    assert (found[first.name].state, found[first.name].argv) == ("Succeeded", ())
    assert [*found] == [second.name, first.name]
    assert found[second.name].argv[0] == "sh"
    assert runs.find("lab", running=True).name == second.name
    runs.stop(runs.find("lab", first.name))


@given(st.binary(max_size=200))
@example(b"a\0ended\0\0001\0/\0000\0")
@example(b"a\0ended\0007\000999999999999\0/\000-1\0")
def test_whatever_a_rank_lists_is_no_error(listed: bytes) -> None:
    for found in record.parse(listed + b"\0b\0lost\0-\0001\0/\0000\0"):
        assert found.fate in {"running", "ended", "lost"}
        assert (found.code is None) is (found.fate != "ended")


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (server("lab", "Stopped"), "server `lab` is stopped"),
        (server("lab", "Starting", message="image is pulled"), "image is pulled"),
    ],
)
def test_a_server_that_does_not_run_is_told(
    api: FakeApi, runs: Runs, thing: dict[str, Any], said: str
) -> None:
    api.add(SERVERS, thing)
    with pytest.raises(DevctlError, match=said):
        runs.place("lab")
    api.add(PODS, pod("lab-0", phase="Pending"))
    with pytest.raises(DevctlError, match=said):
        runs.list("lab")


def test_a_pod_without_the_program_is_told(lab: Ranks, runs: Runs) -> None:
    lab.containers["lab-0"].root.joinpath("sh").unlink()
    lab.containers["lab-0"].root.joinpath("sh").symlink_to("/bin/false")
    with pytest.raises(DevctlError, match="cannot manage runs") as raised:
        runs.list(runs.place("lab"))
    assert "devctl stop lab" in raised.value.fix
