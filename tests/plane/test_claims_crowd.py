"""A hundred claims for sixteen GPUs of four nodes, while everything that hands them out dies.

Plugin, gRPC, Redis, scheduler and controllers are real. A plane has no kubelet, so the tests' own
asks the plugins. It and they kill themselves at every point of their work; the test kills Redis.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin.slices import slice_name
from plane.test_dra import part
from support.claims_crowd import FORCED, MANY, Crowd
from support.plane.claims_ledger import ClaimsLedger
from support.plane.gpu_node import GPUS, GpuNode, account_of
from support.plane.kubelet_record import KUBELET
from support.plane.tokens import write_account
from support.servers import wait_until
from support.workloads import gpu_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

__all__ = ["part"]  # a fixture
pytestmark = pytest.mark.usefixtures("part")

SEED = 20
NODES = 4
PATIENCE = 400.0
"""Seconds, many times what it takes from the first pod to the last one's end."""
REDIS_EVERY = MANY // (2 * NODES + 1)
"""Pods that end between two deaths of a Redis."""


@pytest.fixture
def nodes(
    kubectl: Kubectl,
    namespace: str,
    plugin_python: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[list[GpuNode]]:
    """Four nodes whose plugins, kubelets and Redis run."""
    root = tmp_path_factory.mktemp("c")  # a socket's path is short
    kubectl("-n", namespace, "create", "serviceaccount", KUBELET)
    account = f"--serviceaccount={namespace}:{KUBELET}"
    kubectl("create", "clusterrolebinding", namespace, "--clusterrole=cluster-admin", account)
    (root / KUBELET).mkdir()
    write_account(kubectl, root / KUBELET, KUBELET, namespace)
    with gpu_nodes(kubectl, namespace, NODES, 0) as names, ExitStack() as stack:
        made = []
        for number, name in enumerate(names):
            folder = root / str(number)
            folder.mkdir()
            own = stack.enter_context(account_of(kubectl, name, root / f"account-{number}"))
            accounts = (own, root / KUBELET)
            made.append(GpuNode(name, folder, plugin_python, accounts, f"{SEED} {number}"))
        for each in made:
            stack.enter_context(each.running())
        wait_until(lambda: offered(kubectl, made) == NODES * GPUS, logs(made))
        yield made
    kubectl("delete", "clusterrolebinding", namespace)


def logs(nodes: list[GpuNode]) -> Any:
    return lambda: "\n".join(each.log for each in nodes)


def offered(kubectl: Kubectl, nodes: list[GpuNode]) -> int:
    """How many GPUs anybody new could get."""
    slices = [kubectl.api.get("resourceslice", slice_name(each.name)) for each in nodes]
    devices = [device for found in slices if found for device in found["spec"].get("devices", [])]
    return sum("taints" not in device for device in devices)


@contextmanager
def printed(what: str) -> Iterator[None]:
    """How long something took, for whoever reads the output."""
    since = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - since:.0f} s")  # noqa: T201


def test_no_gpu_is_anybody_elses_whatever_dies(
    kubectl: Kubectl, namespace: str, nodes: list[GpuNode]
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - it is to be the same again
    crowd, victims = Crowd(kubectl, namespace, chance), 2 * nodes
    chance.shuffle(victims)
    account = ("serviceaccount", "default", namespace)
    wait_until(lambda: kubectl.api.get(*account) is not None, "pods have an account")

    def goes_on() -> bool:
        ledger.look()
        assert not ledger.excess, ledger.excess
        waiting = crowd.look()
        while victims and len(waiting) < len(victims) * REDIS_EVERY:
            redis = victims.pop().redis
            redis.lose()
            redis.start()
        return not waiting

    with ClaimsLedger(kubectl.api, namespace, nodes) as ledger, printed("all have ended"):
        with printed("all have come"):
            crowd.come()
        wait_until(goes_on, lambda: f"{sorted(crowd.look())} wait\n{logs(nodes)()}", PATIENCE)
        wait_until(lambda: not any(each.held for each in nodes), logs(nodes))
        wait_until(lambda: not any(each.reserved for each in nodes), logs(nodes))
        wait_until(lambda: not ledger.allocated, lambda: str(ledger.allocated))
        wait_until(lambda: offered(kubectl, nodes) == NODES * GPUS, logs(nodes))
    assert (len(ledger.ever), len(crowd.gone), ledger.excess) == (MANY, FORCED, [])
    assert [each.wrong for each in nodes] == [""] * NODES
    assert not any(list((each.root / "cdi").iterdir()) for each in nodes)
    assert [each.deaths_left for each in nodes] == [[]] * NODES, "everything has died everywhere"
    assert not victims
