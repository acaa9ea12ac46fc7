"""The commands that change a server's spec: restart, update, edit; and apply."""

from __future__ import annotations

import io
import json
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from devctl.cli import confirm
from devctl.client import manifests as applying
from devctl.client.manifests import difference, spec_of, text_of
from devctl.errors import UsageError
from unit.client.objects import FLAVORS, NAMESPACE, SERVERS, flavor, server, settings

if TYPE_CHECKING:
    from unit.cli.conftest import Devctl
    from unit.client.fake_cluster import FakeApi

REQUIRED = {
    "type": "RestartRequired",
    "status": "True",
    "reason": "SpecChanged",
    "message": "spec.image has changed since the server started",
}


@pytest.fixture
def lab(api: FakeApi) -> FakeApi:
    """A server that runs."""
    api.add(SERVERS, server("lab"))
    return api


def spec(api: FakeApi, name: str = "lab") -> Any:
    return api.things[SERVERS, NAMESPACE, name]["spec"]


def writes(api: FakeApi) -> list[str]:
    return [line for line in api.requests if line.split()[0] in {"PATCH", "POST", "DELETE"}]


def stops(api: FakeApi) -> None:
    api.get(SERVERS, "lab").update(status=server("lab", "Stopped")["status"])


def test_restart_stops_waits_and_starts(lab: FakeApi, devctl: Devctl) -> None:
    lab.then = [lambda: stops(lab)]
    found = devctl("restart", "lab")
    assert (found.code, found.stdout) == (0, "devserver/lab restarted\n")
    assert found.stderr.splitlines()[0] == "lab: asked to stop"
    assert spec(lab)["stopped"] is False
    assert writes(lab) == ["PATCH devservers/lab", "PATCH devservers/lab"]


def test_restart_that_does_not_stop_in_time_starts_nothing(lab: FakeApi, devctl: Devctl) -> None:
    found = devctl("restart", "lab", "--timeout", "0s")
    assert found.code == 4
    assert spec(lab)["stopped"] is True


def test_restart_of_a_stopped_server_starts_it(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, server("lab", "Stopped"))
    assert devctl("restart", "lab", "-o", "name") == (
        0,
        "devserver/lab\n",
        "lab: asked to stop\nlab: Stopped\n",
    )
    assert spec(api)["stopped"] is False


@pytest.mark.parametrize("command", ["stop", "restart"])
def test_a_person_is_asked_where_somebody_works(
    command: str, lab: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirm, "somebody_is_here", lambda: True)
    monkeypatch.setattr(
        "devctl.client.monitor.activity",
        lambda _client, _server: ["run train-1", "2 SSH sessions"],
    )
    found = devctl(command, "lab", typed="n\n")
    assert found.code == 130
    assert "This ends run train-1, 2 SSH sessions on `lab`. Continue? [y/N]: " in found.stderr
    assert writes(lab) == []
    lab.then = [lambda: stops(lab)]
    assert devctl(command, "lab", "--yes").code == 0
    assert writes(lab)


def test_update_changes_what_is_named_and_says_what_waits(lab: FakeApi, devctl: Devctl) -> None:
    lab.get(SERVERS, "lab")["status"]["conditions"].append(REQUIRED)
    found = devctl("update", "lab", "--image", "torch:2", "--no-ssh")
    assert (found.code, found.stdout) == (0, "devserver/lab updated\n")
    assert found.stderr.splitlines() == [
        "RestartRequired: spec.image has changed since the server started",
        "next: `devctl restart lab`",
    ]
    assert (spec(lab)["image"], spec(lab)["enableSSH"]) == ("torch:2", False)
    assert spec(lab)["flavor"] == "cpu-small"
    assert devctl("update", "lab", "--image", "torch:2").stdout == "devserver/lab unchanged\n"


