"""Who may write VLLMRuns and the CachePlan, and what the kinds refuse."""

from __future__ import annotations

from typing import Any

import pytest
from support.asked import Request, delete, patch
from support.tenants import (
    ADMINISTRATOR,
    ALICE,
    BOB,
    OPERATOR,
    Manifest,
    Tenants,
    child,
    managed,
    role,
)

from devctl.api.kinds import CACHE_PLAN, VLLM_RUN
from devctl.api.vllm_run import LABEL

pytestmark = pytest.mark.usefixtures("enforced")
CAROL, DAVE = "carol@company.com", "dave@company.com"
COMMIT = {"commit": "1f" * 20}
DIGEST = {"digest": "0e" * 32}
IN_MAP = DIGEST | {"configMap": "capsule"}
IN_VOLUME = DIGEST | {"persistentVolumeClaim": "capsule"}
IMAGE = {"type": "image", "image": {"ref": "i:1"}}


def run(name: str = "box", /, **changes: Any) -> Manifest:
    """A run; a field that is None is left out."""
    spec = {"command": ["vllm", "serve", "m"], "image": "i:1", **changes}
    return {
        "apiVersion": VLLM_RUN.api_version,
        "kind": VLLM_RUN.name,
        "metadata": {"name": name},
        "spec": {name: value for name, value in spec.items() if value is not None},
    }


def in_checkout(**checkout: Any) -> Manifest:
    """A run in a checkout."""
    return run(repoName="main", checkout=COMMIT | checkout)


def plan(*items: Manifest, name: str = "default") -> Manifest:
    return {
        "apiVersion": CACHE_PLAN.api_version,
        "kind": CACHE_PLAN.name,
        "metadata": {"name": name},
        "spec": {"items": [{"name": f"item-{n}"} | item for n, item in enumerate(items)]},
    }


def repo(url: str) -> Manifest:
    return {"type": "gitRepo", "gitRepo": {"url": url}}


def give(tenants: Tenants, user: str, verbs: str, group: str, plural: str) -> None:
    """Let a user do some things to the objects of a kind."""
    tenants.create(ADMINISTRATOR, role(plural, verbs, {group: plural}), keep=True)
    kind = f"{plural}.{group}" if group else plural
    tenants.bind(user, to=plural, awaits=(verbs.split(maxsplit=1)[0], kind))


def test_a_run_belongs_to_whoever_creates_it(tenants: Tenants) -> None:
    tenants.create(ALICE, run(), keep=True)
    assert tenants.read("vllmrun/box")["spec"]["owner"] == ALICE
    said = tenants.refused(BOB, run("other", owner=ALICE))
    assert f"spec.owner `{ALICE}` is not you" in said
    assert "create the run" in said
    change = patch("vllmrun/box", {"spec": {"owner": "x"}})
    assert "the owner of a run cannot change" in tenants.denied(ADMINISTRATOR, change)


@pytest.mark.parametrize("kind", ["Pod", "ResourceClaim"])
def test_nobody_marks_an_object_as_part_of_a_run(tenants: Tenants, kind: str) -> None:
    marked = child(kind, labels={LABEL: "box"})
    assert "is written by devctl only" in tenants.refused(ALICE, marked)
    for user in (OPERATOR, ADMINISTRATOR):
        tenants.create(user, managed(marked))
    tenants.create(ALICE, child(kind))


def test_the_status_is_not_users_to_write(tenants: Tenants) -> None:
    tenants.create(ALICE, run(), keep=True)
    tenants.send(ALICE, patch("vllmrun/box", {"status": {"phase": "Succeeded"}}))
    assert tenants.read("vllmrun/box").get("status", {}).get("phase") != "Succeeded"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"command": []}, "spec.command"),
        ({"command": [""]}, "the first word of a command is a program"),
        ({"gpus": 0}, "spec.gpus"),
        ({"gpus": 17}, "spec.gpus"),
        ({"gpus": 1, "gpuIds": [0, 1]}, "gpus and gpuIds disagree"),
        ({"gpuIds": [1, 1]}, "Duplicate value"),
        ({"gpuIds": [-1]}, "spec.gpuIds"),
        ({"imageName": "pinned"}, "set either image or imageName"),
        ({"image": None}, "set either image or imageName"),
        ({"port": 65536}, "spec.port"),
        ({"timeout": "soon"}, "a timeout is from a second to a year"),
        ({"secrets": [{"name": "s", "env": "A"}]}, "without a key"),
        ({"secrets": [{"name": "s", "key": "a.b"}]}, "the key is no name of a variable"),
        ({"resources": {"memory": "1"}}, "it is from 8Mi to 64Ti"),
        ({"env": [{"name": "A", "value": "1"}] * 2}, "Duplicate value"),
        ({"preferNode": "N 1"}, "spec.preferNode"),
        ({"checkout": COMMIT}, "a checkout is made of a repository's mirror: set repoName"),
        ({"repoName": "m", "checkout": {}}, "spec.checkout.commit"),
        ({"repoName": "m", "checkout": {"commit": "main"}}, "spec.checkout.commit"),
        ({"repoName": "m", "checkout": COMMIT | {"package": "a.b"}}, "spec.checkout.package"),
        ({"repoName": "m", "checkout": COMMIT | {"capsule": DIGEST}}, "either in a configMap or"),
        (
            {"repoName": "m", "checkout": COMMIT | {"capsule": IN_MAP | IN_VOLUME}},
            "either in a configMap or",
        ),
        ({"repoName": "m", "checkout": COMMIT | {"capsule": {"configMap": "c"}}}, "digest"),
        ({"models": []}, "spec.models"),
        ({"models": ["a", "a"]}, "Duplicate value"),
        ({"models": ["a/b"]}, "spec.models"),
        ({"models": [f"m{n}" for n in range(17)]}, "spec.models"),
    ],
)
def test_what_cannot_run_is_refused(tenants: Tenants, spec: dict[str, Any], said: str) -> None:
    assert said in tenants.refused(ADMINISTRATOR, run(**spec))


