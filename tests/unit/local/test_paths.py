from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.local.paths import cache_paths, cluster_names, cluster_paths, state_folder

if TYPE_CHECKING:
    from devctl.local.paths import ClusterPaths


@pytest.mark.parametrize("value", ["", None])
def test_without_a_choice_the_state_is_where_the_systems_is(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv("DEVCTL_STATE_DIR")
    else:
        monkeypatch.setenv("DEVCTL_STATE_DIR", value)
    assert state_folder() == Path("/var/lib/devctl")


def test_a_relative_choice_means_the_same_folder_wherever_a_program_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The supervisor runs in /, the playbooks in their own folder.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEVCTL_STATE_DIR", "state")
    assert state_folder() == tmp_path / "state"


def test_cache_and_clusters_share_no_folder(paths: ClusterPaths) -> None:
    assert cache_paths().root.parent == state_folder()
    assert not paths.root.is_relative_to(cache_paths().root)
    assert not cluster_paths("other").root.is_relative_to(paths.root)


def test_only_clusters_with_settings_count() -> None:
    for name in ("two", "one"):
        cluster_paths(name).root.mkdir(parents=True)
        cluster_paths(name).settings.touch()
    cluster_paths("half").root.mkdir()
    assert cluster_names() == ["one", "two"]
