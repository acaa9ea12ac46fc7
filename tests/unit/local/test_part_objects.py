from __future__ import annotations

import json
import tomllib
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devctl.errors import HostError
from devctl.local import node_registry, part_manifests, part_objects
from devctl.local.namespaces import enter
from devctl.local.part_objects import (
    Cluster,
    check_unused,
    install,
    remove_others,
    wait_until_ready,
)
from devctl.local.parts import Part
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

PROGRAMS = {"kubernetes": Path("/programs/kubernetes-1"), "net": Path("/programs/net-1")}
PART = Part("net", "a network", ("router",), ("kube-system/daemonset/router",), cleanup="flush")
IMAGES = {"router": "localhost/devctl/router:abc"}
MANIFEST = """\
kind: CustomResourceDefinition
metadata: {name: queues.example.org}
---
kind: DaemonSet
metadata: {name: router}
"""


class Calls(list[list[str]]):
    """What was run; `answers` has what it printed, by its first words after the options."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[tuple[str, ...], str] = {("kustomize",): MANIFEST}

    def capture(self, argv: Sequence[str | Path], *, what: str) -> str:
        assert what
        words = [str(word) for word in argv]
        self.append(words)
        said = words[3:] if words[1:2] == ["--kubeconfig"] else words[1:]
        return next((a for k, a in self.answers.items() if tuple(said[: len(k)]) == k), "")

    def kubectl(self) -> list[str]:
        """The first two words of each kubectl call."""
        return [" ".join(words[3:5]) for words in self if words[1] == "--kubeconfig"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls()
    monkeypatch.setattr(part_objects, "capture", calls.capture)
    return calls


@pytest.fixture
def made(cluster: ClusterSettings, paths: ClusterPaths) -> Cluster:
    return Cluster(cluster, paths, PROGRAMS, IMAGES)


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.usefixtures("calls")
def test_a_part_is_built_from_its_component_and_the_cluster_s_values(made: Cluster) -> None:
    assert install(made, PART)
    folder = made.paths.parts / "net"
    built = read(folder / "kustomization.yaml")
    assert built["resources"] == ["values.json"]
    assert (folder / built["components"][0]).resolve() == part_manifests.COMPONENTS / "net"
    image = {"name": "localhost/devctl/router", "newName": "localhost/devctl/router"}
    assert built["images"] == [image | {"newTag": "abc"}]
    assert read(folder / "values.json")["data"]["services"] == "198.18.16.0/20"
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("calls")
def test_every_node_s_runtime_learns_where_a_registry_is(made: Cluster) -> None:
    install(made, Part("net", "a network", registry="registry.net.svc"))
    values = read(made.paths.parts / "net" / "values.json")["data"]
    assert values["registry"] == "198.18.16.20"
    for node in made.settings.nodes:
        folder = made.paths.node(node.name).etc / "containerd" / "certs.d" / "registry.net.svc"
        assert tomllib.loads((folder / "hosts.toml").read_text()) == {
            "server": f"http://{values['registry']}"
        }


def test_a_node_s_containerd_reads_what_it_is_told_about_registries(made: Cluster) -> None:
    node = made.settings.nodes[0].name
    node_registry.introduce(made.settings, made.paths, "registry.net.svc")
    (file,) = made.paths.node(node).etc.rglob("hosts.toml")
    folder = Path("/etc") / file.parent.parent.relative_to(made.paths.node(node).etc)
    template = REPOSITORY / "playbooks/roles/local_nodes/templates/containerd.toml.j2"
    assert f'config_path = "{folder}"' in template.read_text()


def test_a_part_is_changed_by_those_beside_it(tmp_path: Path) -> None:
    changed = tmp_path / "net" / "with-queues"
    changed.mkdir(parents=True)
    components = part_manifests.components_of(PART, ("queues", "oidc"), tmp_path)
    assert components == [tmp_path / "net", changed]
    assert part_manifests.components_of(PART, ("oidc",), tmp_path) == [tmp_path / "net"]


@pytest.mark.usefixtures("calls")
def test_a_certificate_is_one_of_the_values(made: Cluster) -> None:
    install(made, Part("net", "a network", certificate=("a.b.svc",)))
    folder = made.paths.parts / "net"
    assert read(folder / "kustomization.yaml")["resources"] == ["values.json", "certificate.json"]
    assert sorted(read(folder / "certificate.json")["data"]) == ["ca.crt", "tls.crt", "tls.key"]


@pytest.mark.usefixtures("calls")
def test_a_password_is_made_once(made: Cluster) -> None:
    part = Part("net", "a network", password=True)
    install(made, part)
    folder = made.paths.parts / "net"
    assert read(folder / "kustomization.yaml")["resources"] == ["values.json", "password.json"]
    first = read(folder / "password.json")["data"]["password"]
    assert len(b64decode(first)) > 40
    install(made, part)
    assert read(folder / "password.json")["data"]["password"] == first


@pytest.mark.usefixtures("calls")
def test_a_part_s_own_objects_are_among_the_resources(made: Cluster) -> None:
    install(made, Part("net", "a network", objects="worker_objects"))
    folder = made.paths.parts / "net"
    assert read(folder / "kustomization.yaml")["resources"] == ["values.json", "objects.json"]
    listed = read(folder / "objects.json")
    assert listed["kind"] == "List"
    assert {"ConfigMap", "Secret"} == {each["kind"] for each in listed["items"]}


@pytest.mark.usefixtures("calls")
def test_a_part_can_change_what_came_with_its_program(made: Cluster) -> None:
    install(made, Part("net", "a network", base="net/config/default"))
    folder = made.paths.parts / "net"
    values, base = read(folder / "kustomization.yaml")["resources"]
    assert values == "values.json"
    assert (folder / base).resolve() == Path("/programs/net-1/config/default")


def test_a_part_is_applied_every_time_and_changed_the_first(made: Cluster, calls: Calls) -> None:
    assert install(made, PART)
    assert not install(made, PART)
    assert calls.kubectl() == ["apply --server-side"] * 2


def test_what_must_be_ready_is_waited_for(made: Cluster, calls: Calls) -> None:
    wait_until_ready(made, PART)
    words = ["rollout", "status", "--namespace", "kube-system", "daemonset/router"]
    assert calls[0][3:8] == words


def test_a_part_that_is_still_wanted_stays(made: Cluster, calls: Calls) -> None:
    install(made, PART)
    calls.clear()
    kept = replace(made, settings=replace(made.settings, parts=("net",)))
    assert remove_others(kept) == []
    assert calls == []


def test_a_part_is_removed_with_its_objects_and_what_it_left_in_nodes(
    made: Cluster, calls: Calls
) -> None:
    install(made, PART)
    calls.clear()
    calls.answers["get", "crd"] = "customresourcedefinition/queues.example.org\n"
    assert remove_others(made) == ["net"]
    assert calls.kubectl() == ["get crd", "delete queues.example.org", "delete --filename"]
    nodes = [enter(made.paths.node(node.name)) for node in made.settings.nodes]
    assert calls[3:] == [[*inside, "sh", "-c", "flush"] for inside in nodes]
    assert not (made.paths.parts / "net").exists()
    assert remove_others(made) == []


def test_an_interrupted_removal_is_continued(made: Cluster, calls: Calls) -> None:
    """Its kinds may be gone already."""
    install(made, PART)
    calls.clear()
    assert remove_others(made) == ["net"]
    assert calls.kubectl() == ["get crd", "delete --filename"]


def test_a_part_in_use_is_not_removed(made: Cluster, calls: Calls) -> None:
    install(made, Part("net", "a network", in_use=("queues.example.org",)))
    calls.clear()
    calls.answers["get", "crd"] = "customresourcedefinition/queues.example.org\n"
    calls.answers["get", "queues.example.org"] = "queue/a\nqueue/b\n"
    with pytest.raises(HostError, match="`net` is in use: the cluster has 2 objects of queues"):
        remove_others(made)
    assert "delete --filename" not in calls.kubectl()
    assert (made.paths.parts / "net").exists()


def test_the_fix_names_the_cluster() -> None:
    check_unused("net", "queues", 0, "lab")
    with pytest.raises(HostError) as caught:
        check_unused("net", "queues", 1, "lab")
    assert caught.value.fix.endswith("`devctl local up --with net --name lab`")
