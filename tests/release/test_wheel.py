"""The wheel that is published: it is whole, installs with each Python and answers there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import pytest

from devctl.cli.egpu.group import egpu
from devctl.cli.main import cli
from devctl.cli.vllm.group import k8shazgpu
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

BIN = Path(sys.executable).parent
MINORS = range(11, 15)
"""Of Python 3: what the metadata names."""
SHARED = "devctl-{version}.data/data/share/"


class Done(NamedTuple):
    """What came of a command line."""

    code: int
    stdout: str
    stderr: str


class Installed:
    """devctl in an environment of its own, for a person who has never used it."""

    def __init__(self, prefix: Path, home: Path) -> None:
        """Install nothing: that is the fixture's."""
        self.prefix, self.home = prefix, home

    def __call__(self, program: str, *arguments: str) -> Done:
        """Run a program of it."""
        done = subprocess.run(
            [self.prefix / "bin" / program, *arguments],
            cwd=self.home,
            env=clean_environment(self.home) | {"PATH": f"{self.prefix}/bin:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return Done(done.returncode, done.stdout, done.stderr)


def clean_environment(home: Path) -> dict[str, str]:
    """Nothing of this checkout and of the cluster that the person has chosen."""
    ours = re.compile(r"PYTHON|VIRTUAL_ENV|KUBECONFIG|DEVCTL_|COVERAGE|PYTEST")
    kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
    return kept | {"HOME": str(home), "COLUMNS": "80", "TERM": "dumb"}


def must(*words: str | Path, home: Path | None = None) -> None:
    """Run something that works."""
    environment = clean_environment(home or Path.home())
    done = subprocess.run(
        words, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def pythons() -> Iterator[Path]:
    """The newest of each Python that devctl supports and this machine has."""
    for minor in MINORS:
        name = f"python3.{minor}"
        by_pyenv = (Path.home() / ".pyenv/versions").glob(f"3.{minor}.*/bin/{name}")
        on_path = shutil.which(name)
        for found in [*sorted(by_pyenv, reverse=True), *([Path(on_path)] if on_path else [])]:
            answer = subprocess.run([found, "-c", "import ssl"], check=False, capture_output=True)
            if answer.returncode == 0:
                yield found
                break


PYTHONS = list(pythons())


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, and the wheel that was made from it alone."""
    folder = tmp_path_factory.mktemp("dist")
    must(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_metadata_is_right_and_the_readme_renders(dist: Path, content: dict[str, bytes]) -> None:
    must(BIN / "twine", "check", "--strict", *dist.iterdir())
    (metadata,) = [content[name] for name in content if name.endswith("/METADATA")]
    fields = message_from_bytes(metadata)
    assert fields["License-Expression"] == "Apache-2.0"
    assert fields["Requires-Python"] == ">=3.11"
    supported = [f"Programming Language :: Python :: 3.{minor}" for minor in MINORS]
    assert [name for name in fields.get_all("Classifier", []) if name in supported] == supported
    assert fields.get_all("Provides-Extra") == ["admin", "oidc"]


def test_every_module_is_in_it_and_nothing_that_needs_the_repository(
    content: dict[str, bytes],
) -> None:
    modules = {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "devctl").rglob("*.py")}
    expected = {name for name in modules if not name.startswith("devctl/local/")}
    inside = {name for name in content if name.startswith("devctl/")}
    assert inside == {*expected, "devctl/py.typed"}


def test_every_command_has_a_man_page(content: dict[str, bytes]) -> None:
    pages = {
        Path(name).name: page.decode() for name, page in content.items() if "/share/man/" in name
    }
    for program, group in {"devctl": cli, "egpu": egpu, "k8shazgpu": k8shazgpu}.items():
        names = set(group.list_commands(click.Context(group))) - {"local"}
        expected = {f"{program}.1", *(f"{program}-{name}.1" for name in names)}
        assert expected <= pages.keys()
    assert "devctl-homes-list.1" in pages
    page = pages["devctl-create.1"]
    assert re.search(r"^\.SH Name\ndevctl-create \\- Create a server$", page, re.MULTILINE)
    assert "\\-\\-flavor F" in page
    assert "devctl create my\\-dev \\-\\-flavor gpu\\-large" in page
    assert not [name for name in pages if "local" in name or "ssh-proxy" in name]


@pytest.fixture(scope="module", params=PYTHONS, ids=lambda path: path.name)
def installed(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    home = tmp_path_factory.mktemp("home")
    uv, python = BIN / "uv", home / "venv/bin/python"
    must(uv, "venv", "--quiet", "--python", request.param, home / "venv")
    must(uv, "pip", "install", "--quiet", "--python", python, wheel)
    return Installed(home / "venv", home)


def test_it_answers_without_a_cluster(installed: Installed) -> None:
    programs = (["devctl"], ["kubectl-devctl"], ["egpu"], ["k8shazgpu"], ["python", "-m", "devctl"])
    for line in programs:
        code, stdout, stderr = installed(*line, "--version")
        assert (code, stderr) == (0, "")
        assert stdout.endswith(", version 0.1.0\n")
    code, stdout, stderr = installed("devctl", "--help")
    assert (code, stderr) == (0, "")
    assert "  create        Create a server\n" in stdout
    assert not re.search(r"^ +local ", stdout, re.MULTILINE)
    code, stdout, stderr = installed("devctl", "list")
    assert (code, stdout) == (1, "")
    assert stderr.splitlines() == [
        f"error: there is no kubeconfig: `{installed.home}/.kube/config` does not exist",
        "  fix: name one with --kubeconfig or KUBECONFIG; your cluster's administrator has it",
    ]
    code, stdout, stderr = installed("devctl", "local", "up", "--help")
    assert (code, stdout) == (1, "")
    assert "does not include the local cluster" in stderr


IMPORT_ALL = """
import pkgutil
import sys
import devctl
for module in pkgutil.walk_packages(devctl.__path__, "devctl."):
    if not module.name.startswith("devctl.cli.local.") and module.name != "devctl.__main__":
        __import__(module.name)
print(devctl.Client.__name__, *(name for name in sys.modules if name.startswith("devctl.local")))
"""


def test_everything_in_it_can_be_imported(installed: Installed) -> None:
    assert installed("python", "-c", IMPORT_ALL) == (0, "Client\n", "")


def test_a_shell_completes_from_what_was_installed(installed: Installed) -> None:
    script = installed.prefix / "share/bash-completion/completions/devctl"
    line = "devctl sto"
    ask = (
        f'source {script}; COMP_LINE="{line}" COMP_POINT={len(line)} _devctl_completion; '
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["/bin/bash", "-c", ask],
        env={"PATH": f"{installed.prefix}/bin:/usr/bin:/bin", "HOME": str(installed.home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "stop stop-run\n"


def test_the_oldest_libraries_that_it_takes_are_enough(
    wheel: Path, content: dict[str, bytes], tmp_path: Path
) -> None:
    (metadata,) = [content[name] for name in content if name.endswith("/METADATA")]
    needed = message_from_bytes(metadata).get_all("Requires-Dist", [])
    uv, python = BIN / "uv", tmp_path / "venv/bin/python"
    must(uv, "venv", "--quiet", "--python", PYTHONS[0], tmp_path / "venv")
    # Those of the extras, too.
    oldest = [line.partition(";")[0].replace(">=", "==") for line in needed]
    must(uv, "pip", "install", "--quiet", "--python", python, wheel, *oldest)
    devctl = Installed(tmp_path / "venv", tmp_path)
    assert devctl("devctl", "create", "--help").code == 0
    assert "did you mean `devctl list`?" in devctl("devctl", "lst").stderr
    assert "there is no option `--x`" in devctl("devctl", "list", "--x").stderr
    assert "there is no kubeconfig" in devctl("devctl", "list").stderr
    where = ("--issuer", "https://127.0.0.1:1", "--client-id", "x")
    assert "https://127.0.0.1:1 cannot be reached" in devctl("devctl", "login", *where).stderr


def test_pipx_installs_it_with_pip_and_shows_its_man_pages(wheel: Path, tmp_path: Path) -> None:
    places = {f"PIPX_{name}": str(tmp_path / name) for name in ("HOME", "BIN_DIR", "MAN_DIR")}
    words: list[str | Path] = [
        "install",
        "--quiet",
        "--backend",
        "pip",
        "--python",
        PYTHONS[-1],
        wheel,
    ]
    done = subprocess.run(
        [BIN / "pipx", *words],
        env=clean_environment(tmp_path) | places,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    programs = {path.name for path in (tmp_path / "BIN_DIR").iterdir()}
    assert programs == {
        "devctl",
        "egpu",
        "k8shazgpu",
        "kubectl-devctl",
        "kubectl_complete-devctl",
    }
    assert (tmp_path / "MAN_DIR/man1/devctl-create.1").exists()
    assert Installed(tmp_path / "HOME/venvs/devctl", tmp_path)("devctl", "--version").code == 0
