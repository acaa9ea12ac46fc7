"""`k8shazgpu vllm run` in a checkout, and `vllm replay`: what travels, and what is refused."""

from __future__ import annotations

import base64
import io
import json
import os
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
from support.vllm_checkout import commit, git, new, write

from devctl.client.vllm import registry
from devctl.client.vllm.registry import Answer
from unit.cli.k8shazgpu_program import k8shazgpu
from unit.client.checkout_things import push
from unit.client.fake_cluster import USER
from unit.client.job_things import helpers_run, settings, volume
from unit.client.vllm_things import NODE_CACHES, PLANS, RUNS, VLLM, cache_plan, node_cache, vllm_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from unit.cli.k8shazgpu_program import K8shazgpu
    from unit.client.fake_cluster import FakeApi

    Registry = Callable[[Answer], list[str]]

__all__ = ["k8shazgpu"]
MAPS, VOLUMES = "configmaps", "persistentvolumeclaims"
RUN = ("vllm", "run", "--name", "my-demo")
SERVE = ("--", "vllm", "serve", "facebook/opt-125m")
IMAGES = "public.ecr.aws/q9t5s3a7/vllm-ci-postmerge-repo"
REPO = {
    "type": "gitRepo",
    "name": "vllm-main",
    "gitRepo": {"url": "git@git.example:upstream/vllm.git", "branch": "main"},
}
MODEL = {"type": "model", "name": "opt", "model": {"repoId": "facebook/opt-125m"}}


