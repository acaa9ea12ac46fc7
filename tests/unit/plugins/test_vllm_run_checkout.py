"""The checkout that a run starts in, and what it sees of its node's cache."""

from __future__ import annotations

import base64
import doctest
import io
import zipfile
from typing import Any

import pytest
from apply.errors import ApplyError
from devctl_dra_plugin import caches
from unit.plugins.templates import CONFINED_CONTAINER, CONFINED_POD, HOSTILE
from unit.plugins.test_vllm_run import ENDED, children, container, pod, run
from vllm_run import checkout, mounts
from vllm_run.values import values

from devctl.capsule.applying import arguments

Thing = dict[str, Any]
SHA, DIGEST = "1f" * 20, "0e" * 32
IN_MAP = {"digest": DIGEST, "configMap": "capsule-0e"}
IN_VOLUME = {"digest": DIGEST, "persistentVolumeClaim": "capsule-0e"}


def of(capsule: Thing | None = None, package: str = "", **spec: Any) -> Thing:
    """A run in a checkout."""
    more = {"capsule": capsule, "package": package}
    wanted = {"commit": SHA} | {name: value for name, value in more.items() if value}
    return run(repoName="main", checkout=wanted, **spec)


def spec_of(of_run: Thing) -> Thing:
    return dict(children(of_run)["Pod"]["spec"])


def making(of_run: Thing) -> Thing:
    """The container that makes the checkout."""
    (found,) = spec_of(of_run)["initContainers"]
    return dict(found)


def asked(of_run: Thing) -> Any:
    """What the program is asked for, read as it reads it."""
    python, isolated, program, *words = making(of_run)["command"]
    assert (python, isolated) == ("python3", "-I")
    folders = {each["name"]: each["mountPath"] for each in making(of_run)["volumeMounts"]}
    assert program == f"{folders['program']}/program"
    return arguments.read(words)


def config(of_run: Thing) -> Any:
    devices = children(of_run)["ResourceClaim"]["spec"]["devices"]
    return devices.get("config")


def variables(of_run: Thing) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container(of_run)["env"]}


def test_a_run_without_any_has_no_trace_of_it() -> None:
    spec = spec_of(run())
    assert "initContainers" not in spec
    assert {each["name"] for each in spec["volumes"]} == {"tmp", "shm", "home"}
    assert "workingDir" not in container(run())
    assert config(run()) is None
    assert "ConfigMap" not in children(run())


def test_a_checkout_is_made_by_the_runs_own_image_before_it_starts() -> None:
    one = making(of(IN_MAP))
    assert one["name"] == "checkout"
    assert one["image"] == container(of())["image"]
    assert one["securityContext"] == CONFINED_CONTAINER
    assert spec_of(of())["securityContext"] == CONFINED_POD
    # The mounts of the claim come with its GPUs.
    assert one["resources"]["claims"] == [{"name": "gpus"}]
    assert one["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert container(of())["workingDir"] == "/workspace/main"
    for each in (one, container(of())):
        assert {"name": "workspace", "mountPath": "/workspace"} in each["volumeMounts"]
    assert {"name": "workspace", "emptyDir": {}} in spec_of(of())["volumes"]
    assert not any("hostPath" in each for each in spec_of(of(IN_VOLUME))["volumes"])


@pytest.mark.parametrize("package", ["", "vllm"])
def test_a_commit_is_made_without_a_capsule(package: str) -> None:
    found = asked(of(package=package))
    paths = "/cache/git/main", "/workspace/main"
    assert found == arguments.Asked(*paths, commit=SHA, package=package, wait=360)
    assert {each["name"] for each in making(of())["volumeMounts"]} == {"program", "workspace"}


@pytest.mark.parametrize(
    ("capsule", "source"),
    [
        (
            IN_MAP,
            {
                "configMap": {
                    "name": "capsule-0e",
                    "items": [{"key": "capsule", "path": f"{DIGEST}.tar.gz"}],
                }
            },
        ),
        (IN_VOLUME, {"persistentVolumeClaim": {"claimName": "capsule-0e", "readOnly": True}}),
    ],
)
def test_a_capsule_is_read_from_where_it_is(capsule: Thing, source: Thing) -> None:
    made = of(capsule, package="vllm")
    found = asked(made)
    assert (found.digest, found.commit, found.package) == (DIGEST, SHA, "vllm")
    assert found.capsule == f"/checkout/capsule/{DIGEST}.tar.gz"
    assert {"name": "capsule"} | source in spec_of(made)["volumes"]
    mount = {"name": "capsule", "mountPath": "/checkout/capsule", "readOnly": True}
    assert mount in making(made)["volumeMounts"]
    # The program has no need of it.
    assert "capsule" not in {each["name"] for each in container(made)["volumeMounts"]}


def test_the_program_is_there_until_the_end() -> None:
    found = children(of(IN_MAP))["ConfigMap"]
    assert found["metadata"]["name"] == "one-checkout"
    assert found["immutable"] is True
    archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(found["binaryData"]["program"])))
    assert {"__main__.py", "applying/command.py"} <= set(archive.namelist())
    assert len(found["binaryData"]["program"]) < 100_000
    volumes = {each["name"]: each for each in spec_of(of())["volumes"]}
    assert volumes["program"]["configMap"] == {"name": "one-checkout"}
    started = of(status={"startedAt": "t"})
    assert set(children(started, [pod("Running", "n1")])) == {"ConfigMap", "Service"}
    assert children(of(status=ENDED), [pod("Failed", "n1")]) == {}


