"""`from devctl import Client`, as a program uses it."""

from __future__ import annotations

import re
import subprocess
import sys
from subprocess import PIPE
from typing import TYPE_CHECKING

import pytest
from support.servers import wait_until

from devctl import AlreadyExistsError, Client, DeniedError, NotFoundError, UsageError
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from support.user_place import UserPlace

    from devctl.client.manifests import CreateOptions


EXAMPLES = REPOSITORY / "examples/sdk"


def small(place: UserPlace) -> CreateOptions:
    """The options of a server that needs next to nothing."""
    return {"image": "none:1", "home_size": "10Mi", "flavor": place.name, "stopped": True}


def test_a_server_from_its_making_to_its_end(place: UserPlace) -> None:
    client = Client(kubeconfig=str(place.user.kubeconfig))
    assert client.namespace == place.name
    servers = client.servers
    made = servers.create("sdk", **small(place))
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
        servers.create("sdk", **small(place))
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


def test_the_examples_tell_of_servers(place: UserPlace) -> None:
    command = [sys.executable, "-u", f"{EXAMPLES}/watch.py", "120"]
    report = [sys.executable, f"{EXAMPLES}/report.py"]
    environment = place.user.variables
    client = Client(kubeconfig=str(place.user.kubeconfig))
    with subprocess.Popen(command, stdout=PIPE, env=environment, text=True) as watch:
        assert watch.stdout is not None
        lines = iter(watch.stdout.readline, "")
        try:
            client.servers.create("seen", **small(place))
            assert next(line for line in lines if "-> Stopped" in line).startswith("seen: ")
            said = subprocess.check_output(report, env=environment, text=True)
            assert re.search(rf"{place.owner} +{place.name} +Stopped +1\n", said)
            client.servers.delete("seen")
            assert next(line for line in lines if "-> -" in line).startswith("seen: ")
        finally:
            watch.kill()
