from __future__ import annotations

import io
import json

import pytest
from devctl_runner.daemon.job import explain, failure
from devctl_runner.runs.events import Progress, Recorder


@pytest.fixture
def posted() -> list[str]:
    return []


@pytest.fixture
def file() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def recorder(posted: list[str], file: io.StringIO) -> Recorder:
    return Recorder(file, posted.append, Progress())


def test_text_belongs_to_the_event_around_it(
    recorder: Recorder, posted: list[str], file: io.StringIO
) -> None:
    recorder.begin({"event": "playbook_on_start", "uuid": "a"})
    recorder.end()
    recorder.begin({"event": "runner_on_ok", "uuid": "b", "event_data": {"res": {"msg": "é"}}})
    recorder.write("ok: [localhost]\n")
    recorder.write("more\n")
    recorder.end()

    first, second = (json.loads(body) for body in posted)
    assert first["stdout"] == ""
    assert second["stdout"] == "ok: [localhost]\nmore"
    assert (second["counter"], second["start_line"], second["end_line"]) == (2, 0, 2)
    assert second["event_data"]["res"]["msg"] == "é"
    assert file.getvalue() == "ok: [localhost]\nmore\n"


def test_text_outside_of_events_is_one_event_a_line(recorder: Recorder, posted: list[str]) -> None:
    recorder.write("one\ntw")
    recorder.write("o\nthree")

    events = [json.loads(body) for body in posted]
    assert [(event["event"], event["stdout"]) for event in events] == [
        ("verbose", "one"),
        ("verbose", "two"),
    ]
    assert all(event["created"].endswith("+00:00") and event["uuid"] for event in events)


def test_progress_says_whether_the_operator_knows_the_outcome() -> None:
    progress = Progress()
    assert (progress.add("runner_on_ok"), progress.finished) == (1, False)
    assert (progress.add("playbook_on_stats"), progress.finished) == (2, True)
    progress.add("verbose")
    assert progress.finished
    progress.reset()
    assert not progress.finished
    assert progress.add("verbose") == 1


def test_a_run_that_cannot_report_gets_a_failure_and_a_summary() -> None:
    progress = Progress()
    progress.add("playbook_on_start")

    failed, stats = (json.loads(body) for body in failure("too slow", progress))

    assert failed["event"] == "runner_on_failed"
    assert failed["event_data"]["res"]["msg"] == "too slow"
    assert failed["event_data"]["ignore_errors"] is False
    assert stats["event"] == "playbook_on_stats"
    assert stats["event_data"]["failures"] == {"localhost": 1}
    assert (failed["counter"], stats["counter"]) == (2, 3)
    assert progress.finished


def test_the_reason_tells_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVCTL_RUNNER_TIMEOUT", "90")

    assert "longer than 90 s" in explain("timeout", -9)
    assert "DEVCTL_RUNNER_TIMEOUT" in explain("timeout", -9)
    assert "memory" in explain("", -9)
    assert "memory" not in explain("", -11)
