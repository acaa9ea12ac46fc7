"""The manifest of a submitted workload: what was asked for, and no more."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.ranks import OWN_VARIABLES, VARIABLES
from devctl.client.workloads import submission as submission_module
from devctl.client.workloads.submission import MOST, TORCHRUN, Submission, mounted
from devctl.errors import UsageError


def spec(**options: Any) -> dict[str, Any]:
    asked: Any = {"argv": ["python", "train.py"], "image": "torch:1"} | options
    found: dict[str, Any] = Submission(**asked).manifest("train-1")["spec"]
    return found


def test_examples() -> None:
    assert doctest.testmod(submission_module).failed == 0


def test_what_is_not_asked_for_is_left_to_the_schema() -> None:
    assert spec() == {
        "modelName": "train-1",
        "gpuCount": 1,
        "image": "torch:1",
        "command": ["python"],
        "args": ["train.py"],
        "env": [{"name": "PYTHONUNBUFFERED", "value": "1"}],
        "workspace": {"mountPath": "/workspace"},
    }


def test_all_that_can_be_asked_for() -> None:
    found = spec(
        gpus=4,
        env={"A": "b"},
        imports=["src", ""],
        code="code-1",
        volume="5Gi",
        mounts=["models:/models:ro", "out:/out"],
        priority="high",
        strategy="packed",
        queue="devctl-gpu",
        retries=0,
        timeout="2h",
        cpu="4",
        memory="16Gi",
        keep=60,
    )
    assert found["gpuCount"] == 4
    assert {each["name"]: each["value"] for each in found["env"]} == {
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": "/workspace/src:/workspace",
        "A": "b",
    }
    code = {"mountPath": "/workspace", "configMapName": "code-1", "size": "5Gi"}
    assert found["workspace"] == code
    assert [each["mountPath"] for each in found["volumes"]] == ["/models", "/out"]
    assert [each["readOnly"] for each in found["volumes"]] == [True, False]
    assert found["retryPolicy"] == {"maxRetries": 0}
    assert found["resources"] == {"cpu": "4", "memory": "16Gi"}
    assert (found["priority"], found["schedulingStrategy"]) == ("high", "packed")
    assert (found["queueName"], found["timeout"]) == ("devctl-gpu", "2h")
    assert found["ttlSecondsAfterFinished"] == 60


def expanded(word: str) -> str:
    """What the kubelet makes of an argument, if no variable is defined.

    k8s.io/kubernetes/third_party/forked/golang/expansion: two dollar signs are one.
    """
    text, at = "", 0
    while at < len(word):
        two = word[at : at + 2] == "$$"
        text += word[at]
        at += 2 if two else 1
    return text


@given(st.lists(st.text(st.sampled_from("a$(){} '")), max_size=5))
def test_arguments_arrive_as_they_are(words: list[str]) -> None:
    args = spec(argv=["x", *words]).get("args", [])
    assert [expanded(word) for word in args] == words
    # No reference is left: each dollar sign has its twin.
    assert all("$(" not in word.replace("$$", "") for word in args)


def test_several_pods_start_torchrun_with_what_they_find_there() -> None:
    found = spec(argv=["./train.py", "$(HOME)"], nodes=2, launcher=TORCHRUN)
    assert found["nodes"] == 2
    words = found["command"] + found["args"]
    assert words[: len(TORCHRUN)] == list(TORCHRUN)
    assert words[len(TORCHRUN) :] == ["./train.py", "$$(HOME)"]
    named = {word[2:-1] for word in TORCHRUN if word.startswith("$(")}
    assert named <= {*VARIABLES, *OWN_VARIABLES}


def test_more_arguments_than_fit() -> None:
    assert len(spec(argv=["x"] * (MOST + 1))["args"]) == MOST
    with pytest.raises(UsageError, match=f"command has {MOST + 1} arguments, and can have {MOST}"):
        spec(argv=["x"] * (MOST + 2))


@pytest.mark.parametrize("text", ["", "a", "a:b", ":/a", "a:/b:rw", "A:/b", "a:/b:ro:ro"])
def test_a_mount_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="is not CLAIM:PATH"):
        mounted(text)


def test_a_name_that_none_can_have() -> None:
    with pytest.raises(UsageError, match="cannot be a GPU workload's name"):
        Submission(["x"], "torch:1").manifest("A")