def test_the_checkouts_package_comes_before_the_images() -> None:
    assert "PYTHONPATH" not in variables(of())
    assert variables(of(package="vllm"))["PYTHONPATH"] == "/workspace/main"
    mine = of(package="vllm", env=[{"name": "PYTHONPATH", "value": "/mine"}])
    assert variables(mine)["PYTHONPATH"] == "/workspace/main:/mine"


def test_a_claim_names_what_is_mounted_and_what_is_waited_for() -> None:
    ((one,),) = [config(of(models=["opt"]))]
    assert one == {
        "requests": ["gpus"],
        "opaque": {
            "driver": "canhazgpu.com",
            "parameters": {
                "apiVersion": "canhazgpu.com/v1alpha1",
                "kind": "CacheMounts",
                "repositories": ["main"],
                "models": ["facebook/opt-125m"],
                "required": ["main"],
            },
        },
    }
    (seen,) = caches.wanted({"status": {"allocation": {"devices": {"config": [one]}}}})
    assert seen == caches.Wanted(("gpus",), ("main",), ("facebook/opt-125m",), ("main",))
    # Without a checkout, nothing is made of the mirror.
    ((one,),) = [config(run(repoName="main"))]
    assert one["opaque"]["parameters"]["required"] == []


def test_models_are_mounted_beside_those_that_are_fetched() -> None:
    made = run(models=["opt"])
    assert variables(made)["HF_HUB_CACHE"] == "/cache/models"
    assert {"name": "models", "emptyDir": {}} in spec_of(made)["volumes"]
    assert {"name": "models", "mountPath": "/cache/models"} in container(made)["volumeMounts"]
    own = run(models=["opt"], env=[{"name": "HF_HUB_CACHE", "value": "/mine"}])
    assert variables(own)["HF_HUB_CACHE"] == "/mine"
    assert "HF_HUB_CACHE" not in variables(of())


def test_a_model_must_be_in_the_plan() -> None:
    with pytest.raises(ApplyError, match=r"spec\.models `other`: the CachePlan has no model") as it:
        children(run(models=["opt", "other"]))
    assert "it has `opt`" in str(it.value)
    with pytest.raises(ApplyError, match="no model of that name"):
        values(run(models=["opt"]), pods=[], claims=[], plans=[])


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text: str) -> None:
    made = of({"digest": text, "configMap": text}, package=text)
    assert text in making(made)["command"]
    volumes = {each["name"]: each for each in spec_of(made)["volumes"]}
    assert volumes["capsule"]["configMap"]["name"] == text


@pytest.mark.parametrize("module", [checkout, mounts])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0
