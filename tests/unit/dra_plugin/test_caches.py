"""What a claim sees of the node's cache: names of anybody's, and what is there."""

from __future__ import annotations

import json
import logging
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin import caches, cdi, checkpoint, planning
from devctl_dra_plugin.cache_folder import is_there
from devctl_dra_plugin.claims import Claims
from devctl_dra_plugin.devices import made_up
from devctl_dra_plugin.planning import ClaimError, Shared
from hypothesis import given
from hypothesis import strategies as st

from unit.dra_plugin.cluster import NODE, Memory, claim, ref, result

if TYPE_CHECKING:
    from pathlib import Path

DEVICES = made_up(NODE, 4)
OPT = "models/models--facebook--opt-125m"
ALL = {"git/vllm", "git/other", OPT, "models/models--gpt2"}


def config(driver: str = "canhazgpu.com", requests: list[str] | None = None, **lists: Any) -> Any:
    kind = {"apiVersion": "canhazgpu.com/v1alpha1", "kind": "CacheMounts"}
    return {
        "source": "FromClaim",
        "requests": requests or [],
        "opaque": {"driver": driver, "parameters": kind | lists},
    }


def asking(*configs: Any, results: list[Any] | None = None) -> dict[str, Any]:
    manifest = claim(ref(1), 2)
    devices = manifest["status"]["allocation"]["devices"]
    devices["config"] = list(configs)
    devices["results"] = results or devices["results"]
    return manifest


def shared(manifest: dict[str, Any], there: set[str] = ALL) -> tuple[Shared, ...]:
    planned = planning.plan(manifest, NODE, DEVICES)
    return caches.with_cache(planned, manifest, NODE, there.__contains__).shared


def refused(parameters: Any) -> str:
    manifest = asking(config() | {"opaque": {"driver": "canhazgpu.com", "parameters": parameters}})
    with pytest.raises(ClaimError) as it:
        shared(manifest)
    assert "\n" not in str(it.value)
    return str(it.value)


def test_a_claim_sees_what_it_names_and_is_there() -> None:
    manifest = asking(config(repositories=["vllm"], models=["facebook/opt-125m"]))
    assert shared(manifest) == (Shared("main", ("git/vllm", OPT), is_offline=True),)
    assert shared(manifest, {"git/vllm"}) == (Shared("main", ("git/vllm",)),)
    assert shared(manifest, set()) == ()
    assert shared(asking()) == ()


def test_a_missing_model_keeps_the_others_online() -> None:
    manifest = asking(config(models=["facebook/opt-125m", "gpt2"]))
    assert shared(manifest, {OPT}) == (Shared("main", (OPT,)),)


def test_what_is_required_is_waited_for() -> None:
    manifest = asking(config(repositories=["vllm", "other"], required=["vllm"]))
    with pytest.raises(ClaimError, match="repository `vllm` is not in the cache of node `node-1`"):
        shared(manifest, {"git/other"})
    assert shared(manifest, {"git/vllm"}) == (Shared("main", ("git/vllm",)),)


def test_a_configuration_is_for_its_requests_and_for_its_driver() -> None:
    results = [result(0, request="a"), result(1, request="b/small"), result(2, request="c")]
    manifest = asking(
        config(requests=["a"], repositories=["vllm"]),
        config(requests=["b/small"], repositories=["other"]),
        config(requests=["a", "b"], models=["gpt2"]),
        config("gpu.example.com", repositories=["../x"]),
        {"source": "FromClass", "requests": [], "opaque": None},
        results=results,
    )
    assert shared(manifest) == (
        Shared("a", ("git/vllm", "models/models--gpt2"), is_offline=True),
        Shared("b", ("git/other", "models/models--gpt2"), is_offline=True),
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (None, "it is no object"),
        ([], "it is no object"),
        ({}, "not of the kind CacheMounts"),
        ({"kind": "CacheMounts", "apiVersion": "canhazgpu.com/v1"}, "not of the kind"),
        ({"repositories": ["../x"]}, "`repositories` has `'../x'`, which is no name"),
        ({"repositories": ["a/b"]}, "which is no name"),
        ({"repositories": [".."]}, "which is no name"),
        ({"repositories": ["a\n"]}, "which is no name"),
        ({"repositories": [7]}, "which is no name"),
        ({"repositories": "vllm"}, "no list of at most 16 names"),
        ({"repositories": ["a"] * 17}, "no list of at most 16 names"),
        ({"models": ["a/b/c"]}, "which is no name"),
        ({"models": ["../b"]}, "which is no name"),
        ({"models": ["/etc"]}, "which is no name"),
        ({"required": ["vllm"]}, "`required` names `vllm`, and `repositories` does not"),
        ({"paths": ["/etc"]}, "there is no field `'paths'`"),
    ],
)
def test_anything_else_is_refused_with_what_is_wrong(wrong: Any, said: str) -> None:
    kind = {"apiVersion": "canhazgpu.com/v1alpha1", "kind": "CacheMounts"}
    whole = kind | wrong if wrong else wrong
    assert said in refused(whole)
    assert "the claim's configuration for canhazgpu.com is not valid" in refused(whole)


TEXT = st.text() | st.sampled_from(["vllm", "a/b", "..", ".", "a/../b", "_x", "a\0", "models--a"])


@given(st.lists(TEXT, max_size=3), st.lists(TEXT, max_size=3))
def test_no_path_leaves_the_cache(repositories: list[str], models: list[str]) -> None:
    manifest = asking(config(repositories=repositories, models=models))
    planned = planning.plan(manifest, NODE, DEVICES)
    try:
        found = caches.with_cache(planned, manifest, NODE, lambda _path: True)
    except ClaimError:
        return
    for path in (path for each in found.shared for path in each.paths):
        folder, _, name = path.partition("/")
        assert folder in {"git", "models"}
        assert name.isprintable()
        assert name not in {"", ".", ".."}
        assert "/" not in name


