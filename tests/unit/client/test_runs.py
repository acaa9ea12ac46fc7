"""Runs on servers whose replicas are folders of this machine, with the program of every pod."""

from __future__ import annotations

import doctest
import os
import signal
import threading
from typing import TYPE_CHECKING, Any, Never

import pytest

from devctl.client.runs import command, follow, record
from devctl.client.runs.events import Ended, Event, Lost, Noticed, Printed
from devctl.errors import (
    BusyError,
    ConnectionLostError,
    DeniedError,
    DevctlError,
    NotFoundError,
    UsageError,
)
from unit.client.objects import PODS
from unit.client.run_things import SLEEP, Ranks, Stream, exit_code, ranks, running, seen, start
from unit.patience import FOREVER, PATIENCE, eventually

if TYPE_CHECKING:
    from pathlib import Path

    from devctl.client.runs.runs import Runs
    from unit.client.fake_cluster import FakeApi


@pytest.mark.parametrize("module", [command, record])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def test_every_rank_runs_and_is_heard(lab: Ranks, runs: Runs) -> None:
    run = start(runs, "sleep 0.2; echo done")

    printed, outcome, _ = seen(run, runs.follow(run))

    assert printed == {0: b"begun 0\ndone\n", 1: b"begun 1\ndone\n"}
    assert outcome.error() is None
    assert [found.state for found in runs.list("lab")] == ["Succeeded"]
    assert [call[1] for call in lab.calls[:2]] == ["start", "start"]


def test_a_hundred_thousand_lines_come_complete_and_in_order(lab: Ranks, runs: Runs) -> None:
    assert lab.count == 2
    run = start(runs, "seq 100000")
    printed, outcome, _ = seen(run, runs.follow(run))
    wanted = b"".join(b"%d\n" % number for number in range(1, 100001))
    assert outcome.error() is None
    for rank in (0, 1):
        assert printed[rank] == b"begun %d\n" % rank + wanted


def test_lost_connections_lose_no_output(lab: Ranks, runs: Runs) -> None:
    waits = "while ! [ -e go$n ]; do sleep 0.02; done"
    run = start(runs, f"for n in $(seq 400); do echo $n; [ $n -gt 6 ] || {waits}; done")
    cuts = iter(range(6))
    heard = {0: b"", 1: b""}

    def cut(event: Event) -> None:
        if isinstance(event, Printed):
            if next(cuts, None) is not None:
                lab.cut()
            # Only then does a replica print its next line.
            heard[event.replica] += event.data
            for number in range(heard[event.replica].count(b"\n")):
                (lab.home(event.replica) / f"go{number}").touch()

    printed, outcome, _ = seen(run, runs.follow(run), cut)

    for rank in (0, 1):
        lines = printed[rank].split()
        assert lines == [b"begun", b"%d" % rank, *(b"%d" % n for n in range(1, 401))]
    assert outcome.error() is None
    assert len([call for call in lab.calls if call[1] == "follow"]) > 4


