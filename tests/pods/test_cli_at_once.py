"""Two clients at once on one server: each gets what is its own, and nothing is mixed up."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.command_line import CommandLine
    from support.servers import DevServer

PLACE = "at-once"
SIZE = 8 << 20


@pytest.fixture
def place(lab: DevServer) -> Iterator[str]:
    """A folder of the test's own in both homes."""
    for rank in (0, 1):
        lab.run(f"mkdir {PLACE}", rank)
    yield PLACE
    for rank in (0, 1):
        lab.run(f"rm -r {PLACE}", rank)


def test_ranks_that_meet_at_one_port_have_one_run_at_a_time(
    command_line: CommandLine, lab: DevServer, place: str
) -> None:
    folder = f"/home/dev/{place}"
    waits = f"until [ -e {folder}/go ] || [ ! -d {folder} ]; do sleep 0.1; done; exit 9"
    line = ("run", "--no-sync", "--detach", "lab", "/bin/sh", "-c", waits)
    first = command_line.must(*line).strip()
    assert f"run `{first}` is active on `lab`" in command_line.fails(1, *line)
    for rank in (0, 1):
        lab.run(f"touch {place}/go", rank)
    assert command_line("attach", "lab", first).returncode == 9


def test_two_copies_to_one_file_leave_one_of_both_whole(
    command_line: CommandLine, lab: DevServer, place: str, tmp_path: Path
) -> None:
    contents = {name: name.encode() * (SIZE // len(name)) for name in ("one", "other")}
    copies = []
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        copies.append(command_line.start("cp", str(tmp_path / name), f"lab:{place}/file"))
    assert [copy.wait(timeout=60) for copy in copies] == [0, 0]
    digests = {sha256(content).hexdigest() for content in contents.values()}
    assert lab.run(f"sha256sum <{place}/file").split()[0] in digests
    assert lab.run(f"ls -A {place}") == "file"


def test_two_syncs_to_one_folder_bring_all_that_both_have(
    command_line: CommandLine, lab: DevServer, place: str, tmp_path: Path
) -> None:
    syncs = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        for number in range(20):
            (tmp_path / name / f"{name}-{number}").write_text(name)
        (tmp_path / name / "common").write_text("the same")
        syncs.append(command_line.start("sync", "lab", str(tmp_path / name), place))
    assert [sync.wait(timeout=60) for sync in syncs] == [0, 0]
    for rank in (0, 1):
        assert lab.run(f"ls -A {place} | wc -l; cat {place}/common", rank).split("\n") == [
            "41",
            "the same",
        ]


def test_two_shells_see_each_other_and_end_apart(
    command_line: CommandLine, lab: DevServer, place: str
) -> None:
    one, other = (command_line.terminal("ssh", "lab") for _ in range(2))
    for shell in (one, other):
        shell.expect("[$] ")
    one.sendline(f"echo to the other >{place}/note; exit 3")
    one.wait()
    other.sendline(f"cat {place}/note; exit 4")
    other.expect("to the other\r\n")
    other.wait()
    assert (one.exitstatus, other.exitstatus) == (3, 4)
    assert lab.run(f"ls {place}") == "note"
