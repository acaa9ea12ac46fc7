"""The SSH key that git is lent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from devctl_cache_agent.keys import HOSTS, KEY, Keys

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_key_may_come_later_and_change_and_only_git_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[str, int, int]] = []
    monkeypatch.setattr(os, "chown", lambda path, *who: given.append((path.name, *who)))
    secret, lent = tmp_path / "secret", tmp_path / "lent"
    lent.mkdir()
    keys = Keys(secret, lent, 65532)
    assert keys() is None
    secret.mkdir()
    (secret / KEY).write_text("one")
    # Without hosts that are believed, anybody could be the server.
    assert keys() is None
    (secret / HOSTS).write_text("host")
    found = keys()
    assert found == (str(lent / KEY), str(lent / HOSTS))
    assert (lent / KEY).stat().st_mode & 0o777 == 0o400
    assert given == [(f".{KEY}", 65532, 65532), (f".{HOSTS}", 65532, 65532)]
    given.clear()
    keys()
    assert given == []
    (secret / KEY).write_text("two")
    keys()
    assert (lent / KEY).read_text() == "two"
    assert given == [(f".{KEY}", 65532, 65532)]