def test_containers_get_it_read_only_at_one_place() -> None:
    manifest = asking(config(repositories=["vllm"], models=["facebook/opt-125m"]))
    planned = planning.plan(manifest, NODE, DEVICES)
    whole = caches.with_cache(planned, manifest, NODE, ALL.__contains__)
    first, *others = cdi.specification(whole)["devices"]
    assert first["containerEdits"]["mounts"] == [
        {
            "hostPath": f"/var/lib/canhazgpu/cache/{path}",
            "containerPath": f"/cache/{path}",
            "options": ["ro", "rbind", "nosuid", "nodev"],
        }
        for path in ("git/vllm", OPT)
    ]
    assert first["containerEdits"]["env"][-1] == "HF_HUB_OFFLINE=1"
    assert all("mounts" not in each["containerEdits"] for each in others)
    assert checkpoint.parse(checkpoint.text([whole])) == {"uid-1": whole}


def test_a_checkpoint_of_an_older_plugin_is_read() -> None:
    planned = planning.plan(asking(), NODE, DEVICES)
    older = json.loads(checkpoint.text([planned]))
    for each in older["claims"]:
        del each["shared"]
    assert checkpoint.parse(json.dumps(older)) == {"uid-1": planned}


class Node:
    """A node with a cache, and what its plugin keeps."""

    def __init__(self, root: Path) -> None:
        self.api, self.cache = Memory(), root / "cache"
        self.state, self.folder = root / "checkpoint.json", root / "cdi"
        for each in (self.folder, self.cache / "git"):
            each.mkdir(parents=True)
        checkpoint.write(self.state, {})  # it has held none so far

    def start(self) -> Claims:
        claims = Claims(
            *(NODE, self.api, self.state, self.folder),
            is_there=lambda path: is_there(self.cache, path),
        )
        claims.know(DEVICES)
        return claims

    def ask(self, *configs: Any) -> None:
        self.api.allocate(ref(1), 2, status=asking(*configs)["status"])

    def mounted(self) -> list[str]:
        (file,) = self.folder.iterdir()
        edits = json.loads(file.read_text())["devices"][0]["containerEdits"]
        return [each["containerPath"] for each in edits.get("mounts", [])]


@pytest.fixture
def node(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Node:
    caplog.set_level(logging.CRITICAL)
    return Node(tmp_path)


def test_a_claim_waits_for_its_repository_and_keeps_what_it_got(node: Node) -> None:
    node.ask(config(repositories=["vllm"], models=["gpt2"], required=["vllm"]))
    claims = node.start()
    assert "is not in the cache of node" in claims.prepare([ref(1)])["uid-1"].error
    assert not list(node.folder.iterdir())
    (node.cache / "git" / "vllm").mkdir()
    assert not claims.prepare([ref(1)])["uid-1"].error
    assert node.mounted() == ["/cache/git/vllm"]
    # What comes later is no change of a container that has started.
    (node.cache / "models/models--gpt2/snapshots/1").mkdir(parents=True)
    before = [file.read_text() for file in node.folder.iterdir()]
    for file in node.folder.iterdir():
        file.unlink()
    claims.repair()
    assert [file.read_text() for file in node.folder.iterdir()] == before
    assert not node.start().prepare([ref(1)])["uid-1"].error
    assert node.mounted() == ["/cache/git/vllm"]


def test_a_repository_that_goes_while_a_claim_is_prepared_is_not_promised(node: Node) -> None:
    node.ask(config(repositories=["vllm"]))
    (node.cache / "git" / "vllm").mkdir()
    looks: list[str] = []

    def going(path: str) -> bool:
        """The cache's agent renames it after the first look."""
        looks.append(path)
        return len(looks) == 1

    claims = Claims(NODE, node.api, node.state, node.folder, is_there=going)
    claims.know(DEVICES)
    assert "has just gone" in claims.prepare([ref(1)])["uid-1"].error
    assert not list(node.folder.iterdir())
    assert checkpoint.read(node.state) == {}
    assert not claims.prepare([ref(1)])["uid-1"].error
    assert node.mounted() == []


def test_a_lost_record_gives_no_gpu_away_for_want_of_a_repository(node: Node) -> None:
    node.ask(config(repositories=["vllm"], required=["vllm"]))
    (node.cache / "git" / "vllm").mkdir()
    node.start().prepare([ref(1)])
    shutil.rmtree(node.cache / "git" / "vllm")
    node.state.unlink()
    claims = node.start()
    claims.complete()
    assert set(checkpoint.read(node.state) or {}) == {"uid-1"}
    # Nor for a configuration that an older plugin has not looked at.
    node.ask(config(other=[]))
    node.state.unlink()
    node.start().complete()
    assert set(checkpoint.read(node.state) or {}) == {"uid-1"}


def test_a_model_without_a_revision_is_not_there(tmp_path: Path) -> None:
    assert not is_there(tmp_path, OPT)
    (tmp_path / OPT / "snapshots").mkdir(parents=True)
    assert not is_there(tmp_path, OPT)
    (tmp_path / OPT / "snapshots" / "1").mkdir()
    assert is_there(tmp_path, OPT)
    assert not is_there(tmp_path, "git/vllm")
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "vllm").write_text("x")
    assert not is_there(tmp_path, "git/vllm")