def test_the_end_of_an_output_is_asked_for_until_it_has_come(lab: Ranks, runs: Runs) -> None:
    run = start(runs, "seq 1000")
    wanted = b"".join(b"%d\n" % number for number in range(1, 1001))
    lab.arrives = lambda printed: printed[: (len(printed) + 1) // 2]
    eventually(lambda: runs.find("lab", run.name).state == "Succeeded")

    printed, outcome, _ = seen(run, runs.follow(run))

    assert printed == {rank: b"begun %d\n" % rank + wanted for rank in (0, 1)}
    assert outcome.error() is None
    assert b"".join(runs.output(run, 1)) == printed[1]


def test_an_output_whose_end_never_comes_is_an_error(
    lab: Ranks, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "PATIENCE", 0.1)
    run = start(runs, "seq 1000")
    eventually(lambda: runs.find("lab", run.name).state == "Succeeded")
    lab.arrives = lambda _printed: b""
    with pytest.raises(ConnectionLostError, match="the end of the output of replica 0 is missing"):
        list(runs.output(run, 0))
    with pytest.raises(DevctlError, match="the end of the output is missing"):
        seen(run, runs.follow(run))


def test_the_first_failure_counts_and_the_others_are_ended(lab: Ranks, runs: Runs) -> None:
    run = start(runs, SLEEP, "echo broken >&2; exit 7")

    _, outcome, told = seen(run, runs.follow(run, end_others=True))

    assert (exit_code(outcome), outcome.last_lines) == (7, [b"begun 1", b"broken"])
    error = outcome.error()
    assert error
    assert error.message == f"run `{run.name}` has failed: replica 1 ended with exit code 7"
    assert f"devctl logs lab {run.name} --replica 1" in error.fix
    ends = {event.replica: event.code for event in told if isinstance(event, Ended)}
    assert ends == {0: 143, 1: 7}
    assert lab.calls[-1][1] in {"stop", "follow"}


def test_a_failure_in_a_full_home_is_told_with_why(lab: Ranks, runs: Runs) -> None:
    run = start(runs, "true", "exit 7")
    eventually(lambda: runs.find("lab", run.name).state == "Failed")
    noted = lab.home(1) / f".devctl/runs/{run.name}/exit"
    code, when = noted.read_text().split()
    noted.write_text(f"{code} {when} full\n")
    _, outcome, told = seen(run, runs.follow(run))
    [why] = [event for event in told if isinstance(event, Noticed)]
    assert why.replica == 1
    assert why.text.startswith("there is no room in its home: free space")
    assert exit_code(outcome) == 7


def test_the_order_of_failures_is_the_ranks_own(lab: Ranks, runs: Runs) -> None:
    run = start(runs, "exit 3", "exit 9")
    ends = [lab.home(rank) / f".devctl/runs/{run.name}/exit" for rank in (0, 1)]
    eventually(lambda: all(end.exists() for end in ends))
    # Only then does anybody look; on a busy machine, both may have ended at any time before.
    for first, code in ((1, 9), (0, 3)):
        _, now = ends[1 - first].read_text().split()
        ends[first].write_text(f"{code} {float(now) / 10:.2f}\n")
        _, outcome, _ = seen(run, runs.follow(run))
        assert exit_code(outcome) == code
    assert lab.count == 2


def test_who_only_looks_ends_nothing(
    lab: Ranks, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "GRACE", -1.0)
    look_after, told = follow.Following._look_after, list[Event]()  # noqa: SLF001

    def looked_after(events: follow.Following) -> None:
        look_after(events)
        if any(isinstance(event, Ended) for event in told):
            (lab.home() / "go").touch()

    monkeypatch.setattr(follow.Following, "_look_after", looked_after)
    waits = "while ! [ -e go ]; do sleep 0.02; done"
    run = start(runs, f"{waits}; echo later; {SLEEP}", "exit 7")
    with runs.follow(run) as events:
        for event in events:
            told.append(event)
            if isinstance(event, Printed) and b"later" in event.data:
                break
    assert runs.find("lab", run.name).records[0].fate == "running"
    assert not [call for call in lab.calls if call[1] == "stop"]


def test_a_pod_that_is_killed_is_told_and_why(
    api: FakeApi, lab: Ranks, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "PATIENCE", FOREVER)
    run = start(runs, SLEEP)

    def kill(event: Event) -> None:
        if isinstance(event, Printed) and event.replica == 1:
            lab.broken.add("lab-1")
            lab.streams[-1].close()
            gone = dict(api.things)
            gone.pop((PODS, "dev-alice", "lab-1"))
            api.things = gone

    _, outcome, told = seen(run, runs.follow(run, end_others=True), kill)

    assert [event.why for event in told if isinstance(event, Lost)] == ["pod `lab-1` was deleted"]
    error = outcome.error()
    assert error
    assert (error.exit_code, error.message) == (1, "replica 1: pod `lab-1` was deleted")
    # The other one was ended, not left alone.
    assert {e.replica: e.code for e in told if isinstance(e, Ended)} == {0: 143}


def test_a_pod_that_is_stopped_is_told_at_once(api: FakeApi, lab: Ranks, runs: Runs) -> None:
    run = start(runs, SLEEP)
    told_first: list[Event] = []

    def stop(event: Event) -> None:
        if isinstance(event, Printed) and event.replica == 1:
            leaving = running("lab-1")
            leaving["metadata"]["deletionTimestamp"] = "2026-01-02T12:00:00Z"
            api.add(PODS, leaving)
        if isinstance(event, Noticed):
            told_first.append(event)
            # As a pod's own `stop` does.
            runs.stop(run, [1])

    _, outcome, told = seen(run, runs.follow(run, end_others=True), stop)

    assert told_first == [Noticed(1, "pod `lab-1` is being stopped")]
    assert [event.why for event in told if isinstance(event, Lost)] == [
        "pod `lab-1` is being stopped"
    ]
    assert exit_code(outcome) == 1
    assert lab.count == 2


def test_a_container_that_started_anew_is_told_with_its_reason(
    api: FakeApi, lab: Ranks, runs: Runs
) -> None:
    run = start(runs, SLEEP)
    anew = running("lab-1", container="c2")
    ended = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    anew["status"]["containerStatuses"][0]["lastState"] = ended
    supervisor = lab.home(1) / f".devctl/runs/{run.name}/supervisor"

    def restart(event: Event) -> None:
        if isinstance(event, Printed) and event.replica == 1:
            api.add(PODS, anew)
            os.kill(int(supervisor.read_text().split()[0]), signal.SIGKILL)

    _, _, told = seen(run, runs.follow(run, end_others=True), restart)

    [why] = [event.why for event in told if isinstance(event, Lost)]
    assert why == "the container of pod `lab-1` has ended: it ran out of memory"


def test_a_rank_that_cannot_be_reached_is_tried_again_and_then_given_up(
    lab: Ranks, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "PATIENCE", 0.2)
    run = start(runs, SLEEP)

    def unplug(event: Event) -> None:
        if isinstance(event, Printed):
            lab.broken.add("lab-1")
            lab.cut()

    with pytest.raises(DevctlError, match="replica 1 cannot be reached") as raised:
        seen(run, runs.follow(run), unplug)
    assert f"devctl attach lab {run.name}" in raised.value.fix


def test_who_is_let_in_no_more_hears_that_the_run_goes_on(
    lab: Ranks, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(runs, SLEEP)

    def refuse(*_words: object, **_options: object) -> Never:
        raise DeniedError("they have expired", "log in again")

    def expire(event: Event) -> None:
        if isinstance(event, Printed):
            monkeypatch.setattr("devctl.client.runs.place.open_exec", refuse)
            lab.cut()

    with pytest.raises(DeniedError, match="they have expired") as raised:
        seen(run, runs.follow(run), expire)
    goes_on = f"the run may still be active: `devctl attach lab {run.name}` follows it again"
    assert raised.value.fix == f"log in again; {goes_on}"


def test_a_silent_connection_is_given_up(
    lab: Ranks, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "SILENCE", 0.2)
    open_exec = lab.open_exec

    def reopen(*given: Any, stdin: bool) -> Stream:
        stream = open_exec(*given, stdin=stdin)
        for rank in (0, 1):
            if [call[:2] for call in lab.calls].count([f"lab-{rank}", "follow"]) > 2:
                (lab.home(rank) / "go").touch()
        if all((lab.home(rank) / "go").exists() for rank in (0, 1)):
            monkeypatch.setattr(follow, "SILENCE", PATIENCE)
        return stream

    monkeypatch.setattr("devctl.client.runs.place.open_exec", reopen)
    run = start(runs, "while ! [ -e go ]; do sleep 0.02; done")
    printed, outcome, _ = seen(run, runs.follow(run))
    assert printed == {0: b"begun 0\n", 1: b"begun 1\n"}
    assert outcome.error() is None
    assert len([call for call in lab.calls if call[1] == "follow"]) > 4


def test_nothing_starts_where_not_all_can(lab: Ranks, runs: Runs) -> None:
    (lab.home(1) / ".devctl").write_text("a file")
    with pytest.raises(DevctlError, match="replica 1: cannot write in"):
        start(runs, SLEEP)
    (lab.home(1) / ".devctl").unlink()
    assert {found.state for found in runs.list("lab")} == {"Failed"}


def test_a_lost_connection_while_starting_leaves_nothing(
    lab: Ranks, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devctl.client.runs.runs._PATIENCE", 0.3)
    lab.broken.add("lab-1")
    with pytest.raises(ConnectionLostError):
        start(runs, SLEEP)
    lab.broken.clear()
    # Nobody waits for the end of what has begun for longer than that.
    eventually(lambda: {found.state for found in runs.list("lab")} == {"Failed"})


def test_one_run_at_a_time_where_ranks_meet(lab: Ranks, runs: Runs) -> None:
    first = start(runs, SLEEP)
    with pytest.raises(BusyError, match=f"replica 0: run `{first.name}` is active here"):
        start(runs, SLEEP)
    assert [found.name for found in runs.list("lab")] == [first.name]
    assert first.state == "Running"
    assert lab.count == 2


def test_it_is_told_beforehand_whether_a_run_could_start(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lab: Ranks, runs: Runs
) -> None:
    runs.check_free(runs.place("lab"))
    first = start(runs, SLEEP)
    with pytest.raises(BusyError, match=f"run `{first.name}` is active on `lab`") as raised:
        runs.check_free(runs.place("lab"))
    assert f"devctl stop-run lab {first.name}" in raised.value.fix
    runs.stop(first)
    runs.check_free(runs.place("lab"))
    lab.end()
    one = ranks(api, tmp_path / "one", monkeypatch, 1)
    try:
        start(runs, SLEEP)
        runs.check_free(runs.place("lab"))
    finally:
        one.end()


def test_stop_ends_all_ranks(lab: Ranks, runs: Runs) -> None:
    run = start(runs, SLEEP)
    assert runs.find("lab", running=True).name == run.name
    runs.stop(run)
    found = runs.find("lab", run.name)
    assert (found.state, found.code) == ("Failed", 143)
    assert [record.fate for record in found.records.values()] == ["ended", "ended"]
    with pytest.raises(NotFoundError, match="no run is active"):
        runs.find("lab", running=True)
    runs.stop(run)
    assert lab.count == 2


def test_stop_says_where_a_run_may_go_on(
    lab: Ranks, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devctl.client.runs.runs._PATIENCE", 0.1)
    run = start(runs, SLEEP)
    lab.broken.add("lab-1")
    with pytest.raises(DevctlError, match=r"1 does not answer: run .* may still be") as raised:
        runs.stop(run)
    assert f"devctl stop-run lab {run.name}" in raised.value.fix
    assert runs.place("lab").ask(0, "list").split(b"\0")[1] == b"ended"


def test_output_and_its_last_lines(lab: Ranks, runs: Runs) -> None:
    run = start(runs, "printf 'two\\nthree\\nfo'")
    seen(run, runs.follow(run))

    def last(lines: int) -> bytes:
        return b"".join(runs.output(run, 1, runs.tail(run, 1, lines)))

    assert b"".join(runs.output(run, 0)) == b"begun 0\ntwo\nthree\nfo"
    assert [last(count) for count in (0, 1, 2, 9)] == [
        b"",
        b"fo",
        b"three\nfo",
        b"begun 1\ntwo\nthree\nfo",
    ]
    printed, _, _ = seen(run, runs.follow(run, [0], {0: -3}))
    assert printed == {0: b"fo"}
    assert lab.count == 2


def test_a_run_is_found_by_name_or_is_the_latest(lab: Ranks, runs: Runs) -> None:
    with pytest.raises(NotFoundError, match="there has been no run on server `lab`"):
        runs.find("lab")
    run = start(runs)
    assert runs.find("lab").name == run.name
    with pytest.raises(NotFoundError, match="has no run `other`"):
        runs.find("lab", "other")
    assert runs.find("lab").raw["replicas"]
    assert lab.count == 2


def test_on_one_rank_several_go_on_and_are_told_apart(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Runs
) -> None:
    lab = ranks(api, tmp_path, monkeypatch, 1)
    try:
        both = [start(runs, SLEEP), start(runs, SLEEP)]
        with pytest.raises(UsageError, match="several runs are active on `lab`"):
            runs.find("lab", running=True)
        assert {found.name for found in runs.list("lab")} == {run.name for run in both}
    finally:
        lab.end()


def test_words_are_words(lab: Ranks, runs: Runs) -> None:
    odd = ["a b", "$(touch evil)", "`id`", "'\"", "", "-n", "a\nb", "ü€"]
    run = runs.start(runs.place("lab"), ["printf", "%s|", *odd])
    printed, _, _ = seen(run, runs.follow(run))
    assert printed[0].decode() == "".join(f"{word}|" for word in odd)
    assert runs.find("lab").argv == ("printf", "%s|", *odd)
    with pytest.raises(UsageError, match="NUL"):
        runs.start(runs.place("lab"), ["a\0b"])
    assert not list(lab.home().rglob("evil"))


def test_whoever_follows_leaves_nothing_behind(lab: Ranks, runs: Runs) -> None:
    run = start(runs, SLEEP)
    before = threading.active_count()
    with runs.follow(run) as events:
        for event in events:
            if isinstance(event, Printed):
                break
    eventually(lambda: all(stream.process.poll() is not None for stream in lab.streams))
    eventually(lambda: threading.active_count() <= before)
    assert runs.find("lab").state == "Running"
