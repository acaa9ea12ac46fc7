"""The action plugin: its arguments and its results."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.task import Task
from ansible.plugins import loader
from ansible.template import Templar, trust_as_template
from apply import converge
from apply.errors import ApplyError
from apply.manifests import Key, Kind
from apply.values import Values
from unit.plugins.fake_api import FakeApi, failure

from devctl.api.applied import Reason
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONFIG = "/api/v1/namespaces/team/configmaps"
ADA = "/apis/devops.yourcompany.com/v1/namespaces/team/devservers/ada"
OWNER: dict[str, Any] = {
    "apiVersion": "devops.yourcompany.com/v1",
    "kind": "DevServer",
    "metadata": {"name": "ada", "namespace": "team", "uid": "u1"},
}
TEMPLATE = """\
# {% if wanted %}

---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ name }}
data: {value: {{ value }}, newline: {{ 'a\\n' }} }
# {% endif %}
"""
Run = dict[str, Any]


@pytest.fixture(scope="module")
def plugin() -> Any:
    """The action plugin's class, found as by Ansible."""
    if not loader.AnsibleCollectionConfig.collection_finder:
        loader.init_plugin_loader()
    loader.action_loader.add_directory(str(REPOSITORY / "plugins/action"))
    return loader.action_loader.get("apply", class_only=True)


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def apply(
    plugin: type, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Run]:
    """Runs the action on one template, like a role's task."""

    @contextmanager
    def connect() -> Iterator[Any]:
        yield api.client()

    monkeypatch.setattr(sys.modules[plugin.__module__], "connect", connect)
    made_up: Any = ModuleType("made_up.values")
    made_up.identity = lambda _owner: {"server": "ada"}
    monkeypatch.setitem(sys.modules, "made_up.values", made_up)
    monkeypatch.setitem(sys.modules, "made_up", ModuleType("made_up"))
    (tmp_path / "templates").mkdir()

    def run(
        template: str = TEMPLATE,
        names: dict[str, Any] | None = None,
        *,
        values: Callable[..., Values] | None = None,
        module: str = "made_up",
        check_mode: bool = False,
        **arguments: Any,
    ) -> Run:
        (tmp_path / "templates/t.yaml.j2").write_text(template)
        arguments = {
            "owner": OWNER,
            "values": module,
            "templates": ["t.yaml.j2"],
        } | arguments
        known = {"wanted": True, "name": "cfg", "value": "x"} | (names or {})
        made_up.values = values or (lambda _owner, **_read: Values(known))
        task = Task.load({"name": "Apply", "apply": arguments, "diff": True})
        task.check_mode = check_mode
        files = DataLoader()
        files.set_basedir(str(tmp_path))
        templar = Templar(loader=files, variables={})
        connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=None))
        action = plugin(task, connection, None, files, templar, loader)
        return dict(action.run(task_vars={}))

    return run


def test_it_applies_what_the_template_renders(api: FakeApi, apply: Callable[..., Run]) -> None:
    result = apply(names={"value": 'a: b\n"😀{{ 7 * 7 }}'})

    assert "failed" not in result
    assert result["changed"]
    assert [entry["action"] for entry in result["objects"]] == ["created"]
    assert result["diff"][0]["after"]["data"]["value"] == 'a: b\n"😀{{ 7 * 7 }}'
    stored = api.objects[f"{CONFIG}/cfg"]
    assert stored["data"] == {"value": 'a: b\n"😀{{ 7 * 7 }}', "newline": "a\n"}
    assert stored["metadata"]["labels"] == {"server": "ada"}
    assert not apply(names={"value": 'a: b\n"😀{{ 7 * 7 }}'})["changed"]


def test_a_template_may_render_nothing(api: FakeApi, apply: Callable[..., Run]) -> None:
    apply()

    result = apply(names={"wanted": False}, prune=[{"apiVersion": "v1", "kind": "ConfigMap"}])

    assert result["pruned"] == [{"apiVersion": "v1", "kind": "ConfigMap", "name": "cfg"}]
    assert api.objects == {}


