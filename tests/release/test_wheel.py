"""The wheel that is published: it is whole, installs with the oldest Python and answers there."""

from __future__ import annotations

import re
import subprocess
from email import message_from_bytes
from pathlib import Path

import click
import pytest
from support.wheel import BIN, MINORS, PYTHONS, Installed, content, dist, install, must, wheel

from devctl.cli.egpu.group import egpu
from devctl.cli.main import cli
from devctl.cli.vllm.group import k8shazgpu
from devctl.local.paths import REPOSITORY

__all__ = ["content", "dist", "wheel"]  # fixtures


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


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(wheel, PYTHONS[0], tmp_path_factory.mktemp("home"))


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