def test_update_keeps_the_rest_of_a_distributed_server(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, server("lab", replicas=2))
    spec(api)["distributed"]["nprocsPerNode"] = 2
    spec(api)["distributed"]["worldSize"] = 4
    found = devctl("update", "lab", "--replicas", "4", "-o", "json")
    assert json.loads(found.stdout)["spec"]["distributed"]["worldSize"] == 8
    devctl("update", "lab", "--nproc-per-node", "1", "--nccl", "NCCL_DEBUG=INFO")
    distributed = spec(api)["distributed"]
    assert (distributed["worldSize"], distributed["nprocsPerNode"]) == (4, 1)
    assert distributed["ncclSettings"] == {"NCCL_DEBUG": "INFO"}
    assert distributed["backend"] == "gloo"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("update lab", 2, "nothing to change"),
        ("update nobody --image i", 3, "there is no server `nobody`"),
        ("update lab --replicas 2 --world-size 3", 2, "2 pods of 1 have 2 processes, not 3"),
        ("restart nobody", 3, "there is no server `nobody`"),
        ("edit nobody", 3, "there is no server `nobody`"),
        ("apply", 2, "missing option '-f'"),
        ("apply -f none.yaml", 2, "cannot read `none.yaml`"),
    ],
)
def test_errors_are_two_lines_and_change_nothing(
    line: str, code: int, said: str, lab: FakeApi, devctl: Devctl
) -> None:
    found = devctl(*line.split())
    assert (found.code, found.stdout) == (code, "")
    error, fix = found.stderr.splitlines()
    assert said in error
    assert fix.startswith("  fix: ")
    assert writes(lab) == []


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody can be asked."""
    monkeypatch.setattr("devctl.cli.update.somebody_is_here", lambda: True)


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make Python lines the editor; each sees the file's text as `text`, and `round` counts."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def use(lines: str) -> Path:
        script = tmp_path / "editor.py"
        script.write_text(
            "import pathlib, sys\n"
            "file, seen = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[0] + '.seen')\n"
            "text = file.read_text()\n"
            "round = seen.read_text().count('---') if seen.exists() else 0\n"
            "seen.open('a').write(text + '---\\n')\n"
            f"{lines}\n"
            "file.write_text(text)\n"
        )
        monkeypatch.setenv("VISUAL", f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}")
        return Path(f"{script}.seen")

    return use


def kept(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("devctl-edit-*"))


def test_edit_sends_what_was_changed(
    lab: FakeApi, devctl: Devctl, editor: Any, tmp_path: Path
) -> None:
    seen = editor("text = text.replace('torch:1', 'torch:2').replace('flavor: cpu-small\\n', '')")
    found = devctl("edit", "lab")
    assert found == (0, "devserver/lab edited\n", "")
    assert spec(lab)["image"] == "torch:2"
    assert "flavor" not in spec(lab)
    assert seen.read_text().startswith("# The spec of devserver/lab.")
    assert kept(tmp_path) == []


@pytest.mark.parametrize("lines", ["", "text = ''", "text = '# nothing\\n'", "text += '\\n# x\\n'"])
def test_an_edit_without_changes_changes_nothing(
    lines: str, lab: FakeApi, devctl: Devctl, editor: Any, tmp_path: Path
) -> None:
    editor(lines)
    assert devctl("edit", "lab") == (0, "", "nothing changed\n")
    assert (writes(lab), kept(tmp_path)) == ([], [])


@pytest.mark.usefixtures("person")
def test_a_refused_edit_comes_back_with_the_reason(
    lab: FakeApi, devctl: Devctl, editor: Any, tmp_path: Path
) -> None:
    seen = editor(
        "text = text.replace('torch:1', '[').replace('[', 'torch:2') if round else "
        "text.replace('torch:1', '[')"
    )
    assert devctl("edit", "lab").stdout == "devserver/lab edited\n"
    second = seen.read_text().split("---\n")[1]
    assert "# Refused: the edit, line " in second
    assert "image: [" in second
    assert spec(lab)["image"] == "torch:2"
    assert kept(tmp_path) == []


@pytest.mark.usefixtures("person")
def test_an_edit_that_is_refused_twice_is_kept(
    lab: FakeApi, devctl: Devctl, editor: Any, tmp_path: Path
) -> None:
    lab.refusals["PATCH", SERVERS] = (
        422,
        'DevServer "lab" is invalid: spec.image: too \x1b[31mred',
    )
    seen = editor("text = text if round else text.replace('torch:1', 'torch:2')")
    found = devctl("edit", "lab")
    assert found.code == 2
    (file,) = kept(tmp_path)
    assert found.stderr.splitlines()[1] == f"  fix: your edit is kept in {file}"
    assert "image: torch:2" in file.read_text()
    assert r"# Refused: `lab` is not valid: spec.image: too \x1b[31mred" in seen.read_text()


def test_an_editor_that_fails_loses_nothing(
    lab: FakeApi, devctl: Devctl, editor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor("file.write_text('x: 1'); sys.exit(3)")
    found = devctl("edit", "lab")
    assert (found.code, writes(lab)) == (1, [])
    assert "ended with code 3" in found.stderr
    (file,) = kept(tmp_path)
    assert file.read_text() == "x: 1"
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    assert "cannot start the editor `/nowhere/editor`" in devctl("edit", "lab").stderr


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
SPECS = st.dictionaries(st.text(min_size=1, max_size=3), VALUES, max_size=4)


@given(SPECS)
def test_a_spec_survives_the_editor(spec: dict[str, Any]) -> None:
    assert (spec_of(text_of(spec, "devserver/lab")) or {}) == spec
    assert difference(spec, spec) == {}


FILE = """\
apiVersion: devops.yourcompany.com/v1
kind: DevServer
metadata: {name: lab}
spec: {flavor: cpu-large}
---
# nothing
---
apiVersion: devops.yourcompany.com/v1
kind: DevServer
metadata: {name: new, labels: {team: vision}}
spec: {flavor: cpu-small}
"""


def test_apply_tells_of_each_object(lab: FakeApi, devctl: Devctl, tmp_path: Path) -> None:
    lab.add("configmaps", settings(image="torch:9"))
    file = tmp_path / "all.yaml"
    file.write_text(FILE)
    found = devctl("apply", "-f", str(file))
    assert found == (0, "devserver/lab configured\ndevserver/new created\n", "")
    assert (spec(lab)["flavor"], spec(lab)["image"]) == ("cpu-large", "torch:1")
    assert (spec(lab, "new")["image"], spec(lab, "new")["owner"]) == ("torch:9", lab.user)
    found = devctl("apply", "-f", "-", typed=FILE)
    assert found.stdout == "devserver/lab unchanged\ndevserver/new unchanged\n"


def test_apply_takes_what_o_yaml_prints_and_folders(
    lab: FakeApi, devctl: Devctl, tmp_path: Path
) -> None:
    lab.add(FLAVORS, flavor())
    listed = devctl("list", "-o", "yaml").stdout
    (tmp_path / "b.yaml").write_text(listed)
    (tmp_path / "a.json").write_text(json.dumps(flavor("gpu")))
    (tmp_path / "notes.txt").write_text("{")
    found = devctl("apply", "-f", str(tmp_path))
    assert found == (0, "devserverflavor/gpu created\ndevserver/lab unchanged\n", "")
    path = "jsonpath={.items[*].kind}"
    kinds = devctl("apply", "-f", str(tmp_path), "-o", path, "--dry-run=client").stdout
    assert kinds == "DevServerFlavor DevServer"


@pytest.mark.parametrize("how", ["client", "server"])
def test_a_dry_run_of_apply_changes_nothing(how: str, lab: FakeApi, devctl: Devctl) -> None:
    before = dict(lab.things)
    lab.add("configmaps", settings(image="torch:9"))
    found = devctl("apply", "-f", "-", f"--dry-run={how}", typed=FILE)
    assert found.stdout.splitlines()[0].endswith("dry run)")
    assert lab.names(SERVERS) == ["lab"]
    assert lab.things[SERVERS, NAMESPACE, "lab"] == before[SERVERS, NAMESPACE, "lab"]


def test_a_conflict_says_whose_the_field_is(lab: FakeApi, devctl: Devctl) -> None:
    lab.managers["lab"] = {".spec.flavor": "kubectl-edit"}
    lab.add("configmaps", settings(image="torch:9"))
    found = devctl("apply", "-f", "-", typed=FILE)
    # The other one is applied all the same.
    assert (found.code, found.stdout) == (1, "devserver/new created\n")
    assert found.stderr.splitlines() == [
        "devserver/lab: .spec.flavor is managed by `kubectl-edit`",
        "  fix: leave these fields out of the file, or take them over with --force-conflicts",
    ]
    assert spec(lab)["flavor"] == "cpu-small"
    assert devctl("apply", "-f", "-", "--force-conflicts", typed=FILE).code == 0
    assert spec(lab)["flavor"] == "cpu-large"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: [", "standard input, line 2 is not valid YAML"),
        ("", "no objects to apply"),
        ("[1]", "document 1 is not an object"),
        ("kind: Pod\napiVersion: v1", "is a Pod (v1), which devctl does not apply"),
        (FILE.replace("{name: lab}", "{}"), "document 1 has no name"),
        (f"{FILE}---\nkind: Pod", "document 4 is a Pod"),
    ],
)
def test_nothing_is_applied_of_what_is_not_sound(
    text: str, said: str, lab: FakeApi, devctl: Devctl
) -> None:
    found = devctl("apply", "-f", "-", typed=text)
    assert (found.code, found.stdout) == (2, "")
    assert said in found.stderr
    assert lab.requests == []


def test_apply_to_another_namespace_than_is_named_is_refused(lab: FakeApi, devctl: Devctl) -> None:
    text = yaml.safe_dump(lab.get(SERVERS, "lab"))
    found = devctl("apply", "-n", "other", "-f", "-", typed=text)
    assert found.code == 2
    assert "devserver/lab is of namespace `dev-alice`, and -n names `other`" in found.stderr


def test_fields_that_devctl_wrote_by_another_request_are_its_own(
    lab: FakeApi, devctl: Devctl
) -> None:
    lab.managers["lab"] = {".spec.flavor": "devctl"}
    lab.add("configmaps", settings(image="torch:9"))
    assert devctl("apply", "-f", "-", typed=FILE).code == 0
    assert spec(lab)["flavor"] == "cpu-large"


def test_a_program_that_edits_is_not_asked_twice(
    lab: FakeApi, devctl: Devctl, editor: Any, tmp_path: Path
) -> None:
    lab.refusals["PATCH", SERVERS] = (422, "no")
    seen = editor("text += 'x: 1\\n'")
    assert devctl("edit", "lab").code == 2
    assert seen.read_text().count("---") == 1
    (file,) = kept(tmp_path)
    assert "# Refused: no" in file.read_text()
    assert file.read_text().endswith("x: 1\n")


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("latin-1")))
def test_any_text_is_a_usage_error_or_the_same_when_it_is_written_again(text: str) -> None:
    with suppress(UsageError):
        found = spec_of(text)
        assert found is None or spec_of(text_of(found, "it")) == found
    with suppress(UsageError):
        assert applying.read(["-"], io.StringIO(text))


@pytest.mark.parametrize("value", ["2026-01-02", "2026-99-99", "0777", "1e3", "on", "~", "0b"])
def test_what_is_not_in_json_is_text(
    value: str, lab: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVCTL_IMAGE", "torch:9")
    text = FILE.replace("cpu-large", value)
    found = devctl("apply", "-f", "-", "-o", "json", typed=text)
    assert found.code == 0
    json.loads(found.stdout)
    if "-" in value:
        assert spec(lab)["flavor"] == value


def test_no_word_of_a_file_reaches_the_terminal_raw(lab: FakeApi, devctl: Devctl) -> None:
    lab.add("configmaps", settings(image="torch:9"))
    evil = "\x1b]52;c;bHMK\x07"
    for text, code in (
        (json.dumps(json.loads(json.dumps(lab.get(SERVERS, "lab"))) | {"kind": evil}), 2),
        (FILE.replace("{name: lab}", json.dumps({"name": evil})), 1),
    ):
        lab.managers[evil] = {f".spec.{evil}": evil}
        found = devctl("apply", "-f", "-", typed=text)
        assert found.code == code
        assert (found.stdout + found.stderr).replace("\n", "").isprintable()
        assert "52;c;bHMK" in found.stderr
