"""A person's defaults: the file, the variables before it, and `devctl config`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client import settings as preferences
from devctl.errors import UsageError
from unit.client.objects import FLAVORS, NAMESPACE, SERVERS, flavor, server

if TYPE_CHECKING:
    from pathlib import Path

    from unit.cli.conftest import Devctl, Tty
    from unit.client.fake_cluster import FakeApi


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the file is; its folder is not there yet."""
    return tmp_path / "home" / ".config" / "devctl" / "config.toml"


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_settings_are_saved_read_and_removed(devctl: Devctl, file: Path) -> None:
    assert devctl("config", "path") == (0, f"{file}\n", "")
    assert devctl("config", "get", "flavor").code == 3
    assert devctl("config", "set", "flavor", "gpu-large") == (0, "", f"flavor set in {file}\n")
    assert devctl("config", "set", "wait", "no").code == 0
    assert file.read_text() == 'flavor = "gpu-large"\nwait = false\n'
    assert devctl("config", "get", "wait").stdout == "false\n"
    listed = devctl("config", "list").stdout.splitlines()
    assert listed[0].split() == ["KEY", "VALUE", "FROM"]
    assert ["flavor", "gpu-large", str(file)] in [line.split() for line in listed]
    assert json.loads(devctl("config", "list", "-o", "json").stdout) == {
        "flavor": "gpu-large",
        "wait": False,
    }
    assert devctl("config", "unset", "flavor").code == 0
    assert devctl("config", "unset", "flavor").code == 3
    assert file.read_text() == "wait = false\n"


def test_comments_and_order_stay(devctl: Devctl, file: Path) -> None:
    write(file, "# Mine.\nflavor = 'a'  # small\n\n# Why.\noutput = 'wide'\n")
    devctl("config", "set", "flavor", "b")
    devctl("config", "set", "color", "never")
    devctl("config", "unset", "output")
    assert file.read_text() == '# Mine.\nflavor = "b"  # small\n\n# Why.\ncolor = "never"\n'


def test_a_link_stays_one(devctl: Devctl, file: Path, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.toml"
    dotfiles.write_text("")
    file.parent.mkdir(parents=True)
    file.symlink_to(dotfiles)
    devctl("config", "set", "flavor", "b")
    assert file.is_symlink()
    assert dotfiles.read_text() == 'flavor = "b"\n'


@pytest.mark.parametrize(
    ("line", "said", "fix"),
    [
        ("config set flavour x", "there is no setting `flavour`", "did you mean `flavor`?"),
        ("config get zzz", "there is no setting `zzz`", "use one of: namespace, context"),
        ("config set wait perhaps", "`wait` is `perhaps`", "use true or false"),
        ("config set output xml", "`output` is `xml`", "use one of: table, wide"),
        ("config set timeout soon", "`timeout` is `soon`", "write `90s` or `10m`"),
    ],
)
def test_what_cannot_be_set_is_refused(
    line: str, said: str, fix: str, devctl: Devctl, file: Path
) -> None:
    found = devctl(*line.split())
    assert (found.code, found.stdout) == (2, "")
    assert said in found.stderr
    assert fix in found.stderr
    assert not file.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flavour = 'x'", "there is no setting `flavour`"),
        ("flavor = 3", "`flavor` in"),
        ("wait = 'maybe'", "`wait` in"),
        ("flavor = [", "cannot be read"),
        ("[table]", "there is no setting `table`"),
    ],
)
def test_a_file_that_is_wrong_stops_commands_and_no_help(
    text: str, said: str, api: FakeApi, devctl: Devctl, file: Path
) -> None:
    write(file, text)
    found = devctl("list")
    assert (found.code, found.stdout, api.requests) == (2, "", [])
    assert said in found.stderr
    assert str(file) in found.stderr
    assert devctl("list", "--help").code == 0
    if "flavour" in text:
        assert devctl("config", "unset", "flavour").code == 0
        assert devctl("list").code == 0


