"""`from devctl import Client`, as docs/devctl.md shows it and as a program uses it."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.servers import wait_until

from devctl import Client
from devctl.errors import AlreadyExistsError, DeniedError, NotFoundError, UsageError
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from support.user_place import UserPlace

TRAIN = "from pathlib import Path; Path('model.safetensors').write_bytes(b'weights'); print('ok')"


def test_the_example_of_the_manual_runs(place: UserPlace, torch_image: str, tmp_path: Path) -> None:
    (example,) = re.findall(
        r"```python\n(.*?)```", (REPOSITORY / "docs/devctl.md").read_text(), re.DOTALL
    )
    for written, here in (("dev-alice", place.name), ("cpu-small", place.name)):
        assert written in example
        example = example.replace(written, here)
    (tmp_path / "project").mkdir()
    (tmp_path / "project/train.py").write_text(TRAIN)
    done = subprocess.run(
        [sys.executable, "-c", example],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=place.user.variables | {"DEVCTL_IMAGE": torch_image},
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert any(line.startswith("Starting ") for line in said)
    assert "0 ok" in said
    assert (tmp_path / "model.safetensors").read_bytes() == b"weights"
    assert said[-1].startswith("home-lab-0 ")


def test_a_server_from_its_making_to_its_end(place: UserPlace) -> None:
    client = Client(kubeconfig=str(place.user.kubeconfig))
    assert client.namespace == place.name
    servers = client.servers
    small = {"flavor": place.name, "image": "none:1", "home_size": "10Mi"}
    made = servers.create("sdk", **small, stopped=True)  # type: ignore[arg-type]
    assert (made.owner, made.stopped, made.size) == (place.owner, True, 1)
    assert servers.wait_stopped("sdk", 60).phase == "Stopped"
    assert servers.get("sdk").uid == made.uid
    assert "sdk" in [server.name for server in servers.list()]
    change = next(servers.watch(name="sdk"))
    assert (change.type, change.object["metadata"]["uid"]) == ("ADDED", made.uid)
    assert servers.extend("sdk", ttl="2h").lifecycle["timeToLive"] >= 7200
    assert client.flavors.get(place.name).schedulable
    events = client.events.list
    wait_until(lambda: any(found.about == "devserver/sdk" for found in events("sdk")), "its events")

    with pytest.raises(AlreadyExistsError):
        servers.create("sdk", **small)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="there is no flavor `none`"):
        servers.create("other", flavor="none", image="none:1", dry_run=True)
    with pytest.raises(UsageError, match="cannot be a server's name"):
        servers.get("Not_A_Name")
    with pytest.raises(DeniedError, match=r"you \(.*\) may not list devservers"):
        list(servers.list("kube-system"))
    assert servers.find("nobody") is None

    wait_until(lambda: bool(list(client.homes.list(server="sdk"))), "it has a home")
    servers.delete(made)
    servers.wait_gone("sdk", made.uid, 60)
    (home,) = client.homes.list(server="sdk")
    assert (home.name, home.size, list(home.pods)) == ("home-sdk-0", "10Mi", [])
    client.homes.delete(home)
