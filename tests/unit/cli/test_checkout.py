"""What an installed package says of what only the repository has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devctl import checkout
from devctl.errors import DevctlError
from devctl.kube.kubeconfig import find_access

if TYPE_CHECKING:
    from pathlib import Path

    from unit.cli.conftest import Devctl


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in site-packages: no playbooks, no tools."""
    monkeypatch.setattr(checkout, "REPOSITORY", str(tmp_path))


def test_the_repository_has_the_local_cluster() -> None:
    assert checkout.has_local_cluster()
    checkout.require_local_cluster()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("line", ["local", "local up", "local up --help", "local nothing"])
def test_a_package_says_where_the_local_cluster_is(devctl: Devctl, line: str) -> None:
    code, stdout, stderr = devctl(*line.split())
    assert (code, stdout) == (1, "")
    assert stderr.splitlines() == [
        "error: this devctl was installed as a package, which does not include the local cluster",
        "  fix: run `make up` in a clone of devctl's repository",
    ]


@pytest.mark.usefixtures("installed")
def test_a_package_completes_no_command_of_the_local_cluster() -> None:
    from devctl.kubectl_plugin import answer  # noqa: PLC0415 - imports every command

    assert answer(["local", ""]) == [":4"]


@pytest.mark.usefixtures("installed")
def test_a_package_without_a_kubeconfig_recommends_nothing_that_it_lacks() -> None:
    with pytest.raises(DevctlError) as raised:
        find_access()
    assert "local" not in raised.value.fix
    assert "--kubeconfig" in raised.value.fix


def test_a_checkout_without_its_packages_names_them(
    devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "_NEEDED", ("supervisor", "not_there"))
    code, _, stderr = devctl("local", "status")
    assert code == 1
    assert stderr.splitlines() == [
        "error: the local cluster needs Python packages that are not installed: not_there",
        f"  fix: run `make up` in {checkout.REPOSITORY}",
    ]
