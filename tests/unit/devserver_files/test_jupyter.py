from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from unit.patience import FOREVER, PATIENCE, eventually

if TYPE_CHECKING:
    from unit.devserver_files.conftest import Container

GIVEN = "s3cret $(id) 'x'"
# Says what it was given, and goes on until it is told to end.
JUPYTER = f"""#!/bin/sh
[ "$2" != --version ] || {{ [ "$1" = %s ]; exit; }}
printf '%%s\\n' "token $JUPYTER_TOKEN" "in $PWD" "$@" >"$HOME/given"
printf '%%s\\n' "$JUPYTER_CONFIG_PATH" "$PYTHONPATH" >"$HOME/paths"
echo listening >&2
[ ! -e "$HOME/broken" ] || exit 3
echo $$ >"$HOME/pid"
exec sleep {FOREVER}
"""


@pytest.fixture
def home(container: Container) -> Path:
    home = container.root / "home/dev"
    (home / "project").mkdir()
    install(home, "lab")
    return home


def install(home: Path, kind: str) -> None:
    program = home / ".local/bin/jupyter"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(JUPYTER % kind)
    program.chmod(0o755)


def env(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


def runs(home: Path) -> bool:
    pid = int((home / "pid").read_text())
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("kind", ["lab", "notebook"])
def test_it_shows_a_folder_on_a_port_behind_a_token(
    container: Container, home: Path, kind: str
) -> None:
    install(home, kind)
    folder = str(home / "project")
    process = container.start(
        "jupyter", "leave", folder, "20001", env=env(home), stdin=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(f"{GIVEN}\n")
    process.stdin.flush()
    eventually((home / "pid").exists)
    command_line = (home / "given").read_text().splitlines()
    assert command_line[:3] == [f"token {GIVEN}", f"in {folder}", kind]
    assert set(command_line[3:]) == {
        "--no-browser",
        "--ip=127.0.0.1",
        "--port=20001",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
    }
    assert process.poll() is None

    # Whoever is connected goes, and it with them.
    process.stdin.close()

    assert process.wait(PATIENCE) == 143
    assert process.stdout
    assert process.stderr
    assert process.stderr.readline() == "listening\n"
    process.stdout.close()
    process.stderr.close()
    assert not runs(home)


@pytest.mark.parametrize("own", ["", "/home/dev/lib"])
def test_an_extension_that_reports_activity_is_loaded_beside_the_users_own(
    container: Container, home: Path, own: str
) -> None:
    given = {"PYTHONPATH": own, "JUPYTER_CONFIG_PATH": own} if own else {}
    words = ("jupyter", "keep", str(home), "20001")
    container.run(*words, env=env(home) | given, words="x\n")
    eventually((home / "pid").exists)
    os.kill(int(_pid(home)), 9)
    ours = str(container.root / "run/devctl/jupyter-config")
    assert (home / "paths").read_text().splitlines() == [
        f"{ours}:{own}" if own else ours,
        f"{own}:/opt/devctl" if own else "/opt/devctl",
    ]
    config = json.loads(Path(ours, "jupyter_server_config.d/devctl.json").read_text())
    assert config == {"ServerApp": {"jpserver_extensions": {"devctl_activity": True}}}


def test_jupyter_starts_without_room_for_the_extension(container: Container, home: Path) -> None:
    run = container.root / "run/devctl"
    run.rmdir()
    run.touch()
    words = ("jupyter", "keep", str(home), "20001")
    assert container.run(*words, env=env(home), words="x\n") == (0, "", "")
    eventually((home / "pid").exists)
    os.kill(int(_pid(home)), 9)


def test_no_list_of_processes_shows_the_token(container: Container, home: Path) -> None:
    process = container.start(
        "jupyter", "leave", str(home), "20001", env=env(home), stdin=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write("zebra\n")
    process.stdin.flush()
    eventually((home / "pid").exists)
    for pid in (str(process.pid), _pid(home)):
        assert b"zebra" not in Path("/proc", pid, "cmdline").read_bytes()
    process.communicate(timeout=PATIENCE)


def test_it_may_stay(container: Container, home: Path) -> None:
    folder = str(home / "project")
    words = ("jupyter", "keep", folder, "20001")
    assert container.run(*words, env=env(home), words=f"{GIVEN}\n") == (0, "", "")
    eventually((home / "pid").exists)
    try:
        assert runs(home)
        assert (home / ".devctl/jupyter.log").read_text() == "listening\n"
        with open(f"/proc/{_pid(home)}/stat") as stat:  # noqa: PTH123
            fields = stat.read().rpartition(")")[2].split()
        # A session of its own: a terminal that goes away takes nothing along.
        assert fields[3] == _pid(home)
    finally:
        os.kill(int(_pid(home)), 9)


def test_its_own_end_and_code_are_told(container: Container, home: Path) -> None:
    (home / "broken").touch()
    process = container.start(
        "jupyter", "leave", str(home), "20001", env=env(home), stdin=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write("x\n")
    process.stdin.flush()
    assert process.wait(PATIENCE) == 3
    process.communicate()


def test_a_server_without_it_is_told(container: Container, home: Path) -> None:
    install(home, "neither")
    words = ("jupyter", "leave", str(home), "20001")

    status, out, err = container.run(*words, env=env(home), words="x\n")

    assert (status, out) == (127, "")
    assert err.splitlines() == [
        "error: this server has no Jupyter",
        "  fix: install it there: `pip install --user jupyterlab`",
    ]


def test_a_folder_that_is_not_there_starts_nothing(container: Container, home: Path) -> None:
    words = ("jupyter", "leave", str(home / "none"), "20001")
    status, _, err = container.run(*words, env=env(home), words="x\n")
    assert status != 0
    assert "none" in err
    assert not (home / "given").exists()


def _pid(home: Path) -> str:
    return (home / "pid").read_text().strip()
