"""Who has which GPU, as far as somebody may see."""

from __future__ import annotations

import pytest

from devctl.api.vllm_run import RESERVATIONS_UNKNOWN, RESERVED
from devctl.client.client import Client
from devctl.client.gpu_ledger.devices import FOR_REQUESTS
from devctl.client.vllm.gpus import Gpu, judge
from devctl.errors import NotFoundError
from devctl.kube.cluster import EVERYWHERE
from unit.client.fake_cluster import FakeApi, FakeCluster
from unit.client.vllm_things import CLAIMS, SLICES, UNKNOWN_KIND, gpu, gpu_claim, gpu_slice


@pytest.fixture
def api() -> FakeApi:
    found = FakeApi()
    found.add(SLICES, gpu_slice("gpu-1", gpu(0), gpu(1)), gpu_slice("gpu-0", gpu(0)))
    found.add(
        CLAIMS,
        gpu_claim("my-demo", ("gpu-1", "gpu-1"), run=True),
        gpu_claim("theirs", ("gpu-0", "gpu-0"), namespace="dev-bob"),
    )
    return found


@pytest.fixture
def client(api: FakeApi) -> Client:
    return Client(api.cluster())


def told(gpus: object) -> list[str]:
    assert isinstance(gpus, (list, tuple))
    return [f"{g.node}/{g.index} {g.state} {g.holder or ''}".rstrip() for g in gpus]


def test_an_administrator_sees_all(client: Client) -> None:
    found = client.gpus()
    assert told(found.gpus) == [
        "gpu-0/0 Claimed claim dev-bob/theirs",
        "gpu-1/0 Free",
        "gpu-1/1 Claimed run dev-alice/my-demo",
    ]
    assert found.complete
    first = found.gpus[0]
    assert (first.model, first.memory, first.made_up, first.uuid) == (
        "H100",
        80 << 30,
        True,
        "GPU-0",
    )
    assert first.document() == {
        "node": "gpu-0",
        "device": "gpu-0",
        "state": "Claimed",
        "holder": {"kind": "claim", "name": "theirs", "namespace": "dev-bob"},
        "index": 0,
        "uuid": "GPU-0",
        "model": "H100",
        "memory": 80 << 30,
        "madeUp": True,
    }


def test_a_user_does_not_take_what_is_hidden_for_free(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may only see their own namespace cannot know who else holds a GPU."""
    deny(monkeypatch, everywhere=True)
    found = client.gpus()
    assert told(found.gpus) == [
        "gpu-0/0 Unknown",
        "gpu-1/0 Unknown",
        "gpu-1/1 Claimed run dev-alice/my-demo",
    ]
    assert (found.complete, found.offered, found.hidden) == (False, True, True)


def test_without_any_right_to_slices_there_is_what_claims_hold(
    api: FakeApi, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    deny(monkeypatch, everywhere=True)
    api.refusals["GET", SLICES] = (403, "resourceslices is forbidden")
    found = client.gpus()
    assert [(g.node, g.device, g.index) for g in found.gpus] == [("gpu-1", "gpu-1", None)]
    assert not found.offered
    api.refusals["GET", CLAIMS] = (403, "resourceclaims is forbidden")
    assert client.gpus().gpus == []


def test_an_old_cluster_says_so(api: FakeApi, client: Client) -> None:
    api.refusals["GET", SLICES] = UNKNOWN_KIND
    with pytest.raises(NotFoundError, match="no dynamic resource allocation"):
        client.gpus()


def deny(monkeypatch: pytest.MonkeyPatch, *, everywhere: bool) -> None:
    """The user may not list claims of all namespaces."""
    known = FakeCluster.list

    def listed(self: FakeCluster, kind: object, namespace: object = None, *a: object, **k: object):  # type: ignore[no-untyped-def] # noqa: ANN202
        if everywhere and namespace == EVERYWHERE:
            self.api.refusals["GET", "everything"] = (403, "claims are forbidden")
            self._refuse("GET", "everything")
        return known(self, kind, namespace, *a, **k)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeCluster, "list", listed)


def one(device: dict[str, object], *claims: dict[str, object]) -> Gpu:
    (found,) = judge([gpu_slice("n", device)], claims, hidden=False)
    return found


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> dict[str, object]:
    return {"taints": [{"key": key, "value": value, "effect": effect}]}


def test_taints_say_what_is_wrong() -> None:
    held = gpu_claim("a", ("n", "gpu-0"))
    assert one(gpu(0, **taint("canhazgpu.com/unhealthy"))).state == "Unhealthy"
    sick = one(gpu(0, **taint("canhazgpu.com/unhealthy")), held)
    assert (sick.state, str(sick.holder)) == ("Unhealthy", "claim dev-alice/a")
    reserved = one(gpu(0, **taint(RESERVED, "bob")))
    assert (reserved.state, reserved.holder, reserved.reserved_for) == ("Reserved", None, "bob")
    # Both sides have given it away.
    both = one(gpu(0, **taint(RESERVED, "bob")), held)
    assert (both.state, str(both.holder), both.reserved_for) == (
        "Claimed",
        "claim dev-alice/a",
        "bob",
    )
    assert one(gpu(0, **taint(RESERVATIONS_UNKNOWN))).state == "Unknown"
    # One that keeps nobody away only informs.
    assert one(gpu(0, **taint("x", effect="None"))).state == "Free"


def test_who_holds_a_gpu() -> None:
    claim = gpu_claim("made", ("n", "gpu-0"))
    claim["metadata"]["annotations"] = {FOR_REQUESTS: "true"}
    claim["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "lab-0"}]
    assert str(one(gpu(0), claim).holder) == "pod dev-alice/lab-0"
    # An administrator looks at a device that others use.
    assert one(gpu(0), gpu_claim("admin", ("n", "gpu-0"), admin=True)).state == "Free"
    assert one(gpu(0), gpu_claim("waits")).state == "Free"


def test_only_the_newest_slices_of_a_pool_count() -> None:
    slices = [gpu_slice("n", gpu(0), gpu(1)), gpu_slice("n", gpu(1), generation=2)]
    assert told(judge(slices, [], hidden=False)) == ["n/1 Free"]
