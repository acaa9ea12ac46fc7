from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.errors import DevctlError
from devctl.local.kubeconfig import merge, unmerge

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = "devctl-local-lab"


def config(name: str, server: str, user: str = "kubernetes-admin") -> dict[str, Any]:
    """What kubeadm writes."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": user, "user": {"client-key-data": f"key of {server}"}}],
        "contexts": [{"name": f"{user}@{name}", "context": {"cluster": name, "user": user}}],
        "current-context": f"{user}@{name}",
    }


WORK = {**config("work", "https://work"), "preferences": {"colors": True}, "extensions": [{"a": 1}]}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own"
    file.write_text(yaml.safe_dump(config("kubernetes", "https://local")))
    return file


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".kube" / "config"


@pytest.fixture
def work(target: Path) -> Path:
    target.parent.mkdir(parents=True)
    target.write_text(yaml.safe_dump(WORK))
    return target


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def test_a_first_kubeconfig_is_private_and_usable(own: Path, target: Path) -> None:
    merge(own, target, NAME)
    assert target.stat().st_mode & 0o777 == 0o600
    written = read(target)
    assert written["kind"] == "Config"
    assert written["current-context"] == NAME
    assert written["contexts"] == [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}]
    assert written["clusters"] == [{"name": NAME, "cluster": {"server": "https://local"}}]
    assert written["users"] == [{"name": NAME, "user": {"client-key-data": "key of https://local"}}]


def test_other_entries_stay_when_it_is_added_and_taken_out_again(own: Path, work: Path) -> None:
    merge(own, work, NAME)
    merged = read(work)
    assert merged["current-context"] == NAME
    for section in ("clusters", "users", "contexts"):
        assert merged[section][:-1] == WORK[section]
    assert unmerge(work, NAME)
    assert read(work) == {**WORK, "current-context": ""}


def test_the_context_that_somebody_chose_since_stays_chosen(own: Path, work: Path) -> None:
    merge(own, work, NAME)
    work.write_text(yaml.safe_dump({**read(work), "current-context": WORK["current-context"]}))
    unmerge(work, NAME)
    assert read(work) == WORK


def test_a_cluster_made_anew_replaces_its_old_entry(own: Path, work: Path) -> None:
    merge(own, work, NAME)
    own.write_text(yaml.safe_dump(config("kubernetes", "https://new")))
    merge(own, work, NAME)
    assert [c["cluster"]["server"] for c in read(work)["clusters"]] == [
        "https://work",
        "https://new",
    ]


def test_what_was_never_added_is_not_taken_out(work: Path) -> None:
    before = work.read_text()
    assert not unmerge(work, NAME)
    assert work.read_text() == before


def test_no_kubeconfig_is_made_only_to_take_something_out(target: Path) -> None:
    assert not unmerge(target, NAME)
    assert not target.parent.exists()


@pytest.mark.parametrize("text", ["- a list\n", "just text", "a: [unclosed\n", "\x00"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda own, target: merge(own, target, NAME), id="merge"),
        pytest.param(lambda _own, target: unmerge(target, NAME), id="unmerge"),
    ],
)
def test_a_damaged_file_is_named_and_stays_as_it_is(
    own: Path, target: Path, text: str, change: Callable[[Path, Path], object]
) -> None:
    target.parent.mkdir(parents=True)
    target.write_text(text)
    with pytest.raises(DevctlError) as raised:
        change(own, target)
    assert str(target) in raised.value.message
    assert target.read_text() == text
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "contexts: null\n"])
def test_an_empty_kubeconfig_takes_the_cluster(own: Path, target: Path, text: str) -> None:
    target.parent.mkdir(parents=True)
    target.write_text(text)
    merge(own, target, NAME)
    assert read(target)["current-context"] == NAME


def test_a_link_to_a_kubeconfig_stays_a_link(own: Path, work: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(work)
    merge(own, link, NAME)
    assert link.is_symlink()
    assert read(work)["current-context"] == NAME
