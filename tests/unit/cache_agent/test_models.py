"""Models from a real server: resumed, checked, whole at every moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from devctl_cache_agent.download import Pace
from devctl_cache_agent.durations import FILE, Durations
from devctl_cache_agent.eviction import Limits
from devctl_cache_agent.fetching import Web
from devctl_cache_agent.models import Models
from devctl_cache_agent.problems import CacheError, DroppedError, NoRoomError
from devctl_cache_agent.shelf import STAGING, Shelf

from unit.cache_agent.hub_server import COMMIT, REPO, HubServer, sibling
from unit.cache_agent.items import model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devctl_cache_agent.status import Entry

ITEM = model(repo=REPO)
MODEL = "models/models--facebook--opt-125m"
SNAPSHOT = f"{MODEL}/snapshots/{COMMIT}"
TOKEN = "hf_secret"  # noqa: S105 - made up


@pytest.fixture
def server(socket_enabled: None) -> Iterator[HubServer]:  # noqa: ARG001
    server = HubServer()
    yield server
    server.close()


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path / "cache", Limits(1 << 40, 0), set)
    shelf.wanted = set
    return shelf


@pytest.fixture
def models(shelf: Shelf, server: HubServer) -> Models:
    return Models(shelf, Web(server.url, lambda: TOKEN), Durations(shelf.root / FILE))


def keep(models: Models, item: Any = ITEM) -> Entry:
    return models.keep(item, lambda _entry: None)


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_revision_has_its_folder_where_the_hubs_library_looks(
    models: Models, shelf: Shelf, server: HubServer
) -> None:
    server.files["onnx/a b.bin"] = b"x"
    assert not models.is_present(ITEM)
    entry = keep(models)
    assert (entry.status, entry.present) == ("ready", True)
    assert entry.message == f"at commit {COMMIT[:12]}"
    assert files(shelf.root / SNAPSHOT) == server.files
    assert (shelf.root / MODEL / "refs/main").read_text() == COMMIT
    assert models.snapshot(ITEM) == SNAPSHOT
    assert list((shelf.root / STAGING).iterdir()) == []
    assert server.asked[0][0] == f"/api/models/{REPO}/revision/main?blobs=true"
    assert {each[2] for each in server.asked} == {f"Bearer {TOKEN}"}


def test_what_is_there_is_not_fetched_again(models: Models, server: HubServer) -> None:
    keep(models)
    server.asked.clear()
    keep(models)
    assert len(server.asked) == 1


def test_a_fetch_is_measured_for_its_commit_and_known_to_the_next_agent(
    shelf: Shelf, server: HubServer
) -> None:
    ticks = iter([10.0, 17.0])
    web = Web(server.url, lambda: TOKEN)
    kept = Models(shelf, web, Durations(shelf.root / FILE, lambda: next(ticks)))
    assert keep(kept).seconds == 7
    assert keep(kept).seconds == 7
    assert keep(Models(shelf, web, Durations(shelf.root / FILE))).seconds == 7


def test_a_revision_that_moves_is_fetched_beside_the_old_one(
    models: Models, shelf: Shelf, server: HubServer
) -> None:
    keep(models)
    server.commit = "d" * 40
    server.files["config.json"] = b"{ }"
    keep(models)
    assert (shelf.root / SNAPSHOT / "config.json").read_bytes() == b"{}"
    assert models.snapshot(ITEM) == f"{MODEL}/snapshots/{'d' * 40}"


def test_a_revision_may_have_slashes(models: Models, shelf: Shelf) -> None:
    item = model(repo=REPO, revision="refs/pr/1")
    keep(models, item)
    assert (shelf.root / MODEL / "refs/refs/pr/1").read_text() == COMMIT
    assert models.is_present(item)
    with pytest.raises(CacheError, match="one name for a file and a folder"):
        keep(models, model(repo=REPO, revision="refs/pr"))


def test_a_download_that_was_cut_off_goes_on_where_it_was(
    models: Models, shelf: Shelf, server: HubServer
) -> None:
    server.cut["model.bin"] = 5000
    with pytest.raises(CacheError, match="goes on"):
        keep(models)
    assert not models.is_present(ITEM)
    assert not (shelf.root / SNAPSHOT).exists()
    server.cut.clear()
    server.asked.clear()
    keep(models)
    fetched = [each for each in server.asked if "resolve" in each[0]]
    assert [each[1] for each in fetched] == ["bytes=5000-"]
    assert files(shelf.root / SNAPSHOT) == server.files


def test_a_server_without_ranges_begins_again(models: Models, server: HubServer) -> None:
    server.cut["model.bin"] = 5000
    with pytest.raises(CacheError, match=r"'model.bin' was cut off"):
        keep(models)
    server.cut.clear()
    server.ranges = False
    assert keep(models).present


@pytest.mark.parametrize("name", ["config.json", "model.bin"])
def test_a_file_with_another_checksum_is_thrown_away(
    models: Models, shelf: Shelf, server: HubServer, name: str
) -> None:
    server.wrong[name] = b"x" * len(server.files[name])
    with pytest.raises(CacheError, match="checksum"):
        keep(models)
    assert not (shelf.root / SNAPSHOT).exists()
    server.wrong.clear()
    keep(models)
    assert files(shelf.root / SNAPSHOT) == server.files


def test_a_file_that_is_longer_than_said_is_not_read_to_its_end(
    models: Models, shelf: Shelf, server: HubServer
) -> None:
    server.wrong["model.bin"] = server.files["model.bin"] + b"x" * (8 << 20)
    with pytest.raises(CacheError, match="checksum"):
        keep(models)
    assert not list((shelf.root / STAGING).rglob("model.bin"))


@pytest.mark.parametrize(
    "listed",
    [
        [],
        {},
        {"sha": "main", "siblings": []},
        {"sha": COMMIT, "siblings": []},
        {"sha": COMMIT, "siblings": None},
        {"sha": COMMIT, "siblings": [sibling("../../../etc/passwd", b"x")]},
        {"sha": COMMIT, "siblings": [sibling("/etc/passwd", b"x")]},
        {"sha": COMMIT, "siblings": [sibling("a\x1b[2J", b"x")]},
        {"sha": COMMIT, "siblings": [sibling("a", b"x"), sibling("a", b"x")]},
        {"sha": COMMIT, "siblings": [sibling("a", b"x"), sibling("a/b", b"x")]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a", "size": 1}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a", "size": -1, "blobId": "0" * 40}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a", "size": True, "blobId": "0" * 40}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a", "lfs": {"size": 1, "sha256": "x"}}]},
        {"sha": "../..", "siblings": [sibling("a", b"x")]},
    ],
    ids=lambda listed: str(listed)[:60],
)
def test_a_hub_that_lies_writes_nothing(
    models: Models, shelf: Shelf, server: HubServer, listed: Any
) -> None:
    server.listed = listed
    server.files["a"] = server.files["b"] = b"x"
    with pytest.raises(CacheError, match=r"^the hub (names|lists|gives|does not say)"):
        keep(models)
    assert list((shelf.root / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [(401, "hf-token"), (403, "may not read"), (404, "no such"), (429, "later"), (500, "HTTP 500")],
)
def test_a_refusal_says_what_to_do_and_no_secret(
    models: Models, server: HubServer, code: int, said: str
) -> None:
    server.code = code
    with pytest.raises(CacheError, match=said) as raised:
        keep(models)
    assert TOKEN not in str(raised.value)
    assert "secret details" not in str(raised.value)


def test_a_model_that_has_no_room_is_not_begun(server: HubServer, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "small", Limits(5000, 0), set)
    shelf.wanted = set
    with pytest.raises(NoRoomError, match="may take only"):
        keep(Models(shelf, Web(server.url, lambda: None), Durations(shelf.root / FILE)))
    assert not [each for each in server.asked if "resolve" in each[0]]


def test_what_the_plan_drops_is_not_finished(models: Models, shelf: Shelf) -> None:
    def dropped(_entry: Entry) -> None:
        raise DroppedError("the plan does not want it any more")

    with pytest.raises(DroppedError):
        models.keep(ITEM, dropped)
    assert not (shelf.root / SNAPSHOT).exists()


def test_progress_is_told_in_percent_and_bytes(models: Models, server: HubServer) -> None:
    told: list[Entry] = []
    models.keep(ITEM, told.append)
    assert told[-1].percent == 100
    assert told[-1].length == sum(len(data) for data in server.files.values())
    assert not told[-1].present


def test_the_token_goes_to_no_other_server_and_nothing_leads_into_the_cluster(
    models: Models, server: HubServer
) -> None:
    for inner in ("https://169.254.169.254/x", "https://127.0.0.1/x", "https://10.0.0.1/x"):
        server.send_on = inner
        with pytest.raises(CacheError, match="not in the internet"):
            keep(models)
    server.send_on = "http://127.0.0.1:1/x"
    with pytest.raises(CacheError, match="without https"):
        keep(models)
    server.send_on = "file:///etc/passwd"
    with pytest.raises(CacheError, match="not one of http"):
        keep(models)


def test_the_hub_may_send_on_to_itself_but_not_for_ever(models: Models, server: HubServer) -> None:
    server.files = {"model.bin": server.files["model.bin"]}
    server.send_on = "/cdn/model.bin?signature=x"
    assert keep(models).present
    server.commit = "e" * 40
    server.send_on = "/again"
    with pytest.raises(CacheError, match="too often"):
        keep(models)


def test_a_hub_that_is_away_is_a_failure(shelf: Shelf, socket_enabled: None) -> None:  # noqa: ARG001
    with pytest.raises(CacheError, match="ConnectionRefusedError"):
        keep(Models(shelf, Web("http://127.0.0.1:1", lambda: None), Durations(shelf.root / FILE)))


@pytest.mark.parametrize("text", ["../../etc", "", "x" * 40, "a/b"])
def test_a_broken_note_of_a_revision_is_not_followed(
    models: Models, shelf: Shelf, text: str
) -> None:
    refs = shelf.root / MODEL / "refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text(text)
    assert not models.is_present(ITEM)


def test_a_server_that_sends_next_to_nothing_is_given_up() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    now = 61.0
    pace.came(60_000)
    now = 100.0
    pace.came(1)
    now = 122.0
    with pytest.raises(CacheError, match="too slow"):
        pace.came(1)