@pytest.mark.parametrize(
    ("conditions", "reads"),
    [
        ([{"type": "Ready", "status": "False"}], [f"GET {CONFIG}/cfg"]),
        ([{"type": "Applied", "status": "False"}], [f"GET {CONFIG}", f"GET {CONFIG}/cfg"]),
    ],
)
def test_what_is_to_be_pruned_is_looked_for_once_a_run_has_ended(
    conditions: list[Run], reads: list[str], api: FakeApi, apply: Callable[..., Run]
) -> None:
    metadata = OWNER["metadata"] | {"generation": 1}
    owner = OWNER | {"metadata": metadata, "status": {"conditions": conditions}}
    api.put(ADA, owner)
    kinds = [{"apiVersion": "v1", "kind": "ConfigMap"}]

    assert "failed" not in apply(owner=owner, prune=kinds, condition="Applied")
    assert [request for request in api.requests if request.startswith("GET")] == reads


def applied(api: FakeApi) -> list[str]:
    """The owner's condition, if there is one."""
    conditions = api.objects[ADA].get("status", {}).get("conditions", [])
    return [condition["status"] for condition in conditions]


def test_a_condition_that_met_with_another_write_is_written_again(
    api: FakeApi, apply: Callable[..., Run]
) -> None:
    owner = OWNER | {"metadata": OWNER["metadata"] | {"generation": 1}}
    api.put(ADA, owner)
    # The third request of this run writes the condition.
    api.faults = [None, None, failure(409, "the object has been modified")]
    assert "failed" not in apply(owner=owner, condition="Applied")
    assert applied(api) == ["True"]


def test_a_condition_of_an_owner_that_is_another_by_now_is_left_out(
    api: FakeApi, apply: Callable[..., Run]
) -> None:
    owner = OWNER | {"metadata": OWNER["metadata"] | {"generation": 1}}
    api.put(ADA, owner | {"metadata": owner["metadata"] | {"uid": "u2"}})
    assert "failed" not in apply(owner=owner, condition="Applied")
    assert applied(api) == []


def test_check_mode_writes_nothing(api: FakeApi, apply: Callable[..., Run]) -> None:
    assert apply(check_mode=True)["changed"]
    assert api.objects == {}


def test_a_refusal_is_a_failed_task_with_a_reason(api: FakeApi, apply: Callable[..., Run]) -> None:
    api.put(f"{CONFIG}/cfg", {"apiVersion": "v1", "kind": "ConfigMap"})

    result = apply()

    assert (result["failed"], result["changed"]) == (True, False)
    assert (result["reason"], result["retryable"]) == ("Conflict", False)
    said = "ConfigMap team/cfg exists and does not belong to DevServer team/"
    assert result["msg"].startswith(said)


def test_a_bad_template_is_a_template_error(apply: Callable[..., Run]) -> None:
    result = apply("{{ missing }}")

    assert result["reason"] == "TemplateError"
    assert result["msg"] == "t.yaml.j2: 'missing' is undefined"


def test_a_missing_template_is_a_template_error(apply: Callable[..., Run]) -> None:
    result = apply(templates=["none.yaml.j2"])

    assert result["reason"] == "TemplateError"
    assert "none.yaml.j2" in result["msg"]


def test_what_goes_and_what_is_not_made_is_decided_with_the_values(
    api: FakeApi, apply: Callable[..., Run]
) -> None:
    apply()
    found = [api.objects[f"{CONFIG}/cfg"]]
    other = Key(Kind("v1", "ConfigMap"), "other", "team")
    names = {"wanted": True, "name": "other", "value": "x"}

    result = apply(values=lambda _: Values(names, found, frozenset([other])))

    assert [thing["name"] for thing in result["pruned"]] == ["cfg"]
    assert api.objects == {}


