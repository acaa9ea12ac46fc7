"""GPUs that the host's tool canhazgpu reserves in the node's Redis, and those that claims hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pods.test_dra import DRIVER, EACH, SYSTEM, Place, devices, on_node, place
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl

__all__ = ["on_node", "place"]  # fixtures
REDIS = ("daemonset/canhazgpu-redis", "-n", SYSTEM)
RESERVED, UNKNOWN = f"{DRIVER}/reserved", f"{DRIVER}/reservations-unknown"


class Host:
    """The node's host, on which the tool runs."""

    def __init__(self, run: Callable[[str], str], kubectl: Kubectl, node: str) -> None:
        self._run, self._kubectl, self._node = run, kubectl, node

    def ask(self, *command: str) -> str:
        """What Redis answers to the tool, which connects to the loopback interface."""
        sent = f"*{len(command)}\r\n" + "".join(f"${len(w.encode())}\r\n{w}\r\n" for w in command)
        text = sent.replace("\\", "\\\\").replace("%", "%%").replace("\r\n", "\\r\\n")
        script = (
            "exec 3<>/dev/tcp/127.0.0.1/6379; "
            f"printf '{text}' >&3; IFS= read -r a <&3; "
            'case $a in \\$-1*) ;; \\$*) IFS= read -r b <&3; printf %s "$b";; '
            '*) printf %s "$a";; esac'
        )
        quoted = script.replace("'", "'\\''")
        return self._run(f"bash -c '{quoted}'").strip()

    def reserve(self, index: int, user: str) -> None:
        """As `canhazgpu reserve` does it."""
        state = {"user": user, "actual_user": user, "type": "manual", "start_time": 1}
        assert self.ask("SET", key(index), json.dumps(state)) == "+OK"

    def users(self) -> list[str]:
        """Who has each GPU."""
        read = [json.loads(self.ask("GET", key(index)) or "{}") for index in range(EACH)]
        return [str(each.get("user", "")) for each in read]

    def taints(self) -> dict[str, list[tuple[str, str]]]:
        """The taints of the node's GPUs."""
        return {
            each["name"]: [(t["key"], t.get("value", "")) for t in each.get("taints", [])]
            for each in devices(self._kubectl, self._node)
        }


def key(index: int) -> str:
    return f"canhazgpu:gpu:{index}"


@pytest.fixture
def host(place: Place, on_node: Callable[[str], str], kubectl: Kubectl) -> Iterator[Host]:
    found = Host(on_node, kubectl, place.node)
    wait_until(lambda: not any(found.taints().values()), "nothing is reserved", 120)
    yield found
    found.ask("DEL", *(key(index) for index in range(EACH)))


def test_what_is_reserved_there_is_not_given_here_and_the_other_way_round(
    place: Place,
    host: Host,
) -> None:
    host.reserve(1, "alice")
    wait_until(lambda: host.taints()["gpu-1"] == [(RESERVED, "alice")], "it is withheld")
    place.start("rest", limit=EACH - 1)
    assert place.gpus("rest")["CANHAZGPU_DEVICES"] == "0,2,3"
    users = host.users()
    assert users[1] == "alice"
    assert all(users[index].startswith(f"{place.namespace}/") for index in (0, 2, 3))
    place.start("late")
    host.ask("DEL", key(1))
    assert place.gpus("late")["CANHAZGPU_DEVICES"] == "1"
    wait_until(lambda: host.users()[1] == f"{place.namespace}/late", "it is reserved here")
    place.stop("rest")
    wait_until(lambda: host.users() == ["", f"{place.namespace}/late", "", ""], "it is free")


def test_what_is_reserved_between_scheduling_and_start_waits_with_the_reason(
    place: Place,
    host: Host,
    kubectl: Kubectl,
) -> None:
    """The plugin is away, so that the scheduler does not know yet."""
    where = ("daemonset/canhazgpu-kubeletplugin", "-n", SYSTEM)
    with _away(kubectl, where):
        wait_until(lambda: not _pods(kubectl, "kubeletplugin"), "it is away", 120)
        host.reserve(0, "alice")
        place.start("first", f"device.attributes['{DRIVER}'].index == 0")
    reason = "GPU 0 is reserved on the host by alice"

    def said() -> str:
        return " ".join(each["message"] for each in kubectl.api.list("event", place.namespace))

    # Unless the kubelet has removed the slice by then: it waits for the scheduler in that case.
    wait_until(lambda: reason in said() or "cannot allocate" in said(), said, 240)
    host.ask("DEL", key(0))
    assert place.gpus("first")["CANHAZGPU_DEVICES"] == "0"


def test_while_redis_is_away_pods_go_on_and_new_ones_wait(
    place: Place,
    host: Host,
    kubectl: Kubectl,
) -> None:
    place.start("first")
    index = int(place.gpus("first")["CANHAZGPU_DEVICES"])
    container = place.container("first")
    with _away(kubectl, REDIS):
        unknown = {f"gpu-{each}": [(UNKNOWN, "")] for each in range(EACH)}
        wait_until(lambda: host.taints() == unknown, lambda: str(host.taints()), 120)
        place.start("late")
        assert place.container("first") == container
    assert place.gpus("late")
    assert host.users()[index] == f"{place.namespace}/first", "a restart keeps it"
    assert place.container("first") == container


def test_redis_is_reached_from_its_own_host_only(
    place: Place,
    host: Host,
    kubectl: Kubectl,
) -> None:
    assert host.ask("PING") == "+PONG"
    assert "NOPERM" in host.ask("CONFIG", "GET", "dir")
    place.start("first")
    place.gpus("first")
    (redis,) = [p for p in _pods(kubectl, "redis") if p["spec"]["nodeName"] == place.node]
    connect = f"timeout 5 bash -c '</dev/tcp/{redis['status']['hostIP']}/6379' && echo reached || :"
    assert not kubectl("-n", place.namespace, "exec", "first", "--", "sh", "-c", connect).strip()


class _away:  # noqa: N801 - reads as what it is
    """A DaemonSet without pods, for a while."""

    def __init__(self, kubectl: Kubectl, which: tuple[str, ...]) -> None:
        self._kubectl, self._which = kubectl, which

    def __enter__(self) -> None:
        self._select('{"nowhere": "there"}')

    def __exit__(self, *_: object) -> None:
        self._select("null")
        self._kubectl("rollout", "status", *self._which, "--timeout=180s")

    def _select(self, labels: str) -> None:
        patch = f'{{"spec": {{"template": {{"spec": {{"nodeSelector": {labels}}}}}}}}}'
        self._kubectl("patch", *self._which, "--type=merge", "--patch", patch)


def _pods(kubectl: Kubectl, component: str) -> list[dict[str, Any]]:
    """The system's pods that there are of a component."""
    label = "app.kubernetes.io/component"
    return [
        pod
        for pod in kubectl.api.list("pod", SYSTEM)
        if pod["metadata"]["labels"].get(label) == component
    ]
