from __future__ import annotations

from typing import Any

import pytest
from devctl_dra_plugin import cdi, planning
from devctl_dra_plugin.devices import Device, made_up
from devctl_dra_plugin.planning import ClaimError, Given, Preparation

from unit.dra_plugin.cluster import NODE, claim, ref, result

DEVICES = made_up(NODE, 4)
REAL = [Device(index, f"GPU-{index}", "H100", 81559, 0, index + 1) for index in range(2)]


def of(*results: dict[str, Any], devices: list[Device] = DEVICES) -> Preparation:
    manifest = claim(ref(1))
    manifest["status"]["allocation"]["devices"]["results"] = list(results)
    return planning.plan(manifest, NODE, devices)


def held(number: int, *indexes: int, prepared: bool = True, admin: bool = False) -> Preparation:
    which = ref(number)
    given = tuple(Given("main", index, f"u{index}", None, admin) for index in indexes)
    return Preparation(which.uid, which.namespace, which.name, given, prepared)


def test_a_claim_gets_what_it_was_allocated_here() -> None:
    planned = of(
        result(3),
        result(0, node="node-2"),
        result(1, request="other/small"),
        result(2, driver="gpu.example.com"),
    )
    assert [(each.request, each.index) for each in planned.given] == [("main", 3), ("other", 1)]
    assert planned.given[0].uuid == DEVICES[3].uuid
    assert str(planned) == "team-a/claim-1"


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([], "no device of canhazgpu.com on node `node-1` is allocated to it"),
        ([result(0, node="node-2")], "no device of canhazgpu.com"),
        ([result(9)], "node `node-1` has no device `gpu-9`"),
    ],
)
def test_what_is_not_there_is_refused(results: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ClaimError, match=said):
        of(*results)


def test_a_claim_without_an_allocation_is_refused() -> None:
    manifest = claim(ref(1))
    states: list[dict[str, Any]] = [{}, {"allocation": None}, {"allocation": {}}]
    for status in states:
        with pytest.raises(ClaimError, match="is allocated to it"):
            planning.plan(manifest | {"status": status}, NODE, DEVICES)


def test_a_gpu_that_another_claim_still_holds_is_refused() -> None:
    with pytest.raises(ClaimError, match=r"claim-2 \(UID uid-2\) still holds GPU 1 on this node"):
        planning.superseded(held(1, 0, 1), [held(2, 1, 3)])
    assert planning.superseded(held(1, 0, 1), [held(2, 2), held(1, 0)]) == []


def test_an_older_claim_of_the_same_name_is_in_the_way() -> None:
    older = Preparation("uid-0", "team-a", "claim-1", (Given("main", 3, "u3", None),))
    with pytest.raises(ClaimError, match=r"UID uid-0\) still holds its name"):
        planning.superseded(held(1, 0), [older])


def test_what_no_container_can_have_is_replaced() -> None:
    assert planning.superseded(held(1, 0, 1), [held(2, 1, prepared=False)]) == ["uid-2"]


def test_an_administrators_access_is_nobodys_loss() -> None:
    assert planning.superseded(held(1, 0, admin=True), [held(2, 0)]) == []
    assert planning.superseded(held(1, 0), [held(2, 0, admin=True)]) == []
    (given,) = of(result(0, adminAccess=True)).given
    assert given.admin


def test_only_claims_in_use_are_found_without_being_asked_for() -> None:
    manifest = claim(ref(1), 2)
    found = planning.found_in_use(manifest, NODE, DEVICES)
    assert found
    assert (found.uid, found.prepared) == ("uid-1", False)
    assert planning.found_in_use(claim(ref(1), 2, node="node-2"), NODE, DEVICES) is None
    del manifest["status"]["reservedFor"]
    assert planning.found_in_use(manifest, NODE, DEVICES) is None


def edits(planned: Preparation) -> dict[str, dict[str, Any]]:
    spec = cdi.specification(planned)
    assert (spec["cdiVersion"], spec["kind"]) == ("0.6.0", "canhazgpu.com/gpu")
    return {each["name"]: each["containerEdits"] for each in spec["devices"]}


def test_a_container_is_told_which_made_up_gpus_it_has() -> None:
    found = edits(of(result(3), result(1)))
    uuids = f"{DEVICES[1].uuid},{DEVICES[3].uuid}"
    assert found == {
        "uid-1-main": {
            "env": [
                f"NVIDIA_VISIBLE_DEVICES={uuids}",
                "CANHAZGPU_DEVICES=1,3",
                f"DEVCTL_FAKE_GPUS={uuids}",
            ]
        },
        "uid-1-main.1": {"env": [f"CANHAZGPU_GPU_1={DEVICES[1].uuid}"]},
        "uid-1-main.3": {"env": [f"CANHAZGPU_GPU_3={DEVICES[3].uuid}"]},
    }


def test_a_container_has_the_files_of_its_real_gpus_and_of_no_others() -> None:
    found = edits(of(result(1), devices=REAL))
    assert found["uid-1-main.1"]["deviceNodes"] == [{"path": "/dev/nvidia2"}]
    shared = {"path": "/dev/nvidiactl"}, {"path": "/dev/nvidia-uvm"}
    assert found["uid-1-main"]["deviceNodes"] == [*shared]
    assert not any("FAKE" in each for each in found["uid-1-main"]["env"])


def test_the_kubelet_knows_every_gpu_and_sets_lists_once_a_request() -> None:
    planned = of(result(2), result(0), result(3, request="other"))
    told = cdi.prepared_devices(planned, NODE)
    assert [(each.requests, each.pool, each.device) for each in told] == [
        (("main",), NODE, "gpu-0"),
        (("main",), NODE, "gpu-2"),
        (("other",), NODE, "gpu-3"),
    ]
    kind = "canhazgpu.com/gpu="
    assert [each.cdi for each in told] == [
        (f"{kind}uid-1-main", f"{kind}uid-1-main.0"),
        (f"{kind}uid-1-main.2",),
        (f"{kind}uid-1-other", f"{kind}uid-1-other.3"),
    ]
    names = {f"{kind}{name}" for name in edits(planned)}
    assert names == {name for each in told for name in each.cdi}


def test_our_files_are_told_from_others() -> None:
    assert cdi.uid_of(cdi.file_name("uid-1")) == "uid-1"
    for other in ("nvidia.yaml", "canhazgpu.com-gpu_uid-1.json.new", ".canhazgpu.com-gpu_u.json"):
        assert cdi.uid_of(other) is None