@pytest.mark.parametrize("name", ["1box", "a" * 55, "box-"])
def test_a_name_is_the_beginning_of_a_host_name(tenants: Tenants, name: str) -> None:
    assert "at most 54" in tenants.refused(ADMINISTRATOR, run(name))
    tenants.create(ADMINISTRATOR, run("a" * 54))


def test_defaults_are_those_of_the_documentation(tenants: Tenants) -> None:
    tenants.create(ALICE, run(), keep=True)
    spec = tenants.read("vllmrun/box")["spec"]
    assert spec["port"] == 8000
    assert spec["resources"] == {"cpu": "500m", "memory": "4Gi"}
    assert "timeout" not in spec


def test_only_the_times_of_a_run_can_change(tenants: Tenants) -> None:
    env = [{"name": "A", "value": "b"}]
    more = {"repoName": "main", "checkout": COMMIT | {"package": "vllm"}, "models": ["a"]}
    tenants.create(ALICE, run(gpus=2, env=env, timeout="1h", **more), keep=True)

    def having(**spec: Any) -> Request:
        return patch("vllmrun/box", {"spec": spec})

    tenants.send(ALICE, having(timeout="2h", ttlSecondsAfterFinished=60))
    tenants.send(ALICE, having(timeout=None))
    for change in (
        {"gpus": 1},
        {"env": None},
        {"port": 1},
        {"command": ["sh"]},
        {"gpuIds": [0, 1]},
        {"checkout": None},
        {"checkout": {"commit": "2f" * 20}},
        {"checkout": {"capsule": IN_MAP}},
        {"models": None},
        {"models": ["b"]},
    ):
        assert "a run cannot change" in tenants.denied(ALICE, having(**change))


def test_secrets_are_for_those_who_can_read_them(tenants: Tenants) -> None:
    named = run(secrets=[{"name": "hf-token", "key": "token", "env": "HF_TOKEN"}])
    tenants.create(ALICE, named)
    give(tenants, CAROL, "get create", VLLM_RUN.group, VLLM_RUN.plural)
    tenants.create(CAROL, run())
    assert "you may not read the Secrets" in tenants.refused(CAROL, named)


def test_a_capsule_is_for_those_who_can_read_it(tenants: Tenants) -> None:
    in_map, in_volume = in_checkout(capsule=IN_MAP), in_checkout(capsule=IN_VOLUME)
    tenants.create(ALICE, in_map)
    tenants.create(ADMINISTRATOR, in_volume)
    give(tenants, DAVE, "get create", VLLM_RUN.group, VLLM_RUN.plural)
    tenants.create(DAVE, in_checkout())
    assert "you may not read this ConfigMap" in tenants.refused(DAVE, in_map)
    assert "you may not create pods" in tenants.refused(DAVE, in_volume)
    give(tenants, DAVE, "get", "", "configmaps")
    tenants.create(DAVE, in_map)
    assert "you may not create pods" in tenants.refused(DAVE, in_volume)
    give(tenants, DAVE, "create", "", "pods")
    tenants.create(DAVE, in_volume)


def test_the_program_of_a_checkout_is_not_users_to_delete(tenants: Tenants) -> None:
    marked = managed(child("ConfigMap", labels={LABEL: "box"}))
    tenants.create(OPERATOR, marked, keep=True)
    name = marked["metadata"]["name"]
    assert "is deleted by devctl only" in tenants.denied(ALICE, delete(f"configmap/{name}"))


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"type": "image"}, "an item has the field of its type"),
        (IMAGE | {"type": "model"}, "an item has the field of its type"),
        (IMAGE | {"scope": "nodeSelector"}, "needs a nodeSelector"),
        (IMAGE | {"nodeSelector": {"a": "b"}}, "needs a nodeSelector"),
        (repo("ext::sh -c id"), "spec.items[0].gitRepo.url"),
        (repo("file:///etc"), "a url begins with"),
        (repo("ssh://-oProxyCommand=id/x"), "a url begins with"),
        (repo("git@-oProxyCommand=id:x"), "a url begins with"),
        (repo("https://user:word@host/x"), "a url begins with"),
        (repo("/srv/repo"), "spec.items[0].gitRepo.url"),
    ],
)
def test_a_plan_refuses_what_no_node_could_have(tenants: Tenants, item: Any, said: str) -> None:
    assert said in tenants.refused(ADMINISTRATOR, plan(item))


def test_a_plan_takes_what_the_documentation_shows(tenants: Tenants) -> None:
    urls = ("https://github.com/a/b.git", "git@github.com:a/b.git", "ssh://git@host:22/a/b")
    model = {"type": "model", "model": {"repoId": "facebook/opt-125m", "revision": "v1.0"}}
    some = IMAGE | {"scope": "nodeSelector", "nodeSelector": {"example.com/gpu": "h100"}}
    tenants.create(ADMINISTRATOR, plan(IMAGE, some, model, *map(repo, urls)))


def test_there_is_one_plan_which_users_read_only(tenants: Tenants) -> None:
    assert "named `default`" in tenants.refused(ADMINISTRATOR, plan(name="other"))
    assert "cannot create resource" in tenants.refused(ALICE, plan())
    assert tenants.api(ALICE).may("list", "cacheplans.canhazgpu.dev")
