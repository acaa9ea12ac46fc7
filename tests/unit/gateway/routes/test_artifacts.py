"""Artifacts over HTTP: whose they are, in pages, whole and in part."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from devctl_gateway.http import files
from devctl_gateway.store import jobs
from devctl_gateway.store.engine import begin
from support.artifacts import JOB, OTHER, TRICKS, fill
from support.gateway_app import running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx2
    from support.gateway_app import Gateway

pytestmark = pytest.mark.anyio
BASE = "/gpu-workers/jobs"
LIST = f"{BASE}/{JOB}/artifacts"


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    top = tmp_path / "volume"
    top.mkdir()
    fill(top)
    return top


@pytest.fixture
async def keeping(tmp_path: Path, volume: Path) -> AsyncIterator[Gateway]:
    kept = {"artifacts_claim": "kept", "artifacts_folder": str(volume)}
    async with running(tmp_path, **kept) as one:
        yield one


@asynccontextmanager
async def owner(gateway: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    """Whoever has submitted the job."""
    async with gateway.user() as client:
        me = (await client.get("/gpu-workers/accounts/me")).json()["id"]
        row = {"account_id": me, "job_name": "a", "spec": {}, "gpu_memory": 0}
        async with begin(gateway.context.engine) as connection:
            await jobs.add(connection, job_id=JOB, now=gateway.clock(), **row)
        yield client


async def listed(client: httpx2.AsyncClient, **query: Any) -> Any:
    answer = await client.get(LIST, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_files_are_listed(keeping: Gateway, volume: Path) -> None:
    os.utime(volume / JOB / "loss.csv", (0, 1))
    async with owner(keeping) as client:
        found = await listed(client)
    assert [each["path"] for each in found["items"]] == ["loss.csv", "out/deep/model.pt"]
    assert found["items"][0] == {
        "path": "loss.csv",
        "size": 4,
        "modified": "1970-01-01T00:00:01Z",
    }
    assert (found["truncated"], found["next_cursor"]) == (False, None)


async def test_pages_follow_each_other(keeping: Gateway, volume: Path) -> None:
    for name in ("\u00e4", "\U0001f600", "a b", "z" * 250):
        (volume / JOB / name).touch()
    found: list[str] = []
    async with owner(keeping) as client:
        cursor = ""
        while cursor is not None:
            page = await listed(client, limit=1, cursor=cursor)
            found += [each["path"] for each in page["items"]]
            cursor = page["next_cursor"]
        for wrong in ("x", "WyJceDAwIl0", "WyIhIl0"):
            answer = await client.get(LIST, params={"cursor": wrong})
            assert answer.status_code == 422, wrong
    assert found == sorted(found)
    assert len(found) == 6


async def test_a_time_that_no_calendar_has_is_no_mistake_of_ours(
    keeping: Gateway, volume: Path
) -> None:
    os.utime(volume / JOB / "loss.csv", (2**33, 2**33))
    os.utime(volume / JOB / "out/deep/model.pt", (-(2**31), -(2**31)))
    async with owner(keeping) as client:
        assert len((await listed(client))["items"]) == 2


async def test_a_file_is_sent_whole_to_be_saved(keeping: Gateway) -> None:
    async with owner(keeping) as client:
        answer = await client.get(f"{LIST}/out/deep/model.pt")
    assert (answer.status_code, answer.content) == (200, b"weights")
    told = {name: answer.headers[name] for name in ("content-type", "content-length")}
    assert told == {"content-type": "application/octet-stream", "content-length": "7"}
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''model.pt"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"]


async def test_no_name_of_a_file_breaks_a_header(keeping: Gateway, volume: Path) -> None:
    name = "a\"b;c=d'e\u00e4%0d .txt"
    (volume / JOB / name).write_bytes(b"x")
    async with owner(keeping) as client:
        answer = await client.get(f"{LIST}/{quote(name)}")
    assert answer.status_code == 200
    said = answer.headers["content-disposition"]
    assert said == "attachment; filename*=UTF-8''a%22b%3Bc%3Dd%27e%C3%A4%250d%20.txt"


async def test_an_empty_file_is_a_file(keeping: Gateway, volume: Path) -> None:
    (volume / JOB / "empty").touch()
    async with owner(keeping) as client:
        answer = await client.get(f"{LIST}/empty")
        part = await client.get(f"{LIST}/empty", headers={"Range": "bytes=0-"})
    assert (answer.status_code, answer.headers["content-length"]) == (200, "0")
    assert (part.status_code, part.headers["content-range"]) == (416, "bytes */0")


async def test_parts_are_sent(
    keeping: Gateway, volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", 3)
    (volume / JOB / "ten").write_bytes(b"0123456789")
    path = f"{LIST}/ten"
    async with owner(keeping) as client:
        for header, content, told in (
            ("bytes=2-5", b"2345", "bytes 2-5/10"),
            ("bytes=8-", b"89", "bytes 8-9/10"),
            ("bytes=-3", b"789", "bytes 7-9/10"),
        ):
            answer = await client.get(path, headers={"Range": header})
            assert (answer.status_code, answer.content) == (206, content)
            assert answer.headers["content-range"] == told
            assert answer.headers["content-length"] == str(len(content))
        beyond = await client.get(path, headers={"Range": "bytes=10-"})
        assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */10")
        assert beyond.headers["content-type"] == "application/problem+json"
        odd = await client.get(path, headers={"Range": "bytes=0-1,4-5"})
        assert (odd.status_code, odd.content) == (200, b"0123456789")


async def test_a_copy_that_is_current_is_not_sent_again(keeping: Gateway, volume: Path) -> None:
    path = f"{LIST}/loss.csv"
    async with owner(keeping) as client:
        tag = (await client.get(path)).headers["etag"]
        same = await client.get(path, headers={"If-None-Match": tag})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
        part = {"Range": "bytes=0-0", "If-Range": tag}
        assert (await client.get(path, headers=part)).status_code == 206
        about = (volume / JOB / "loss.csv").stat()
        (volume / JOB / "loss.csv").write_bytes(b"3,4\n")
        # Its size and time are as before, as a program may have it.
        os.utime(volume / JOB / "loss.csv", ns=(about.st_atime_ns, about.st_mtime_ns))
        changed = await client.get(path, headers={"If-None-Match": tag})
        assert (changed.status_code, changed.content) == (200, b"3,4\n")
        assert (await client.get(path, headers=part)).content == b"3,4\n"


async def test_of_a_file_that_grows_what_was_announced_is_sent(
    keeping: Gateway, volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", 2)
    file = volume / JOB / "loss.csv"
    read = os.pread

    def growing(*given: Any) -> bytes:
        with file.open("ab") as one:
            one.write(b"more")
        return read(*given)

    monkeypatch.setattr("os.pread", growing)
    async with owner(keeping) as client:
        assert (await client.get(f"{LIST}/loss.csv")).content == b"1,2\n"


async def test_of_a_file_that_shrinks_the_answer_is_not_complete(
    keeping: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shrinking(*_: Any) -> bytes:
        return b""

    monkeypatch.setattr("os.pread", shrinking)
    async with owner(keeping) as client:
        with pytest.raises(EOFError, match="4 bytes less"):
            await client.get(f"{LIST}/loss.csv")


async def test_tricks_are_not_there(keeping: Gateway) -> None:
    async with owner(keeping) as client:
        for path in TRICKS:
            # Clients take dots out of paths, but for encoded ones.
            sent = quote(path, safe="/", errors="replace").replace(".", "%2E")
            answer = await client.get(f"{LIST}/{sent}")
            assert answer.status_code == 404, (path, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"


async def test_a_path_may_be_sent_with_encoded_slashes(keeping: Gateway) -> None:
    async with owner(keeping) as client:
        assert (await client.get(f"{LIST}/out%2Fdeep%2Fmodel.pt")).content == b"weights"
        assert (await client.get(f"{LIST}/..%2F{OTHER}%2Fsecret")).status_code == 404
        assert (await client.get(f"{LIST}/{'x' * 1025}")).status_code == 422


async def test_they_are_the_owner_s_and_admins(keeping: Gateway) -> None:
    async with owner(keeping):
        pass
    for path in (LIST, f"{LIST}/loss.csv"):
        async with keeping.user("eve") as other, keeping.operator() as operator:
            assert (await other.get(path)).status_code == 404
            assert (await operator.get(path)).status_code == 404
        async with keeping.admin() as admin, keeping.client() as nobody:
            assert (await admin.get(path)).status_code == 200
            assert (await nobody.get(path)).status_code == 401
    async with keeping.user() as client:
        unknown = await client.get(f"{BASE}/{OTHER}/artifacts/secret")
    # There is such a folder, but no such job.
    assert (unknown.status_code, "no job" in unknown.json()["detail"]) == (404, True)


async def test_a_deployment_that_keeps_none_says_so(gateway: Gateway) -> None:
    async with owner(gateway) as client:
        for path in (LIST, f"{LIST}/loss.csv"):
            answer = await client.get(path)
            assert answer.status_code == 404
            assert "this deployment keeps no artifacts" in answer.json()["detail"]
    async with gateway.user("eve") as other:
        assert "no job" in (await other.get(LIST)).json()["detail"]


async def test_a_volume_that_fails_is_no_missing_file(keeping: Gateway, volume: Path) -> None:
    async with owner(keeping) as client:
        os.rename(volume, f"{volume}.away")  # noqa: PTH104 - which ruff takes for slow here
        for path in (LIST, f"{LIST}/loss.csv"):
            answer = await client.get(path)
            assert answer.status_code == 503
            assert answer.headers["retry-after"]


async def test_every_file_is_closed(keeping: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[Any] = []
    monkeypatch.setattr(files, "soon", ended.append)
    async with owner(keeping) as client:
        path = f"{LIST}/loss.csv"
        tag = (await client.get(path)).headers["etag"]
        await client.get(path, headers={"If-None-Match": tag})
        await client.get(path, headers={"Range": "bytes=9-"})
    assert len(ended) == 3
    for close in ended:
        close()
