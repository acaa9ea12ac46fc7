"""Every line of `k8shazgpu vllm run` that people know, typed in a checkout.

The images hold a stand-in for vLLM, which says so: tests/vllm has vLLM itself.
"""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING

import pytest
from support.servers import wait_until
from support.vllm_work import checkout, items, stand_in, vllm, work
from unit.cli.test_k8shazgpu import KNOWN

if TYPE_CHECKING:
    from pathlib import Path

    from support.vllm_place import VllmPlace

__all__ = ["checkout", "items", "stand_in", "vllm", "work"]  # fixtures

UNSERVED = ("Starting", "NotServing")


LINES = [shlex.split(line) for line in KNOWN]


# As many at once as there are GPUs for.
@pytest.mark.parametrize("lines", [LINES[:4], LINES[4:8], LINES[8:]], ids=["1", "2", "3"])
def test_lines_that_people_know_run_as_they_are_written(
    vllm: VllmPlace, checkout: Path, lines: list[list[str]]
) -> None:
    runs = {words[words.index("--name") + 1]: words for words in lines}
    for name, words in runs.items():
        assert vllm.user.must(*words, cwd=checkout) == f"vllmrun/{name} created\n"
    for name, words in runs.items():
        check(vllm, name, words)
    for name in runs:
        assert vllm.user.must("cleanup", "--name", name) == f"vllmrun/{name} deleted\n"
    for name in runs:
        wait_until(partial(vllm.gone, name), f"nothing is left of {name}")


def check(vllm: VllmPlace, name: str, words: list[str]) -> None:
    """Its run has what the line asks for, and does what it should."""
    spec = vllm.spec(name)
    # One of them names a port that nothing serves.
    serves = "serve" in words and spec["port"] != 0
    status = vllm.up(name) if serves or not spec["port"] else vllm.run(name).wait(*UNSERVED)
    asked = spec.get("gpuIds") or range(spec.get("gpus", 1))
    assert len(status["devices"]) == len(asked)
    if "gpuIds" in spec:
        assert sorted(each["index"] for each in status["devices"]) == spec["gpuIds"]
    assert (status["phase"] == "Serving") == serves
    # One that serves nothing is up before it has said anything.
    wait_until(lambda: "stand-in for" in vllm.user.must("vllm", "logs", name), "it says so")