def test_the_values_know_the_owner_its_neighbours_and_the_roles_files(
    api: FakeApi, apply: Callable[..., Run], tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/script").write_text("echo '{{ a }}'\n")
    ours = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"server": "ada"}}}
    api.put(f"{CONFIG}/ours", ours)
    api.put(f"{CONFIG}/other", ours | {"metadata": {}})
    place = "/api/v1/namespaces/apart/configmaps"
    api.put("/api/v1/persistentvolumes/pv-1", {"metadata": {"name": "pv-1"}})
    for name, data in (("one", {"volume": "pv-1"}), ("two", {"volume": "gone"}), ("three", {})):
        api.put(f"{place}/{name}", ours | {"data": data})
    small = {"metadata": {"name": "small"}}
    api.objects["/apis/devops.yourcompany.com/v1/devserverflavors"] = {"items": [small]}
    flavors = {"apiVersion": "devops.yourcompany.com/v1", "kind": "DevServerFlavor"}
    seen: list[Any] = []

    def values(owner: Any, **read: Any) -> Values:
        seen.extend([owner, read])
        return Values({"wanted": False})

    kinds = {
        "maps": {"apiVersion": "v1", "kind": "ConfigMap"},
        "flavors": flavors | {"everywhere": True},
        "apart": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "apart"},
        "volumes": {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "named_by": "apart.data.volume",
        },
    }
    assert "failed" not in apply(values=values, neighbours=kinds, files=["script"])
    owner, read = seen
    assert owner == OWNER
    assert [thing["metadata"]["name"] for thing in read["maps"]] == ["ours"]
    assert [thing["metadata"]["name"] for thing in read["flavors"]] == ["small"]
    assert len(read["apart"]) == 3
    # Of two that are named, one does not exist.
    assert [thing["metadata"]["name"] for thing in read["volumes"]] == ["pv-1"]
    assert read["files"] == {"script": "echo '{{ a }}'\n"}


def refuse(_owner: Any) -> Values:
    raise ApplyError(Reason.INVALID, "no flavor")


def fail(_owner: Any) -> Values:
    raise KeyError("image")


@pytest.mark.parametrize(
    ("values", "reason", "message"),
    [
        (refuse, "Invalid", "no flavor"),
        (fail, "TemplateError", "values of made_up: KeyError: 'image'"),
    ],
)
def test_values_that_cannot_be_had_are_told_to_the_owner(
    values: Any, reason: str, message: str, api: FakeApi, apply: Callable[..., Run]
) -> None:
    owner = OWNER | {"metadata": OWNER["metadata"] | {"generation": 1}}
    api.put(ADA, owner)

    result = apply(values=values, owner=owner, condition="Applied")

    assert (result["reason"], result["msg"]) == (reason, message)
    (told,) = api.objects[ADA]["status"]["conditions"]
    assert (told["status"], told["reason"], told["message"]) == ("False", reason, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"module": "nobody"}, "values of nobody: No module named 'nobody'"),
        ({"neighbours": {"a": {"kind": "Pod"}}}, "a neighbour lacks 'apiVersion'"),
        ({"files": ["none"]}, "none: "),
    ],
)
def test_what_a_task_asks_for_has_to_be_there(
    arguments: dict[str, Any], message: str, api: FakeApi, apply: Callable[..., Run]
) -> None:
    result = apply(**arguments)

    assert result["reason"] == "TemplateError"
    assert result["msg"].startswith(message)
    assert api.requests == []


def test_an_identity_from_ansibles_own_texts_is_a_plain_one(
    apply: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tagged string has a different type, so each run would write it again."""
    labels = {"server": trust_as_template("ada")}
    monkeypatch.setattr(sys.modules["made_up.values"], "identity", lambda _: labels)
    apply()
    manifests: list[Any] = []
    monkeypatch.setattr(converge, "is_settled", lambda manifest, *_: manifests.append(manifest))
    apply()
    (labels,) = [manifest["metadata"]["labels"] for manifest in manifests]
    assert [type(text) for text in labels.values()] == [str]


def test_without_an_identity_nothing_is_done(
    api: FakeApi, apply: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["made_up.values"], "identity", lambda _: {})
    assert "identity is empty" in apply()["msg"]
    assert api.requests == []
