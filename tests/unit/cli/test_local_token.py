from __future__ import annotations

import json
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

import jwt
import pytest

from devctl.local.paths import ClusterPaths, cluster_paths
from devctl.local.settings import ClusterSettings, block_ranges
from devctl.local.worker_tokens import ensure_key

if TYPE_CHECKING:
    from unit.cli.conftest import Devctl


@pytest.fixture
def paths() -> ClusterPaths:
    """The files of a cluster, which does not run."""
    settings = ClusterSettings("lab", 2, *block_ranges(IPv4Network("198.18.0.0/18")))
    paths = cluster_paths("lab")
    paths.root.mkdir(parents=True)
    paths.settings.write_text(json.dumps(settings.to_json()))
    return paths


def test_the_key_of_the_part_signs_a_token(devctl: Devctl, paths: ClusterPaths) -> None:
    folder = paths.parts / "workers"
    folder.mkdir(parents=True)
    ensure_key(folder)
    result = devctl("local", "token", "carol", "--role", "admin", "--hours", "1", "--name", "lab")
    assert (result.code, result.stderr) == (0, "")
    claims = jwt.decode(result.stdout.strip(), options={"verify_signature": False})
    assert (claims["sub"], claims["roles"]) == ("carol", ["admin"])
    assert claims["exp"] - claims["iat"] == 3600


@pytest.mark.usefixtures("paths")
def test_without_the_part_there_is_no_token(devctl: Devctl) -> None:
    result = devctl("local", "token", "carol", "--name", "lab")
    assert (result.code, result.stdout) == (3, "")
    assert "`devctl local up --with workers --name lab`" in result.stderr


def test_a_role_that_does_not_exist_is_refused(devctl: Devctl) -> None:
    result = devctl("local", "token", "carol", "--role", "node")
    assert result.code == 2
    assert "node" in result.stderr
