"""The GPU workers API from Python: what is asked, what is repeated, and what errors say."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.workers import api as api_module
from devctl.client.workers import images, place, writing
from devctl.client.workers.images import parts_of
from devctl.client.workers.jobs import NewWorkerJob
from devctl.client.workers.place import address, place_of
from devctl.client.workers.problems import error_of
from devctl.client.workers.workers import Workers
from devctl.errors import (
    ConnectionLostError,
    DeniedError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from unit.client.workers_things import JOB, TOKEN, URL, WorkersApi, job, key, node, page, problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEW = NewWorkerJob("pytorch/pytorch:2.9", "training", gpu_memory=8192)


@pytest.fixture
def api() -> WorkersApi:
    return WorkersApi()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(api_module, "_sleep", found.append)
    monkeypatch.setattr("devctl.client.workers.jobs._sleep", found.append)
    return found


@pytest.fixture
def workers(api: WorkersApi, pauses: list[float]) -> Iterator[Workers]:
    del pauses
    with Workers(URL, TOKEN, transport=httpx2.MockTransport(api)) as found:
        yield found


def test_examples() -> None:
    for module in (images, place, writing):
        assert doctest.testmod(module).failed == 0


def test_a_submission_says_what_was_asked_for_and_no_more(
    api: WorkersApi, workers: Workers
) -> None:
    api.add("POST jobs/", httpx2.Response(201, json=job(state="pending")))
    new = NewWorkerJob(
        "r.example:5000/a@sha256:" + "0" * 64,
        "training",
        command=["python", "-c", "print(1)"],
        input={"epochs": 3},
        env={"A": "b=c"},
        timeout=60,
        retries=0,
    )
    assert workers.jobs.submit(new).state == "pending"
    assert api.body() == {
        "job_name": "training",
        "docker_image": "r.example:5000/a",
        "docker_tag": "sha256:" + "0" * 64,
        "command": ["python", "-c", "print(1)"],
        "input_data": {"epochs": 3},
        "env": [{"name": "A", "value": "b=c"}],
        "timeout_seconds": 60,
        "retries": 0,
    }


def test_a_submission_whose_answer_is_lost_is_repeated_under_the_same_name(
    api: WorkersApi, workers: Workers, pauses: list[float]
) -> None:
    def lost(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadError("reset", request=request)

    api.add("POST jobs/", lost, problem(503, "wait"), httpx2.Response(201, json=job()))
    assert workers.jobs.submit(NEW).job_id == JOB
    keys = {request.headers["Idempotency-Key"] for request in api.asked}
    assert (len(api.asked), len(keys), len(pauses)) == (3, 1, 2)
    workers.jobs.submit(NEW)
    workers.jobs.submit(NEW, key="mine")
    assert api.asked[-2].headers["Idempotency-Key"] not in keys
    assert api.asked[-1].headers["Idempotency-Key"] == "mine"


def test_a_busy_api_is_asked_again_when_it_says(
    api: WorkersApi, workers: Workers, pauses: list[float]
) -> None:
    busy = problem(429, "too many requests")
    busy.headers["Retry-After"] = "7"
    api.add(f"GET jobs/{JOB}", busy, job())
    assert workers.jobs.get(JOB).state == "running"
    assert 7 * 0.75 <= pauses[0] <= 7 * 1.25


def test_an_api_that_stays_busy_is_given_up(
    api: WorkersApi, workers: Workers, pauses: list[float]
) -> None:
    api.add(f"GET jobs/{JOB}", problem(503, "the database does not answer"))
    with pytest.raises(DevctlError, match="failed with 503: the database does not answer") as error:
        workers.jobs.get(JOB)
    assert "report request r-1" in error.value.fix
    assert len(api.asked) == 4
    assert max(pauses) <= 25


def test_a_new_key_is_asked_for_once_as_it_is_shown_once(api: WorkersApi, workers: Workers) -> None:
    api.add("POST keys/", problem(503, "wait"))
    with pytest.raises(DevctlError, match="failed with 503: wait"):
        workers.keys.create("ci")
    assert len(api.asked) == 1
    assert "Idempotency-Key" not in api.asked[0].headers


def test_keys_are_made_rotated_and_revoked(api: WorkersApi, workers: Workers) -> None:
    api.add("POST keys/", httpx2.Response(201, json=key(key="gpw_secret")))
    api.add("POST keys/key-1/rotate", httpx2.Response(201, json=key(key="gpw_other")))
    api.add("DELETE keys/key-1", httpx2.Response(204))
    api.add("GET keys/", page(key()))
    assert workers.keys.create("ci", seconds=3600).key == "gpw_secret"
    assert api.body() == {"name": "ci", "expires_in_seconds": 3600}
    assert workers.keys.rotate("key-1", overlap=0).key == "gpw_other"
    assert api.body() == {"overlap_seconds": 0}
    workers.keys.revoke("key-1")
    assert [each.name for each in workers.keys.list()] == ["ci"]


def test_lists_are_read_page_by_page(api: WorkersApi, workers: Workers) -> None:
    api.add("GET jobs/", page(job("job-1"), job("job-2"), cursor="next"), page(job("job-3")))
    found = workers.jobs.list(state="running")
    assert next(found).job_id == "job-1"
    assert len(api.asked) == 1
    assert [each.job_id for each in found] == ["job-2", "job-3"]
    assert api.lines == [
        "GET jobs/?limit=200&state=running",
        "GET jobs/?limit=200&cursor=next&state=running",
    ]


def test_nodes_and_where_a_job_fits(api: WorkersApi, workers: Workers) -> None:
    api.add("GET nodes/", page(node()))
    api.add("GET available-nodes/", {"items": [], "reason": "1 of 1 nodes: it is maintenance"})
    (one,) = workers.nodes.list()
    assert (one.name, one.state) == (one.id, "active")
    assert one.raw["last_heartbeat"] == "2026-01-02T11:59:30Z"
    found = workers.nodes.available(gpu_memory=4096)
    assert found.reason == "1 of 1 nodes: it is maintenance"
    assert "gpu_memory_required=4096" in api.lines[-1]
    assert "gpu_count" not in api.lines[-1]


def test_waiting_ends_with_the_job(api: WorkersApi, workers: Workers, pauses: list[float]) -> None:
    api.add(f"GET jobs/{JOB}", job(state="pending"), job(), job(state="failed", exit_code=7))
    seen: list[str] = []
    ended = workers.jobs.wait(JOB, progress=lambda found: seen.append(found.state))
    assert (ended.exit_code, seen) == (7, ["pending", "running", "failed"])
    assert pauses == sorted(pauses)


def test_waiting_takes_no_longer_than_said(api: WorkersApi, workers: Workers) -> None:
    api.add(f"GET jobs/{JOB}", job())
    with pytest.raises(WaitTimeoutError, match="still running"):
        workers.jobs.wait(JOB, timeout=0)


def test_logs_come_as_they_are_written(api: WorkersApi, workers: Workers) -> None:
    api.add(f"GET jobs/{JOB}/logs", httpx2.Response(200, content=b"\xffone\ntwo\n"))
    assert b"".join(workers.jobs.logs(JOB, follow=True, tail=5)) == b"\xffone\ntwo\n"
    assert api.lines == [f"GET jobs/{JOB}/logs?follow=true&tail=5"]
    list(workers.jobs.logs(JOB))
    assert api.lines[-1] == f"GET jobs/{JOB}/logs"


def test_logs_that_break_off_are_no_end(api: WorkersApi, workers: Workers) -> None:
    class Broken(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"one\n"
            raise httpx2.ReadError("reset")

    api.add(f"GET jobs/{JOB}/logs", lambda _: httpx2.Response(200, stream=Broken()))
    parts = workers.jobs.logs(JOB)
    assert next(parts) == b"one\n"
    with pytest.raises(ConnectionLostError, match="lost: reset"):
        next(parts)


def test_logs_of_a_job_without_a_pod_are_an_error_that_says_so(
    api: WorkersApi, workers: Workers
) -> None:
    api.add(f"GET jobs/{JOB}/logs", problem(409, "the job has no pod yet; wait, and repeat it"))
    with pytest.raises(DevctlError, match="the job has no pod yet") as error:
        list(workers.jobs.logs(JOB))
    assert error.value.fix == "wait, and repeat it"


@pytest.mark.parametrize(
    ("status", "title", "kind", "reason", "code"),
    [
        (401, "", DeniedError, "Unauthorized", 5),
        (402, "No credit left", DeniedError, "NoCreditLeft", 5),
        (403, "", DeniedError, "Forbidden", 5),
        (404, "", NotFoundError, "NotFound", 3),
        (409, "", DevctlError, "Conflict", 1),
        (422, "Idempotency-Key reused", UsageError, "IdempotencyKeyReused", 2),
        (504, "", WaitTimeoutError, "GatewayTimeout", 4),
        (599, "Odd", DevctlError, "Odd", 1),
    ],
)
def test_problems_are_errors_of_our_own_tree(
    status: int, title: str, kind: type[DevctlError], reason: str, code: int
) -> None:
    error = error_of(status, b'{"title": "%s", "detail": "what; fix it"}' % (title or "").encode())
    if not title:
        error = error_of(status, problem(status, "what; fix it").content)
    assert type(error) is kind
    assert (error.reason, error.exit_code, error.fix) == (reason, code, "fix it")
    assert error.message.endswith("what")


def test_fields_that_are_not_valid_are_named() -> None:
    errors = [{"field": f"body.f{n}", "message": "too large", "code": "x"} for n in range(5)]
    error = error_of(422, problem(422, "not valid", "Invalid request", errors=errors).content)
    shown = "f0: too large, f1: too large, f2: too large, and 2 more"
    assert error.message == f"invalid request: {shown}"


@given(
    st.integers(300, 999),
    st.binary(max_size=200)
    | st.from_regex(rb'\{"(detail|title|errors|request_id)": [\[{"0-9].{0,40}'),
)
def test_whatever_a_proxy_answers_is_an_error_of_one_line(status: int, body: bytes) -> None:
    error = error_of(status, body)
    assert error.message
    assert "\n" not in error.message + error.fix


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b'{"job_id": 1}', b"\xff", b'{"job_id": "job-1"}']
)
def test_what_is_no_answer_of_the_api_is_an_error(
    body: bytes, api: WorkersApi, workers: Workers
) -> None:
    api.add(f"GET jobs/{JOB}", httpx2.Response(200, content=body))
    with pytest.raises(DevctlError, match="answers what the GPU workers API would not"):
        workers.jobs.get(JOB)


def test_fields_of_a_newer_release_are_no_error(api: WorkersApi, workers: Workers) -> None:
    api.add(f"GET jobs/{JOB}", job(state="paused", colour="green"))
    assert workers.jobs.get(JOB).state == "paused"


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_an_id_that_leads_elsewhere_is_refused(name: str, workers: Workers) -> None:
    with pytest.raises(UsageError, match="is not an ID"):
        workers.jobs.get(name)


@given(st.text(min_size=1, max_size=30))
def test_an_id_stays_one_part_of_the_path(name: str) -> None:
    try:
        found = writing.part(name)
    except UsageError:
        assert set(name) == {"."}
    except UnicodeEncodeError:
        pytest.fail("half a character")
    else:
        assert not {"/", "?", "#"} & set(found)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://workers.example", "not encrypted"),
        ("http://127.0.0.1.example", "not encrypted"),
        ("ftp://workers.example", "is not an address"),
        ("workers.example", "is not an address"),
        ("https://a:b@workers.example", "more than an address"),
        ("https://workers.example/?a", "more than an address"),
    ],
)
def test_an_address_to_which_no_token_may_go_is_refused(url: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        address(url)


@pytest.mark.parametrize(
    "url", ["http://localhost:8000", "http://127.0.0.1:8000/", "http://[::1]:8000/gpu-workers/"]
)
def test_this_machine_needs_no_encryption(url: str) -> None:
    assert address(url).endswith(":8000/gpu-workers")


def test_where_it_is_comes_from_arguments_variables_or_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="has no address"):
        place_of()
    file = tmp_path / "devctl" / "config.toml"
    file.parent.mkdir()
    file.write_text(f'workers_url = "{URL}"\n')
    with pytest.raises(UsageError, match="no token"):
        place_of()
    file.write_text(f'workers_url = "{URL}"\nworkers_token = "saved"\n')
    assert place_of() == (f"{URL}/gpu-workers", "saved")
    monkeypatch.setenv("DEVCTL_WORKERS_TOKEN", "said")
    assert place_of().token == "said"  # noqa: S105
    assert place_of("https://other.example", "given") == (
        "https://other.example/gpu-workers",
        "given",
    )
    monkeypatch.setenv("DEVCTL_WORKERS_TOKEN", "two words")
    with pytest.raises(UsageError, match="not one word") as error:
        place_of()
    assert "two" not in str(error.value)


@given(st.from_regex(r"[a-z0-9./:@-]{1,40}", fullmatch=True))
def test_an_image_is_a_repository_and_a_version(image: str) -> None:
    try:
        repository, version = parts_of(image)
    except UsageError:
        return
    assert repository
    assert "@" not in repository
    assert ":" not in repository.rpartition("/")[2]
    assert image.startswith(repository)
    assert version == "latest" or image.endswith(version)


def test_a_client_reads_no_settings_before_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def preferred(key: str) -> tuple[str, str]:
        read.append(key)
        return "", ""

    monkeypatch.setattr(place, "preferred", preferred)
    with Workers() as workers:
        assert read == []
        with pytest.raises(UsageError, match="the GPU workers API has no address"):
            workers.balance()
    assert read == [place.URL]
