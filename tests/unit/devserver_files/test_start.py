from __future__ import annotations

import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from unit.patience import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unit.devserver_files.conftest import Container

READY = "run/devctl/ready"


def sleeper(container: Container) -> Path:
    """The sleeper's folder under /proc."""
    return Path("/proc", (container.root / "run/devctl/sleeper").read_text().strip())


def await_sleeper(container: Container) -> None:
    """Wait until it sleeps.

    Between fork and exec a child may lose a signal; in a container it ends with the first process
    all the same.
    """
    eventually((container.root / READY).exists)
    eventually(lambda: b"3600" in sleeper(container).joinpath("cmdline").read_bytes())


@contextmanager
def started(container: Container) -> Iterator[None]:
    (container.root / READY).unlink(missing_ok=True)
    process = container.start("start")
    try:
        await_sleeper(container)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


@pytest.fixture
def home(container: Container) -> Path:
    skeleton = container.root / "etc/skel"
    (skeleton / ".config/git").mkdir(parents=True)
    (skeleton / ".config/git/ignore").write_text("*.pyc\n")
    (skeleton / ".bashrc").write_text("seeded\n")
    (skeleton / "with space").write_text("seeded\n")
    (skeleton / "link").symlink_to("with space")
    return container.root / "home/dev"


def test_the_home_gets_the_skeleton(container: Container, home: Path) -> None:
    with started(container):
        assert (home / ".bashrc").read_text() == "seeded\n"
        assert (home / ".config/git/ignore").read_text() == "*.pyc\n"
        assert (home / "link").readlink() == Path("with space")
        assert (home / ".devctl/seeded").exists()
        assert not list(home.rglob("*.devctl-new"))


def test_what_is_there_is_never_overwritten(container: Container, home: Path) -> None:
    elsewhere = container.root / "elsewhere"
    elsewhere.mkdir()
    (home / ".bashrc").write_text("mine\n")
    (home / ".config").symlink_to(elsewhere)
    (home / "with space").symlink_to("nowhere")

    with started(container):
        assert (home / ".bashrc").read_text() == "mine\n"
        assert not list(elsewhere.iterdir())
        assert (home / "with space").readlink() == Path("nowhere")


def test_a_seeded_home_is_left_alone(container: Container, home: Path) -> None:
    with started(container):
        (home / ".bashrc").write_text("mine\n")
        (home / "with space").unlink()

    with started(container):
        assert (home / ".bashrc").read_text() == "mine\n"
        assert not (home / "with space").exists()


def test_an_image_without_a_skeleton_will_do(container: Container, home: Path) -> None:
    (container.root / "etc/skel").rename(container.root / "etc/other")

    with started(container):
        assert [path.name for path in home.iterdir()] == [".devctl"]


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("No space left on device", "raise spec.persistentHomeSize"),
        ("Disk quota exceeded", "raise spec.persistentHomeSize"),
        ("Read-only file system", "write access"),
    ],
)
def test_a_home_that_takes_nothing_is_told_in_two_lines(
    container: Container, home: Path, reason: str, fix: str
) -> None:
    env = container.program_on_path(
        "cp", f'for last; do :; done; echo part >"$last"; echo "cp: {reason}" >&2; exit 1'
    )

    status, _, message = container.run("start", env=env)

    assert status == 1
    first, second = message.splitlines()
    assert first.startswith("error: ")
    assert reason in first
    assert second.startswith("  fix: ")
    assert fix in second
    # The next try must not take a part of a file for the person's own.
    assert not [path for path in home.rglob("*") if path.is_file()]
    assert not (container.root / READY).exists()


def test_a_home_that_was_left_half_seeded_is_finished(container: Container, home: Path) -> None:
    env = container.program_on_path("cp", "echo 'cp: No space left on device' >&2; exit 1")
    assert container.run("start", env=env)[0] == 1

    with started(container):
        assert (home / ".bashrc").read_text() == "seeded\n"


def test_what_the_last_container_left_is_gone(container: Container) -> None:
    run = container.root / "run/devctl"
    (run / "ssh.7").mkdir()
    (run / "sleeper").write_text("1\n")
    (run / "ready").touch()
    env = container.program_on_path("mkdir", "exit 1")
    assert container.run("start", env=env)[0] == 1
    assert not list(run.iterdir())


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("declared", ["exec true", ""])
def test_a_declared_probe_is_asked_from_the_start(container: Container, declared: str) -> None:
    asked, loop = container.root / "asked", container.root / "opt/devctl/probe"
    loop.write_text(f'echo "$DEVCTL_PROBE"; echo "$DEVCTL_PROBE" >"{asked}"\n')
    (container.root / "run/devctl/probe").write_text("1 idle\n")
    more = {"/opt/devctl/probe": str(loop)}
    process = container.start("start", env={"DEVCTL_PROBE": declared}, more=more)
    try:
        await_sleeper(container)
        if declared:
            eventually(lambda: asked.exists() and asked.read_text() == "exec true\n")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=PATIENCE) == ("", "")
    assert asked.exists() is bool(declared)
    assert not (container.root / "run/devctl/probe").exists(), "the last container's answer"


@pytest.mark.usefixtures("home")
def test_the_sleeper_is_on_record_and_ends_with_the_server(container: Container) -> None:
    with started(container):
        status = sleeper(container) / "status"
        assert status.exists()

    eventually(lambda: not status.exists() or "zombie" in status.read_text())
