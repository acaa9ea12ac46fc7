"""Commands where the way to the API server leads through a proxy, or is slow and loses packets."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from support.proxies import Proxy, forward_proxy
from support.slow_link import SlowLink, slow_link

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.command_line import CommandLine
    from support.plane.plane import Plane
    from support.user_place import UserPlace

BOX = "box"


@pytest.fixture(scope="module")
def user(place: UserPlace) -> CommandLine:
    """A user with a server."""
    place.user.must("create", BOX, *place.options)
    return place.user


@pytest.fixture(params=["http", "https", "socks5"])
def proxy(request: pytest.FixtureRequest, plane: Plane, tmp_path: Path) -> Iterator[Proxy]:
    """A proxy of each kind; that of https proves itself by the cluster's authority."""
    own = [plane.pki.file(f"apiserver.{part}") for part in ("crt", "key")]
    with forward_proxy(request.param, tmp_path, *own * (request.param == "https")) as running:
        yield running


@pytest.fixture
def http_proxy(tmp_path: Path) -> Iterator[Proxy]:
    """The usual one."""
    with forward_proxy("http", tmp_path) as running:
        yield running


@pytest.fixture
def link(user: CommandLine) -> Iterator[SlowLink]:
    """A slow way to the API server."""
    server = urlsplit(_cluster(user)["server"])
    with slow_link(str(server.hostname), int(server.port or 0)) as made:
        yield made


def _cluster(user: CommandLine) -> dict[str, Any]:
    config = json.loads(user.kubeconfig.read_text())
    found: dict[str, Any] = config["clusters"][0]["cluster"]
    return found


def changed(user: CommandLine, folder: Path, **cluster: Any) -> CommandLine:
    """The same user with a kubeconfig that says more of the cluster."""
    config = json.loads(user.kubeconfig.read_text())
    about = {name.replace("_", "-"): value for name, value in cluster.items()}
    config["clusters"][0]["cluster"] |= about
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return replace(user, kubeconfig=file)


def slowly(user: CommandLine, folder: Path, link: SlowLink) -> CommandLine:
    """The same user on the slow way."""
    host = urlsplit(_cluster(user)["server"]).hostname
    server = f"https://127.0.0.1:{link.port}"
    return changed(user, folder, server=server, tls_server_name=host)


def test_the_kubeconfigs_proxy_is_taken(
    place: UserPlace, user: CommandLine, proxy: Proxy, tmp_path: Path
) -> None:
    # NO_PROXY does not count for it, as it does not for kubectl.
    there = changed(user, tmp_path, proxy_url=proxy.address)
    there = replace(there, environment={**user.environment, "NO_PROXY": "*"})
    assert f"devserver/{BOX}" in there.must("list", "-o", "name")
    assert proxy.connections()
    assert BOX in there.must("status")
    there.must("create", "other", *place.options, "--dry-run=server")


@pytest.mark.parametrize(
    ("variables", "taken"),
    [
        ({"HTTPS_PROXY": "{}"}, True),
        ({"https_proxy": "{}"}, True),
        ({"ALL_PROXY": "{}"}, True),
        ({"HTTP_PROXY": "{}"}, False),
        ({"HTTPS_PROXY": "{}", "NO_PROXY": "198.51.100.0/24"}, False),
        ({"HTTPS_PROXY": "{}", "no_proxy": "example.com,198.51.100.1"}, False),
    ],
)
def test_the_environments_proxy_is_taken(
    user: CommandLine, http_proxy: Proxy, variables: dict[str, str], *, taken: bool
) -> None:
    named = {name: value.format(http_proxy.address) for name, value in variables.items()}
    there = replace(user, environment=user.environment | named)
    assert f"devserver/{BOX}" in there.must("list", "-o", "name")
    assert bool(http_proxy.connections()) is taken


def test_a_proxy_that_is_not_there_is_named(user: CommandLine, tmp_path: Path) -> None:
    there = changed(user, tmp_path, proxy_url="http://alice:secret@127.0.0.1:9")
    said = there.fails(1, "list")
    assert "through http://127.0.0.1:9 cannot be reached: Connection refused" in said
    assert "secret" not in said


def test_a_slow_link_carries_every_command(
    user: CommandLine, link: SlowLink, tmp_path: Path
) -> None:
    there = slowly(user, tmp_path, link)
    assert f"devserver/{BOX}" in there.must("list", "-o", "name")
    assert f"{BOX}" in there.must("describe", BOX)
    # It watches until the server has stopped.
    there.must("stop", BOX, "--wait", timeout=180)
    there.must("start", BOX, "--wait", timeout=180)
    assert link.connections >= 4


def test_a_lost_connection_is_tried_again_and_told(
    user: CommandLine, link: SlowLink, tmp_path: Path
) -> None:
    there = slowly(user, tmp_path, link)
    link.lost = 1
    result = there("list", "-o", "name")
    assert result.returncode == 0
    assert f"devserver/{BOX}".encode() in result.stdout
    assert result.stderr.decode() == (
        f"https://127.0.0.1:{link.port} does not answer: trying again\n"
    )


def test_nobody_waits_longer_than_they_want_to(
    user: CommandLine, link: SlowLink, tmp_path: Path
) -> None:
    there = slowly(user, tmp_path, link)
    link.lost = 100
    said = there.fails(4, "list", "--request-timeout", "1s", timeout=20)
    assert "does not answer in time" in said
    assert there.fails(2, "--request-timeout", "soon", "list")
