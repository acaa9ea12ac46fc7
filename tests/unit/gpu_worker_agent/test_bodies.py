"""What is sent, what answers say, and when to come again."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.schemas import nodes as schemas
from devctl_gpu_worker_agent import VERSION, bodies, settings
from devctl_gpu_worker_agent.facts import Facts, Free
from devctl_gpu_worker_agent.saying import Saying
from devctl_gpu_worker_agent.schedule import Backoff, pause
from devctl_gpu_worker_agent.shelf import Shelf, Token, tokens
from hypothesis import given
from hypothesis import strategies as st

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

FACTS = Facts("gpu-server-1", "gpu-server-1.local", 2, "RTX 4090", 24576, 16, 32768)
ANSWER = {"node_id": "gpu-e5be90b5e5d6", "api_key": "iwk-secret", "heartbeat_seconds": 20}


def test_a_registration_has_the_fields_of_the_api() -> None:
    body = bodies.registration(FACTS, 0)
    assert body == {
        "node_name": "gpu-server-1",
        "hostname": "gpu-server-1.local",
        "gpu_count": 2,
        "gpu_type": "RTX 4090",
        "gpu_memory_total": 24576,
        "cpu_cores": 16,
        "memory_total": 32768,
        "max_concurrent_jobs": 2,
    }
    assert bodies.registration(FACTS, 5)["max_concurrent_jobs"] == 5


def test_the_gateway_takes_what_agents_send() -> None:
    schemas.NewNode.model_validate(bodies.registration(FACTS, 0))
    schemas.Heartbeat.model_validate(bodies.heartbeat("gpu-1", Free(1, 2, 3, "lost")))


def test_a_heartbeat_says_what_is_free_and_whether_gpus_are_well() -> None:
    assert bodies.heartbeat("gpu-1", Free(20000, 14, 1)) == {
        "node_id": "gpu-1",
        "gpu_memory_available": 20000,
        "cpu_cores_available": 14,
        "current_jobs": 1,
        "health_status": "healthy",
    }
    assert bodies.heartbeat("gpu-1", Free(0, 0, 0, "lost"))["health_status"] == "unhealthy"


def test_the_answer_to_a_registration_is_kept_and_its_key_shown_to_nobody() -> None:
    found = bodies.membership(ANSWER, {})
    assert (found.node_id, found.api_key, found.every) == ("gpu-e5be90b5e5d6", "iwk-secret", 20)
    assert "iwk-secret" not in f"{found} {found!r}"


@pytest.mark.parametrize("answer", [None, [], {}, {"node_id": "x"}, {**ANSWER, "api_key": None}])
def test_an_answer_without_a_key_is_none(answer: Any) -> None:
    with pytest.raises(bodies.AnswerError, match="no `node_id`, or no `api_key`"):
        bodies.membership(answer, {})


@pytest.mark.parametrize("found", [None, {}, {"heartbeat_seconds": "5"}, {"heartbeat_seconds": 0}])
def test_an_interval_that_is_none_is_not_taken(found: Any) -> None:
    assert bodies.interval(found) is None


def test_a_key_outlasts_the_container_and_only_the_agent_reads_it(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "membership.json")
    assert shelf.load() is None
    member = bodies.membership(ANSWER, {"gpu_count": 2})
    shelf.keep(member)
    shelf.keep(member)
    assert shelf.load() == member
    assert (tmp_path / "membership.json").stat().st_mode & 0o777 == 0o600
    shelf.forget()
    shelf.forget()
    assert shelf.load() is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"node_id": "x", "api_key": ""}', "\x00"])
def test_a_file_that_is_no_membership_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "m.json").write_text(content)
    assert Shelf(tmp_path / "m.json").load() is None


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_no_content_of_the_file_is_an_error(content: Any) -> None:
    assert bodies.restored(content) is None
    changed = bodies.saved(bodies.membership(ANSWER, {})) | {"every": content}
    json.dumps(changed)
    bodies.restored(changed)


def test_tokens_are_read_each_time_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("abc.def\n")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "bad").write_text("a\nb")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    files = [(name, tmp_path / name) for name in ("none", "empty", "bad", "binary", "good")]
    assert tokens(files) == [Token("good", "abc.def")]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_waits_grow_to_a_minute_at_most_and_begin_anew(jitter: list[float]) -> None:
    backoff = Backoff()
    for number, each in enumerate(jitter):
        longest = min(60, 2**number)
        assert longest / 2 <= backoff.failed(each) <= longest
    backoff.succeeded()
    assert backoff.failed(1) == 1
    assert backoff.failed(1, 40) == 40
    assert backoff.failed(1, 4000) == 60


@given(st.floats(0, 1))
def test_heartbeats_come_before_they_are_missed(jitter: float) -> None:
    assert 27 <= pause(30, jitter) <= 30


def test_the_same_is_said_once_in_ten_minutes_and_figures_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    now = 0.0
    saying = Saying(lambda: now)
    for second in range(0, 1201, 30):
        now = float(second)
        saying.say("free", "the same")
    assert len(caplog.records) == 3
    caplog.clear()
    for second in range(1200, 1501, 30):
        now = float(second)
        saying.say("free", f"now {second}")
    assert len(caplog.records) == 5
    saying.say("problem", "news")
    assert caplog.messages[-1] == "news"


MINIMAL = {"NODE_NAME": "node-1", "GATEWAY_URL": "https://gateway"}


def test_two_settings_are_needed() -> None:
    assert settings.read(MINIMAL).most_jobs == 0
    assert settings.read(MINIMAL | {"MAX_CONCURRENT_JOBS": "4"}).most_jobs == 4
    for name in MINIMAL:
        with pytest.raises(settings.SettingError, match=f"{name} is not set"):
            settings.read(MINIMAL | {name: ""})


@pytest.mark.parametrize("value", ["-1", "a", "257", "1.5", "9" * 5000])
def test_a_wrong_number_is_named(value: str) -> None:
    with pytest.raises(settings.SettingError, match="MAX_CONCURRENT_JOBS is"):
        settings.read(MINIMAL | {"MAX_CONCURRENT_JOBS": value})


def test_the_version_is_devctls() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
