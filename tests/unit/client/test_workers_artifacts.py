"""A job's files, fetched from an API that is not trusted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devctl.client.workers import api as api_module
from devctl.client.workers.workers import Workers
from devctl.errors import (
    ConnectionLostError,
    DevctlError,
    HostError,
    NotFoundError,
    UsageError,
)
from unit.client.pods import tree
from unit.client.workers_things import JOB, TOKEN, URL, WorkersApi, problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ABOUT = f"GET jobs/{JOB}/artifacts"


@pytest.fixture
def api() -> WorkersApi:
    return WorkersApi()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(api_module, "_sleep", found.append)
    return found


@pytest.fixture
def workers(api: WorkersApi, pauses: list[float]) -> Iterator[Workers]:
    del pauses
    with Workers(URL, TOKEN, transport=httpx2.MockTransport(api)) as found:
        yield found


def file(path: str, size: int = 1) -> dict[str, Any]:
    return {"path": path, "size": size, "modified": "2026-01-02T11:00:00Z"}


def offers(api: WorkersApi, *paths: str, **more: Any) -> None:
    """The API lists files; each has its path as its content."""
    listed = {"items": [file(path) for path in paths], "next_cursor": None, "truncated": False}
    api.add(ABOUT, {**listed, **more})
    for path in paths:
        api.add(f"{ABOUT}/{path}", httpx2.Response(200, content=path.encode()))


def test_files_are_listed_page_by_page(api: WorkersApi, workers: Workers) -> None:
    api.add(
        ABOUT,
        {"items": [file("a", 5)], "next_cursor": "x", "truncated": True},
        {"items": [file("b")], "next_cursor": None, "truncated": False},
    )
    found = workers.jobs.artifacts(JOB)
    assert [each.path for each in found.items] == ["a", "b"]
    assert (found.items[0].size, found.items[0].modified.hour) == (5, 11)
    assert found.truncated
    assert api.lines[1].endswith("cursor=x")


def test_all_files_arrive_in_a_new_folder(
    api: WorkersApi, workers: Workers, tmp_path: Path
) -> None:
    offers(api, "a", "out/deep/b")
    moved: list[int] = []
    done = workers.jobs.pull(JOB, tmp_path / "new", moved.append)
    assert (done.files, done.size, done.left_out) == (2, 11, [])
    assert tree(tmp_path / "new") == {"a": b"a", "out/deep/b": b"out/deep/b"}
    assert sum(moved) == 11
    assert (tmp_path / "new/a").stat().st_mode & 0o111 == 0
    assert (tmp_path / "new/a").stat().st_mtime == 1767351600
    assert [each.name for each in tmp_path.iterdir()] == ["new"]


def test_names_reach_the_api_as_they_are(api: WorkersApi, workers: Workers, tmp_path: Path) -> None:
    name = "a b/%2e?#\u00e4"
    encoded = "a%20b/%252e%3F%23%C3%A4"
    api.add(ABOUT, {"items": [file(name)], "next_cursor": None, "truncated": False})
    api.add(f"{ABOUT}/{encoded}", httpx2.Response(200, content=b"x"))
    workers.jobs.pull(JOB, tmp_path)
    assert tree(tmp_path) == {name: b"x"}


@pytest.mark.parametrize(
    "path", ["../evil", "/etc/evil", "a/../../evil", "a//b", "./a", "", ".", "a/", "x" * 300]
)
def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_taken(
    api: WorkersApi, workers: Workers, tmp_path: Path, path: str
) -> None:
    offers(api, "good")
    api.answers[ABOUT] = []
    api.add(ABOUT, {"items": [file("good"), file(path)], "next_cursor": None, "truncated": False})
    into = tmp_path / "into"
    with pytest.raises(
        DevctlError, match=r"the pod sent (the name|a name of 300 letters).*; nothing was taken"
    ):
        workers.jobs.pull(JOB, into)
    assert not list(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="is not the path of a file"):
        workers.jobs.download(JOB, path, tmp_path)
    assert api.lines == [f"GET jobs/{JOB}/artifacts?limit=200"]


def test_what_cannot_be_shown_or_runs_programs_is_left_out(
    api: WorkersApi, workers: Workers, tmp_path: Path
) -> None:
    offers(api, "good", ".git/config", "repo/.GIT/hooks/post-checkout", "two\nlines")
    done = workers.jobs.pull(JOB, tmp_path)
    assert tree(tmp_path) == {"good": b"good"}
    assert "control characters" in done.left_out[0]
    assert done.git.files == 2
    with pytest.raises(UsageError, match="git repository"):
        workers.jobs.download(JOB, "x/.git", tmp_path)


def test_a_link_here_is_not_followed(api: WorkersApi, workers: Workers, tmp_path: Path) -> None:
    into, outside = tmp_path / "into", tmp_path / "outside"
    into.mkdir()
    outside.mkdir()
    (into / "out").symlink_to(outside)
    offers(api, "out/a")
    with pytest.raises(DevctlError, match="is a link or a file here"):
        workers.jobs.pull(JOB, into)
    assert not list(outside.iterdir())


def test_files_that_differ_here_are_not_replaced(
    api: WorkersApi, workers: Workers, tmp_path: Path
) -> None:
    offers(api, "a", "b")
    (tmp_path / "b").write_bytes(b"mine")
    with pytest.raises(DevctlError, match="`b` would be replaced"):
        workers.jobs.pull(JOB, tmp_path)
    assert tree(tmp_path) == {"b": b"mine"}
    (tmp_path / "b").write_bytes(b"b")
    workers.jobs.pull(JOB, tmp_path)
    assert tree(tmp_path) == {"a": b"a", "b": b"b"}


def test_more_than_there_is_room_for_is_refused(
    api: WorkersApi, workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devctl.client.files.incoming.room", lambda _: 10)
    # It says 1 byte.
    offers(api, "a" * 11)
    with pytest.raises(HostError, match="no room here"):
        workers.jobs.pull(JOB, tmp_path / "into")
    api.answers.clear()
    api.add(ABOUT, {"items": [file("a", 11)], "next_cursor": None, "truncated": False})
    with pytest.raises(HostError, match="there is room for 10 B here"):
        workers.jobs.pull(JOB, tmp_path / "into")
    assert not list(tmp_path.iterdir())


def test_what_is_gone_meanwhile_and_what_no_list_has_is_said(
    api: WorkersApi, workers: Workers, tmp_path: Path
) -> None:
    offers(api, "a", "gone", truncated=True)
    api.answers[f"{ABOUT}/gone"] = [problem(404, "the job has no such file")]
    done = workers.jobs.pull(JOB, tmp_path)
    assert tree(tmp_path) == {"a": b"a"}
    assert [each.partition(":")[0] for each in done.left_out] == [
        "`gone`",
        "there are more files than the API lists",
    ]


def test_an_api_that_is_busy_is_asked_again(
    api: WorkersApi, workers: Workers, tmp_path: Path, pauses: list[float]
) -> None:
    offers(api, "a")
    busy = httpx2.Response(429, headers={"Retry-After": "3"})
    api.answers[f"{ABOUT}/a"].insert(0, busy)
    workers.jobs.pull(JOB, tmp_path)
    assert tree(tmp_path) == {"a": b"a"}
    (pause,) = pauses
    assert 2 < pause < 4
    api.answers[f"{ABOUT}/a"] = [problem(503, "the volume of artifacts does not answer; try again")]
    with pytest.raises(DevctlError, match="does not answer"):
        workers.jobs.download(JOB, "a", tmp_path)
    assert len(pauses) == 4


def test_an_answer_that_is_cut_off_leaves_nothing_here(
    api: WorkersApi, workers: Workers, tmp_path: Path
) -> None:
    class CutOff(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"half"
            raise httpx2.RemoteProtocolError("peer closed connection")

    offers(api, "a", "b")
    api.answers[f"{ABOUT}/b"] = [lambda _: httpx2.Response(200, stream=CutOff())]
    with pytest.raises(ConnectionLostError, match="was lost"):
        workers.jobs.pull(JOB, tmp_path / "into")
    with pytest.raises(ConnectionLostError):
        workers.jobs.download(JOB, "b", tmp_path)
    assert not list(tmp_path.iterdir())


def test_one_file_is_fetched_to_a_path_or_into_a_folder(
    api: WorkersApi, workers: Workers, tmp_path: Path
) -> None:
    offers(api, "out/model.pt")
    (tmp_path / "old").write_bytes(b"before")
    assert workers.jobs.download(JOB, "out/model.pt", tmp_path) == tmp_path / "model.pt"
    assert workers.jobs.download(JOB, "out/model.pt", tmp_path / "old") == tmp_path / "old"
    assert tree(tmp_path) == {"model.pt": b"out/model.pt", "old": b"out/model.pt"}
    with pytest.raises(NotFoundError, match="there is no folder"):
        workers.jobs.download(JOB, "out/model.pt", tmp_path / "none/a")
    with pytest.raises(
        NotFoundError, match=r"nothing is at `GET /gpu-workers/jobs/job-.*/artifacts/none`"
    ):
        workers.jobs.download(JOB, "none", tmp_path)
    (tmp_path / "sub/model.pt").mkdir(parents=True)
    with pytest.raises(UsageError, match="is a folder"):
        workers.jobs.download(JOB, "out/model.pt", tmp_path / "sub")


def test_a_job_without_files_is_no_error_and_makes_no_folder(
    api: WorkersApi, workers: Workers, tmp_path: Path
) -> None:
    offers(api)
    assert workers.jobs.pull(JOB, tmp_path / "into").files == 0
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is not a folder"):
        workers.jobs.pull(JOB, tmp_path / "file")
    with pytest.raises(
        NotFoundError, match="nothing is at `GET /gpu-workers/jobs/job-9/artifacts`"
    ):
        workers.jobs.pull("job-9", tmp_path / "into")


hostile = st.text(
    st.sampled_from("ab./\\~:\0\n\u202e\udcff") | st.characters(codec=None, exclude_categories=()),
    max_size=8,
) | st.sampled_from(["..", "../../x", ".git/x", "a/../..", "git~1/x", "con", "a/./b"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(hostile, max_size=4))
def test_nothing_is_ever_written_outside_of_the_folder(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    top = tmp_path_factory.mktemp("top")

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/artifacts"):
            items = [file(name) for name in names if name.isascii() or _is_text(name)]
            return httpx2.Response(
                200, json={"items": items, "next_cursor": None, "truncated": False}
            )
        return httpx2.Response(200, content=b"x")

    with Workers(URL, TOKEN, transport=httpx2.MockTransport(answer)) as workers:
        try:
            workers.jobs.pull(JOB, top / "a/b/into")
        except DevctlError:
            assert not [file for _, _, files in os.walk(top) for file in files]
    for folder, _, files in os.walk(top):
        assert not files or f"{folder}/".startswith(f"{top}/a/b/into/")
        assert ".git" not in folder


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)