def test_an_option_goes_before_a_variable_and_that_before_the_file(
    api: FakeApi, devctl: Devctl, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.add(FLAVORS, flavor("a"), flavor("b"), flavor("c"))
    write(file, "flavor = 'a'\nimage = 'file:1'\nwait = false\n")

    def spec(*line: str) -> Any:
        return json.loads(devctl("create", "lab", "--dry-run=client", "-o", "json", *line).stdout)[
            "spec"
        ]

    assert (spec()["flavor"], spec()["image"]) == ("a", "file:1")
    monkeypatch.setenv("DEVCTL_FLAVOR", "b")
    monkeypatch.setenv("DEVCTL_IMAGE", "variable:1")
    assert (spec()["flavor"], spec()["image"]) == ("b", "variable:1")
    assert spec("--flavor", "c", "--image", "i")["flavor"] == "c"
    assert spec("--flavor", "c", "--image", "i")["image"] == "i"


def test_namespace_and_output_are_preferred(api: FakeApi, devctl: Devctl, file: Path) -> None:
    api.add(SERVERS, server("lab"))
    thing = server("there")
    thing["metadata"]["namespace"] = "other"
    api.add(SERVERS, thing)
    write(file, "namespace = 'other'\noutput = 'name'\n")
    assert devctl("list").stdout == "devserver/there\n"
    assert devctl("list", "-n", NAMESPACE, "-o", "jsonpath={..name}").stdout == "lab"
    # What cannot be watched in that format is shown as ever.
    api.then = [lambda: (_ for _ in ()).throw(KeyboardInterrupt)]
    assert devctl("status", "-w").stdout == "there: Running\n"
    # A hint is for the place that the line names, and the file is read again next time.
    assert "-n" not in devctl("stop", "there").stderr


@pytest.mark.parametrize(
    "line", ["monitor lab", "logs lab", "describe lab", "doctor", "config list"]
)
def test_a_preferred_format_is_for_lists(
    line: str, api: FakeApi, devctl: Devctl, file: Path
) -> None:
    api.add(SERVERS, server("lab", "Stopped"))
    without = devctl(*line.split())
    write(file, "output = 'json'\n")
    found = devctl(*line.split())
    assert (found.code, found.stdout[:1]) == (without.code, without.stdout[:1])
    assert "-o" not in found.stderr


@pytest.mark.parametrize(
    ("color", "no_color", "coloured"),
    [("always", "", 1), ("always", "1", 0), ("never", "", 0), ("auto", "", 0)],
)
def test_colors(  # noqa: PLR0913, PLR0917 - parameters of the test
    color: str,
    no_color: str,
    coloured: int,
    api: FakeApi,
    devctl: Devctl,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api.add(SERVERS, server("lab"))
    monkeypatch.setenv("NO_COLOR", no_color)
    write(file, f"color = '{color}'\n")
    assert devctl("list").stdout.count("\x1b[32m") == coloured


def test_never_is_never_on_a_terminal_either(
    api: FakeApi, devctl: Devctl, file: Path, tty: Any
) -> None:
    api.add(SERVERS, server("lab"))
    screen: Tty = tty()
    write(file, "color = 'never'\n")
    devctl("list")
    assert b"Running" in screen.written()
    assert b"\x1b[" not in screen.written()


def test_no_command_reads_toml_for_its_help() -> None:
    lines = (
        "import sys",
        "from click.testing import CliRunner",
        "from devctl.cli.main import cli",
        "CliRunner().invoke(cli, ['create', '--help'])",
        "print(sorted(sys.modules.keys() & {'tomllib', 'tomlkit'}))",
    )
    program = [sys.executable, "-c", "\n".join(lines)]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout == "[]\n"


@given(st.text(max_size=60))
def test_any_text_is_settings_or_a_usage_error(text: str) -> None:
    import tempfile  # noqa: PLC0415
    from pathlib import Path as Folder  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", folder)
        (Folder(folder) / "devctl").mkdir()
        preferences.path().write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            assert preferences.saved().keys() <= preferences.KEYS.keys()
        except UsageError as error:
            assert str(preferences.path()) in f"{error.message} {error.fix}"  # noqa: PT017
