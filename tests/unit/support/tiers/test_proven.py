"""What a deep module depends on: any change that has it run makes another digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.tiers.choose import Known, choose
from support.tiers.deep import Deep, Plan
from support.tiers.proven import contents, inputs
from unit.support.tiers.test_choose import CROWD, FILLED, IDLE, PLAN, QUIET

if TYPE_CHECKING:
    from pathlib import Path

REACH = {
    CROWD.id: {"devctl/api/words.py", "tests/support/crowd.py"},
    IDLE.id: {"tests/support/servers.py"},
}
FILES = dict.fromkeys(
    (
        "requirements/dev.txt",
        "roles/gpu/tasks/main.yml",
        "roles/server/tasks/main.yml",
        "images/agent/loop.py",
        "devctl/api/words.py",
        "tests/support/crowd.py",
        "tests/support/servers.py",
        "docs/page.md",
        "new/room.py",
    ),
    "as it was",
)


def changed(file: str) -> list[Deep]:
    """The modules whose digest is another one after a change of a file."""
    before = inputs(PLAN, REACH, FILES)
    after = inputs(PLAN, REACH, FILES | {file: "changed"})
    return [module for module in PLAN.modules if before[module.id] != after[module.id]]


@pytest.mark.parametrize("file", FILES)
def test_a_change_that_has_a_module_run_leaves_it_unproven(file: str) -> None:
    known = Known(QUIET, {file}, REACH, dict.fromkeys((m.id for m in PLAN.modules), QUIET))
    assert changed(file) == [choice.module for choice in choose(PLAN, known) if choice.why]


def test_some_changes_concern_some_modules() -> None:
    assert changed("roles/server/tasks/main.yml") == [IDLE, FILLED]
    assert changed("docs/page.md") == []
    assert changed("new/room.py") == list(PLAN.modules)


@pytest.mark.parametrize("file", ["tests/deep.toml", "tests/support/tiers/choose.py"])
def test_the_chooser_decides_what_runs_and_leaves_proofs(file: str) -> None:
    files = FILES | {file: "as it was"}
    proven = inputs(PLAN, REACH, files)
    assert inputs(PLAN, REACH, files | {file: "changed"}) == proven
    known = Known(QUIET, {file}, REACH)
    assert all(choice.why for choice in choose(PLAN, known))


def test_a_file_that_is_gone_or_new_counts() -> None:
    before = inputs(PLAN, REACH, FILES)
    without = {file: digest for file, digest in FILES.items() if "/server/" not in file}
    assert inputs(PLAN, REACH, without)[IDLE.id] != before[IDLE.id]
    more = inputs(PLAN, REACH, FILES | {"roles/server/files/run": "new"})
    assert more[IDLE.id] != before[IDLE.id]
    assert more[CROWD.id] == before[CROWD.id]


def test_other_rooms_are_another_proof() -> None:
    other = Plan(
        (Deep(CROWD.id, CROWD.proves, CROWD.minutes, ("servers",)),), PLAN.rooms, PLAN.everything
    )
    assert inputs(other, REACH, FILES)[CROWD.id] != inputs(PLAN, REACH, FILES)[CROWD.id]


def test_contents_tell_files_and_modes_apart(tmp_path: Path) -> None:
    for name in ("one", "same", "other"):
        (tmp_path / name).write_text("other" if name == "other" else "text")
    found = contents(["one", "same", "other", "missing"], tmp_path)
    assert found.keys() == {"one", "same", "other"}
    assert found["one"] == found["same"] != found["other"]
    (tmp_path / "same").chmod(0o755)
    assert contents(["same"], tmp_path)["same"] != found["one"]
