"""Who holds the GPUs that a run waits for."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from devctl_observer.judging.devices import Claim, Held
from devctl_observer.kinds.vllm_run import holders
from devctl_observer.kinds.vllm_run.holders import View, holders_of, judge_shortage
from devctl_observer.watching.store import Key

from devctl.api.vllm_run import DRIVER
from unit.observer.vllm_run.things import gpus, run

ALL = [*gpus("n1", 4), *gpus("n2", 2)]


def held(*numbers: int, node: str = "n1", **who: Any) -> Claim:
    return Claim(held=tuple(Held(node, DRIVER, f"gpu-{n}", DRIVER) for n in numbers), **who)


def view(*claims: tuple[str, str, Claim], of: Any = ALL) -> View:
    known = [(Key(namespace, name), claim) for namespace, name, claim in claims]
    return View(of, holders_of(known, "team", "one"))


def test_a_holder_is_named_for_what_it_is() -> None:
    found = view(
        ("team", "a", held(0, run="a")),
        ("team", "b-xyz", held(1, pod="b")),
        ("team", "c", held(2)),
        ("dev-bob", "d", held(3, run="d")),
        ("team", "one", held(0, node="n2", run="one")),
    ).holders
    assert [found[("n1", f"gpu-{n}")] for n in range(4)] == [
        "run `a`",
        "pod `b`",
        "claim `c`",
        "run `dev-bob/d`",
    ]
    # Its own claim is not in its way.
    assert ("n2", "gpu-0") not in found


def test_other_drivers_devices_are_not_ours() -> None:
    other = Claim(held=(Held("n1", "gpu.example", "gpu-0", "gpus"),))
    assert not holders_of([(Key("team", "a"), other)], "team")


def test_a_node_with_enough_free_gpus_is_no_reason_to_wait() -> None:
    assert judge_shortage(run(gpus=2), view(("team", "a", held(0, 1)))) is None
    assert judge_shortage(run(gpuIds=[2, 3]), view(("team", "a", held(0, 1)))) is None


@pytest.mark.parametrize(
    ("spec", "claims", "reason", "message"),
    [
        (
            {"gpus": 3},
            [("team", "a", held(0, 1, run="a")), ("team", "b", held(0, node="n2"))],
            "GPUsTaken",
            (
                "no node has 3 free GPUs: 2 of 4 on `n1`, 1 of 2 on `n2`;"
                " held by run `a` (2), claim `b` (1)"
            ),
        ),
        (
            {"gpus": 5},
            [],
            "TooFewGPUs",
            (
                "no node offers 5 GPUs: node `n1` has the most, 4;"
                " create it again with fewer spec.gpus"
            ),
        ),
        (
            {"gpuIds": [2]},
            [("dev-bob", "a", held(2, run="a"))],
            "GPUsTaken",
            "GPU 2 of `n1` is held by run `dev-bob/a`",
        ),
        (
            {"gpuIds": [0]},
            [("team", "a", held(0, run="a")), ("team", "b", held(0, node="n2", pod="b"))],
            "GPUsTaken",
            "GPU 0 of `n1` is held by run `a`, 0 of `n2` is held by pod `b`",
        ),
    ],
)
def test_a_shortage_says_what_is_there_and_who_has_it(
    spec: dict[str, Any], claims: list[Any], reason: str, message: str
) -> None:
    assert judge_shortage(run(**spec), view(*claims)) == (reason, message)


def test_numbers_that_no_node_has_are_told_with_those_there_are() -> None:
    small = View([*gpus("n1", 2), *gpus("n2", 1)])
    reason, message = judge_shortage(run(gpuIds=[0, 9]), small) or ("", "")
    assert reason == "NoSuchGPU"
    there = "no node offers GPUs 0, 9: `n1` has 0, 1, `n2` has 0"
    assert message == f"{there}; create it again with other spec.gpuIds"


def test_unhealthy_gpus_are_not_free() -> None:
    sick = View(gpus("n1", 2, sick=(0,)))
    assert judge_shortage(run(gpus=2), sick) == (
        "GPUsTaken",
        "no node has 2 free GPUs: 1 of 2 on `n1`; 1 unhealthy",
    )
    assert judge_shortage(run(gpuIds=[0]), sick) == ("GPUsTaken", "GPU 0 of `n1` is unhealthy")


def test_without_a_driver_nobody_offers_any() -> None:
    reason, message = judge_shortage(run(), View()) or ("", "")
    assert reason == "NoGPUs"
    assert f"`{DRIVER}`" in message


def test_examples() -> None:
    assert doctest.testmod(holders).failed == 0
