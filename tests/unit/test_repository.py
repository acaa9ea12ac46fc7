from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from devctl.local.paths import REPOSITORY

# A folder of one machine; put together so that this file does not name it itself.
CHECKOUTS = f"{PurePosixPath('/') / 'work'}/"
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
PIN = re.compile(r"([a-z0-9._-]+)==(\S+)(?: ; [^#@]+?)?((?: --hash=\S+)+)")


def tracked() -> list[Path]:
    """Every file that git knows or would add; all files where this is not a checkout."""
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY,
    ).stdout
    paths = (REPOSITORY / name for name in listed.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def requirement_lines(path: Path) -> list[str]:
    """One line for each requirement or option, comments left out."""
    text = re.sub(r"\\\n\s*", "", path.read_text())
    lines = (line.split(" #")[0].strip() for line in text.splitlines())
    return [re.sub(r"\s+", " ", line) for line in lines if line and not line.startswith("#")]


REQUIREMENTS = sorted(
    [*REPOSITORY.glob("requirements/*.txt"), *REPOSITORY.glob("images/*/requirements*.txt")]
)


def name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


@pytest.mark.parametrize("path", REQUIREMENTS, ids=name)
def test_every_requirement_is_one_version_with_hashes_and_no_address(path: Path) -> None:
    lines = requirement_lines(path)
    assert lines
    for line in lines:
        pin = PIN.fullmatch(line)
        assert pin, line
        assert all(HASH.fullmatch(word) for word in pin[3].split()), line
    assert "://" not in path.read_text()


@pytest.mark.parametrize("path", REQUIREMENTS, ids=name)
def test_make_lock_updates_every_requirement_file(path: Path) -> None:
    script = (REPOSITORY / "scripts" / "lock.sh").read_text()
    assert f"--output-file {name(path)}\n" in script


def test_the_checks_and_the_operator_run_the_same_ansible_core() -> None:
    files = [
        REPOSITORY / "requirements" / "dev.txt",
        REPOSITORY / "images" / "operator" / "requirements.txt",
    ]
    pins = [[line.split()[0] for line in requirement_lines(file)] for file in files]
    versions = [[pin for pin in found if pin.startswith("ansible-core==")] for found in pins]
    assert versions[0] == versions[1]
    assert len(versions[0]) == 1


def test_no_file_names_a_folder_of_the_machine_it_was_written_on() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [name(path) for place in (CHECKOUTS, f"{REPOSITORY}/") if place in text]
    assert found == []


@pytest.mark.parametrize("path", sorted(REPOSITORY.glob("tools/*/go.mod")), ids=name)
def test_every_go_module_graph_is_locked_and_built(path: Path) -> None:
    sums = path.with_name("go.sum").read_text()
    assert re.search(r"^\S+ v\S+ h1:\S+=$", sums, re.MULTILINE)
    assert list(path.parent.glob("*.toml"))


def test_modules_stay_short() -> None:
    # Nobody edits what `make api` writes, and it grows with the API.
    generated = REPOSITORY / "devctl" / "client" / "workers" / "generated"
    modules = {path for path in tracked() if path.suffix == ".py"}
    limits = {path: 500 for path in modules if not path.is_relative_to(generated)}
    limits |= {path: 200 for path in limits if path.is_relative_to(REPOSITORY / "devctl" / "cli")}
    lengths = {path: len(path.read_text().splitlines()) for path in limits}
    assert {name(p): n for p, n in lengths.items() if n >= limits[p]} == {}
    assert len(lengths) > 50