@pytest.fixture(autouse=True)
def images(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Have registries give an answer, by default that they have everything; what they are asked."""

    def answer(said: Answer) -> list[str]:
        asked: list[str] = []

        def look_up(image: str) -> Answer:
            asked.append(image)
            return said

        monkeypatch.setattr(registry, "look_up", look_up)
        return asked

    answer(Answer(exists=True))
    return answer


@pytest.fixture
def root(
    tmp_path: Path, api: FakeApi, k8shazgpu: K8shazgpu, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A checkout of vLLM, in which one is, and whose main branch nodes have."""
    assert callable(k8shazgpu)
    root = new(tmp_path / "vllm")
    write(root, {"pyproject.toml": '[project]\nname = "vllm"\n', "vllm/__init__.py": ""})
    commit(root)
    push(root, "upstream")
    monkeypatch.chdir(root)
    api.add(PLANS, cache_plan(REPO, MODEL))
    return root


def spec(api: FakeApi, name: str = "my-demo") -> dict[str, Any]:
    found: dict[str, Any] = api.get(RUNS, name)["spec"]
    return found


def test_it_runs_in_the_checkout_as_it_is(root: Path, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    write(root, {"vllm/new.py": "x", "vllm/__init__.py": "y"})
    result = k8shazgpu(*RUN, *SERVE)
    assert (result.code, result.stdout) == (0, "vllmrun/my-demo created\n"), result.stderr
    head = git(root, "rev-parse", "HEAD")
    for line in (
        "vLLM checkout:",
        f"  Directory:     {root}",
        "  Remote:        none",
        "  Branch:        main",
        f"  Commit:        {head[:12]}",
        f"  Merge base:    {head[:12]} with upstream/main",
        f"  Image:         {IMAGES}:{head}",
        "  Local changes: 1 modified, 1 added (1 untracked)",
    ):
        assert f"{line}\n" in result.stderr
    made = spec(api)
    (name,) = api.names(MAPS)
    digest = made["checkout"]["capsule"]["digest"]
    assert f"sending the changes as {name}, " in result.stderr
    assert name == f"capsule-{digest[:16]}"
    assert made["checkout"] == {
        "commit": head,
        "capsule": {"digest": digest, "configMap": name},
        "package": "vllm",
    }
    assert (made["repoName"], made["image"]) == ("vllm-main", f"{IMAGES}:{head}")
    assert made["models"] == ["opt"]
    notes = api.get(RUNS, "my-demo")["metadata"]["annotations"]
    assert notes == {
        "checkout.devctl/branch": "main",
        "checkout.devctl/changes": "1 modified, 1 added",
    }
    data = base64.b64decode(api.get(MAPS, name)["binaryData"]["capsule"])
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert tar.getnames()[0] == "capsule.json"


def test_the_same_state_is_sent_once(root: Path, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    write(root, {"vllm/new.py": "x"})
    assert k8shazgpu(*RUN, *SERVE).code == 0
    again = k8shazgpu("vllm", "run", "--name", "again", *SERVE)
    assert "was sent before\n" in again.stderr
    assert spec(api, "again")["checkout"] == spec(api)["checkout"]
    assert api.requests.count(f"POST {MAPS}") == 1


def test_an_unchanged_one_needs_no_capsule(root: Path, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    result = k8shazgpu(*RUN, *SERVE)
    assert "  Local changes: none\n" in result.stderr
    head = git(root, "rev-parse", "HEAD")
    assert spec(api)["checkout"] == {"commit": head, "package": "vllm"}
    assert api.names(MAPS) == []


def test_a_large_capsule_is_on_a_volume(
    root: Path, api: FakeApi, k8shazgpu: K8shazgpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "volume"
    there.mkdir()
    volume(there, monkeypatch)
    made = helpers_run(api)
    write(root, {"vllm/weights.bin": os.urandom(800_000)})
    result = k8shazgpu(*RUN, "--prefer-node", "gpu-1", "--loader-image", "mine:1", *SERVE)
    assert result.code == 0, result.stderr
    capsule = spec(api)["checkout"]["capsule"]
    assert capsule["persistentVolumeClaim"] == f"capsule-{capsule['digest'][:16]}"
    assert [file.name for file in there.iterdir()] == [f"{capsule['digest']}.tar.gz"]
    assert made[0]["spec"]["containers"][0]["image"] == "mine:1"
    assert made[0]["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "gpu-1"}
    assert api.names(VOLUMES) == api.names(MAPS)[-1:]


def test_one_that_was_deleted_meanwhile_is_sent_again(
    root: Path, api: FakeApi, k8shazgpu: K8shazgpu
) -> None:
    write(root, {"vllm/new.py": "x"})

    def cleans_up(plural: str, _thing: object) -> None:
        if plural == RUNS:
            api.drop(MAPS, next(name for name in api.names(MAPS) if name.startswith("capsule-")))

    api.made = cleans_up
    assert k8shazgpu(*RUN, *SERVE).code == 0
    assert api.names(MAPS) == [spec(api)["checkout"]["capsule"]["configMap"]]


def test_secrets_stay_here_unless_they_are_to_travel(
    root: Path, api: FakeApi, k8shazgpu: K8shazgpu
) -> None:
    write(root, {".env": "PASSWORD=x", "vllm/id_rsa": "x"})
    result = k8shazgpu(*RUN, *SERVE)
    assert result.code == 2
    assert "nothing was sent: `.env`, `vllm/id_rsa` may hold secrets" in result.stderr
    assert "--include-secrets" in result.stderr
    assert (api.names(RUNS), api.names(MAPS)) == ([], [])
    assert k8shazgpu(*RUN, "--include-secrets", *SERVE).code == 0
    assert api.names(RUNS) == ["my-demo"]


@pytest.mark.parametrize("dry", ["client", "server"])
def test_a_dry_run_sends_nothing(dry: str, root: Path, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    write(root, {"vllm/new.py": "x"})
    result = k8shazgpu(*RUN, "--dry-run", dry, "-o", "json", *SERVE)
    assert json.loads(result.stdout)["spec"]["checkout"]["capsule"]["configMap"]
    assert (api.names(RUNS), api.names(MAPS)) == ([], [])


def test_the_image_alone(root: Path, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    write(root, {"vllm/new.py": "x", ".env": "PASSWORD=x"})
    result = k8shazgpu(*RUN, "--without-changes", *SERVE)
    assert result.code == 0
    assert "warning: not part of the run: changed files (2 added) of this checkout" in result.stderr
    made = spec(api)
    assert "checkout" not in made
    assert "repoName" not in made
    assert made["image"].startswith(IMAGES)
    assert api.names(MAPS) == []


def test_another_image_has_the_checkout_too(
    root: Path, api: FakeApi, k8shazgpu: K8shazgpu, images: Registry
) -> None:
    asked = images(Answer(exists=False))
    write(root, {"vllm/new.py": "x"})
    result = k8shazgpu(*RUN, "--image", "mine:1", *SERVE)
    assert result.code == 0
    assert "  Image:         mine:1\n" in result.stderr
    assert spec(api)["image"] == "mine:1"
    # The same state is the same capsule, whatever the image.
    capsule = spec(api)["checkout"]["capsule"]
    assert k8shazgpu(*RUN[:3], "two", "--skip-cache-check", *SERVE).code == 0
    assert spec(api, "two")["checkout"]["capsule"] == capsule
    # Who names an image answers for it.
    assert asked == []


@pytest.mark.parametrize("named", [(), ("--image", "mine:1")])
def test_one_that_cannot_be_read_runs_only_without_it(
    named: tuple[str, ...], root: Path, api: FakeApi, k8shazgpu: K8shazgpu
) -> None:
    commit(new(root / "inner"))
    assert k8shazgpu(*RUN, *named, *SERVE).code == 2
    assert api.names(RUNS) == []
    result = k8shazgpu(*RUN, "--without-changes", "--image", "mine:1", *SERVE)
    assert result.code == 0
    assert "warning: the checkout here has no part in the run" in result.stderr


def test_without_a_mirror_the_command_for_it_is_named(
    root: Path, api: FakeApi, k8shazgpu: K8shazgpu
) -> None:
    api.add(PLANS, cache_plan(VLLM))
    result = k8shazgpu(*RUN, *SERVE)
    assert result.code == 2
    assert "the CachePlan has no repository of this checkout" in result.stderr
    line = "k8shazgpu cache add gitrepo https://git.example/upstream/vllm.git --branch main"
    assert f"`{line} --name vllm-main`" in result.stderr
    assert k8shazgpu(*line.removeprefix("k8shazgpu ").split(), "--name", "vllm-main").code == 0
    assert k8shazgpu(*RUN, *SERVE).code == 0
    assert spec(api)["repoName"] == "vllm-main"
    assert root


def test_a_repository_that_was_named(root: Path, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    other = {"type": "gitRepo", "name": "inside", "gitRepo": {"url": "http://git.svc/x.git"}}
    api.add(PLANS, cache_plan(REPO, other))
    api.add(NODE_CACHES, node_cache("gpu-1", gitRepos=[{"name": "inside", "status": "pulling"}]))
    result = k8shazgpu(*RUN, "--repo-name", "inside", *SERVE)
    assert spec(api)["repoName"] == "inside"
    assert "no node has `inside` ready yet" in result.stderr
    result = k8shazgpu("vllm", "run", "--repo-name", "nope", *SERVE)
    assert (result.code, "has no repository `nope`" in result.stderr) == (3, True)
    line = ("vllm", "run", "--name", "fast", "--repo-name", "nope", "--skip-cache-check", *SERVE)
    assert k8shazgpu(*line).code == 0
    assert spec(api, "fast")["repoName"] == "nope"
    assert root


def test_an_image_that_does_not_exist_is_an_error(
    root: Path, api: FakeApi, k8shazgpu: K8shazgpu, images: Registry
) -> None:
    asked = images(Answer(exists=False))
    result = k8shazgpu(*RUN, *SERVE)
    head = git(root, "rev-parse", "HEAD")
    assert result.code == 3
    assert f"commit {head[:12]} has no image: there is no `{IMAGES}:{head}`" in result.stderr
    assert "--image" in result.stderr
    assert api.names(RUNS) == []
    assert asked == [f"{IMAGES}:{head}"]
    assert k8shazgpu(*RUN, "--skip-cache-check", *SERVE).code == 0
    assert len(asked) == 1


def test_a_registry_that_does_not_answer_is_a_warning(
    root: Path, k8shazgpu: K8shazgpu, images: Registry
) -> None:
    images(Answer(None, "public.ecr.aws wants a login"))
    result = k8shazgpu(*RUN, *SERVE)
    assert result.code == 0
    said = "it is not known whether the image exists: public.ecr.aws wants a login"
    assert f"warning: {said}\n" in result.stderr
    assert root


@pytest.mark.parametrize("own", [True, False])
def test_the_pattern_of_images_can_be_set(
    own: bool,  # noqa: FBT001 - a parameter
    root: Path,
    api: FakeApi,
    k8shazgpu: K8shazgpu,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api.add(MAPS, settings(vllmImages="registry.example/vllm:{commit}"))
    if own:
        monkeypatch.setenv("DEVCTL_VLLM_IMAGES", "localhost:5000/mine:{commit}")
    assert k8shazgpu(*RUN, *SERVE).code == 0
    place = "localhost:5000/mine" if own else "registry.example/vllm"
    assert spec(api)["image"] == f"{place}:{git(root, 'rev-parse', 'HEAD')}"


def test_any_checkout_can_be_named(tmp_path: Path, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
    other = new(tmp_path / "other")
    write(other, {"a": "1"})
    commit(other)
    push(other, "upstream")
    write(other, {"a": "2"})
    api.add(PLANS, cache_plan(REPO))
    result = k8shazgpu(*RUN, "--checkout", str(other), *SERVE)
    assert (result.code, "not of vLLM" in result.stderr) == (2, True)
    result = k8shazgpu(*RUN, "--checkout", str(other), "--image", "i:1", *SERVE)
    assert result.code == 0, result.stderr
    assert "git checkout:\n" in result.stderr
    assert "package" not in spec(api)["checkout"]
    assert k8shazgpu(*RUN, "--checkout", str(tmp_path), *SERVE).code == 2


def test_a_page_shows_the_checkout_and_what_the_cache_saved(
    api: FakeApi, k8shazgpu: K8shazgpu
) -> None:
    capsule = {"digest": "a" * 64, "configMap": f"capsule-{'a' * 16}"}
    about = {"repoName": "vllm-main", "checkout": {"commit": "b" * 40, "capsule": capsule}}
    models = [{"name": "opt", "state": "absent"}]
    cache = {"image": "ready", "repository": "ready", "models": models, "savedSeconds": 90}
    run = vllm_run("my-demo", "Serving", spec=about, cache=cache)
    notes = {"checkout.devctl/branch": "main", "checkout.devctl/changes": "2 modified"}
    run["metadata"]["annotations"] = notes
    api.add(RUNS, run, vllm_run("plain", spec={"checkout": {"commit": "b" * 40}}))
    page = k8shazgpu("vllm", "describe", "my-demo").stdout
    for line in (
        "Repository:   vllm-main",
        f"Checkout:     {'b' * 12}, branch main",
        f"Changes:      2 modified; capsule {'a' * 12}",
        "Cache:        image ready, repository ready, model opt absent",
        "Saved:        90s of pulling",
    ):
        assert f"{line}\n" in page
    page = k8shazgpu("vllm", "describe", "plain").stdout
    assert f"Checkout:     {'b' * 12}\nChanges:      none\n" in page
    assert "Cache:" not in page


class TestReplay:
    """The same again."""

    def test_it_has_the_very_same_capsule(
        self, root: Path, api: FakeApi, k8shazgpu: K8shazgpu
    ) -> None:
        write(root, {"vllm/new.py": "x"})
        assert k8shazgpu(*RUN, *SERVE).code == 0
        write(root, {"vllm/new.py": "changed since then"})
        result = k8shazgpu("vllm", "replay", "my-demo", "--name", "again")
        assert (result.code, result.stdout) == (0, "vllmrun/again created\n")
        assert "`k8shazgpu vllm logs -f again` follows it" in result.stderr
        assert spec(api, "again") == spec(api)
        assert k8shazgpu("vllm", "replay", "my-demo").code == 0
        assert api.names(RUNS)[-1].startswith("my-demo-")

    def test_a_capsule_that_is_gone_is_said(
        self, root: Path, api: FakeApi, k8shazgpu: K8shazgpu
    ) -> None:
        write(root, {"vllm/new.py": "x"})
        assert k8shazgpu(*RUN, *SERVE).code == 0
        api.drop(MAPS, api.names(MAPS)[0])
        result = k8shazgpu("vllm", "replay", "my-demo", "--name", "again")
        assert result.code == 3
        assert "the capsule of `my-demo` is gone" in result.stderr
        assert api.names(RUNS) == ["my-demo"]

    def test_it_is_followed(self, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
        api.add(RUNS, vllm_run("my-demo", "Failed"))

        def fails() -> None:
            key = next(key for key in api.things if key[0] == RUNS and key[2] == "again")
            failed = vllm_run("again", "Failed", reason="NonZeroExit", exitCode=7)
            api.things[key]["status"] = failed["status"]

        api.then = [fails]
        line = ("vllm", "replay", "my-demo", "--name", "again", "--follow")
        assert k8shazgpu(*line).code == 7
        assert k8shazgpu(*line, "-o", "json").code == 2

    @pytest.mark.parametrize("dry", ["client", "server"])
    def test_a_dry_run_creates_nothing(self, dry: str, api: FakeApi, k8shazgpu: K8shazgpu) -> None:
        api.add(RUNS, vllm_run("my-demo", "Failed"))
        result = k8shazgpu("vllm", "replay", "my-demo", "--name", "again", "--dry-run", dry)
        assert "dry run)" in result.stdout
        assert api.names(RUNS) == ["my-demo"]

    def test_what_does_not_exist_or_cannot_be_is_refused(
        self, api: FakeApi, k8shazgpu: K8shazgpu
    ) -> None:
        assert k8shazgpu("vllm", "replay", "no").code == 3
        api.add(RUNS, vllm_run("my-demo"))
        assert k8shazgpu("vllm", "replay", "my-demo", "--name", "No").code == 2


def test_cleanup_of_all_takes_ones_own_capsules(
    root: Path, api: FakeApi, k8shazgpu: K8shazgpu
) -> None:
    write(root, {"vllm/new.py": "x"})
    assert k8shazgpu(*RUN, *SERVE).code == 0
    (name,) = api.names(MAPS)
    # As admission has it.
    spec(api)["owner"] = USER
    other = vllm_run("bobs", spec={"owner": "bob", "checkout": spec(api)["checkout"]})
    api.add(RUNS, other)
    assert k8shazgpu("cleanup", "--all").code == 0
    # Somebody else's run names it.
    assert api.names(MAPS) == [name]
    api.drop(RUNS, "bobs")
    result = k8shazgpu("cleanup", "--all")
    assert (result.code, result.stdout) == (0, "")
    assert result.stderr == f"deleted what no run names any more: {name}\n"
    assert api.names(MAPS) == []
