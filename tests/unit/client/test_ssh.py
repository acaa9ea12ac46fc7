"""What ssh is told, the keys that it uses, and the files that it reads."""

from __future__ import annotations

import base64
import doctest
import os
import shlex
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devctl.client.ssh import config, destination, keys
from devctl.client.ssh.destination import Destination, parse_host, program
from devctl.client.ssh.ssh import Ssh, become
from devctl.errors import HostError, UsageError
from unit.client.fake_cluster import SERVER
from unit.client.objects import NAMESPACE

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi

PRINTABLE = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=30)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def ssh(api: FakeApi, home: Path) -> Ssh:
    assert home.is_dir()
    return Ssh(api.cluster())


def made(**about: Any) -> Destination:
    known: dict[str, Any] = {
        "name": "lab",
        "replica": 0,
        "namespace": NAMESPACE,
        "server": SERVER,
        "identity": Path("/home/x/.ssh/devctl/id_ed25519"),
    }
    return Destination(**known | about)


def understood(*words: str) -> dict[str, str]:
    """What the system's ssh makes of options."""
    argv = ["ssh", "-G", *words]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return dict(line.partition(" ")[::2] for line in said.splitlines())


def test_examples() -> None:
    assert doctest.testmod(destination).failed == 0


def test_the_systems_ssh_understands_it(ssh: Ssh, home: Path) -> None:
    argv = ssh.destination("lab", 1).command(["nvidia-smi", "-L"], ["-L", "8080:localhost:80"])
    assert argv[0] == "ssh"
    assert argv[-3:] == ["--", "lab.1.devctl", "nvidia-smi -L"]
    found = understood("-F", "/dev/null", *argv[1:-1])
    known = home / ".ssh/devctl/known_hosts"
    alias = found["hostkeyalias"]
    assert (
        found
        | {
            "user": "dev",
            "stricthostkeychecking": "true",
            "userknownhostsfile": str(known / alias),
            "globalknownhostsfile": "/dev/null",
            "updatehostkeys": "false",
            "identityfile": str(home / ".ssh/devctl/id_ed25519"),
            "identitiesonly": "yes",
            "serveraliveinterval": "15",
            "serveralivecountmax": "4",
            "hostname": alias,
        }
        == found
    )
    assert "localforward" in found


@pytest.mark.parametrize(("name", "replica"), [("lab", 0), ("lab", 12), ("new", 0)])
def test_a_file_says_the_same_as_the_options(
    name: str, replica: int, ssh: Ssh, tmp_path: Path
) -> None:
    chosen = ssh.destination(name, replica)
    (tmp_path / "config").write_text(ssh.destination("any").config())
    told = understood("-F", "/dev/null", *chosen.command()[1:])
    read = understood("-F", str(tmp_path / "config"), chosen.host)
    way, quoted = told.pop("proxycommand"), read.pop("proxycommand")
    # Where the host stands is filled in when ssh connects, in quotes for the shell.
    assert shlex.split(quoted.replace("%n", chosen.host)) == shlex.split(way)
    # ssh fills it in there, too; without an alias the host's name is what the key is known by.
    assert read.pop("userknownhostsfile").replace("%h", read["hostname"]) == told.pop(
        "userknownhostsfile"
    )
    assert told.pop("hostkeyalias") == told["hostname"]
    assert read == told


HOSTILE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(host=HOSTILE.filter(lambda host: not host.startswith("-")))
def test_no_name_of_a_host_is_a_command(host: str, ssh: Ssh, tmp_path: Path) -> None:
    """A host may be named by a git submodule: what a shell gets of it is one quoted word."""
    config_file = tmp_path / "config"
    config_file.write_text(ssh.destination("any").config())
    argv = ["ssh", "-G", "-F", str(config_file), f"{host}.devctl"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    found = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    if "'" in host or done.returncode:
        assert "proxycommand" not in found
    elif "@" not in host and "/" not in host:
        line = found["proxycommand"].replace("%n", f"{host}.devctl")
        assert shlex.split(line)[-1] == f"{host}.devctl"
        assert "ssh-proxy" in shlex.split(line)


@pytest.mark.parametrize("host", ["lab.x.devctl", "Lab!.devctl", "lab.1.2.devctl", ".devctl", "'"])
def test_what_is_no_host_of_ours_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match=r"is not a server's host name|cannot be a server's name"):
        parse_host(host)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PRINTABLE.filter(str.strip), PRINTABLE.filter(str.strip))
def test_the_way_is_argv_whatever_is_in_it(tmp_path: Path, context: str, folder: str) -> None:
    chosen = made(
        place={"context": context, "kubeconfig": f"/{folder}"},
        environment={"KUBECONFIG": folder},
        identity=Path(tmp_path / folder.replace("/", "_") / "id"),
    )
    line = understood("-F", "/dev/null", *chosen.command()[1:])["proxycommand"]
    # ssh replaces `%%`, and a shell takes apart what is left.
    assert shlex.split(line.replace("%%", "%")) == chosen.proxy()
    place = ["--context", context, "--kubeconfig", f"/{folder}"]
    assert chosen.proxy()[-5:] == [*place, chosen.host]
    (tmp_path / "config").write_text(chosen.config())
    found = understood("-F", str(tmp_path / "config"), chosen.host)["proxycommand"]
    assert found == f"{line.removesuffix(chosen.host)}'%n'"


@settings(max_examples=100)
@given(
    st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=2)
)
def test_each_of_several_words_arrives_as_it_is(words: list[str]) -> None:
    line = made().command(words)[-1]
    argv = ["sh", "-c", f"printf '%s\\0' {line}"]
    said = subprocess.run(argv, capture_output=True, check=True).stdout
    assert said == b"".join(word.encode() + b"\0" for word in words)


def test_one_word_is_a_line_for_the_shell_and_none_is_a_shell() -> None:
    assert made().command(["cd src && make"])[-2:] == ["lab.devctl", "cd src && make"]
    assert made().command()[-2:] == ["--", "lab.devctl"]


@pytest.mark.parametrize(
    "about",
    [
        {"name": "../x"},
        {"name": "-oProxyCommand=x"},
        {"replica": -1},
        {"namespace": "../../x"},
        {"namespace": "a b"},
        {"user": "-x"},
        {"user": "a b"},
        {"place": {"context": "a\nProxyCommand evil"}},
        {"environment": {"KUBECONFIG": "a\0b"}},
        {"identity": Path("/a\nb")},
    ],
)
def test_what_could_be_taken_for_something_else_is_refused(about: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"cannot be|there is no replica -1|ssh cannot take"):
        made(**about)


def test_names_are_apart_from_those_of_other_servers() -> None:
    assert made().host == "lab.devctl"
    assert made(replica=2).host == "lab.2.devctl"
    assert made(name="lab-1").host != made(replica=1).host
    others = [made(), made(namespace="team"), made(server="https://other"), made(name="lab2")]
    assert len({each.alias for each in others}) == 4
    assert made().alias != made(replica=1).alias
    hosts = {dict(each.options())["HostName"] for each in [*others, made(replica=1)]}
    assert len(hosts) == 5


def test_devctl_is_started_as_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path(program()[0]).name == "devctl"
    monkeypatch.setattr("os.access", lambda *_: False)
    assert program()[1:] == ["-P", "-m", "devctl"]


def test_how_the_cluster_was_found_is_passed_on(
    api: FakeApi, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["a", "/b"]))
    chosen = Ssh(api.cluster()).destination("lab")
    assert chosen.proxy()[:2] == ["env", f"KUBECONFIG={home}/a{os.pathsep}/b"]
    monkeypatch.setenv("DEVCTL_CONTEXT", "mine")
    chosen = Ssh(api.cluster("team"), "own").destination("lab")
    assert "env" not in chosen.proxy()
    words = ["--namespace", "team", "--kubeconfig", f"{home}/own", "--context", "mine"]
    assert chosen.proxy()[-7:] == [*words, "lab.devctl"]


@pytest.mark.parametrize("address", [SERVER, "https://other"])
def test_what_is_kept_names_the_context(api: FakeApi, home: Path, address: str) -> None:
    (home / "kubeconfig").write_text(
        "{current-context: now, contexts: [{name: now, context: {cluster: c, user: u}}],"
        f" clusters: [{{name: c, cluster: {{server: '{address}'}}}}],"
        " users: [{name: u, user: {}}]}"
    )
    kept = Ssh(api.cluster(), str(home / "kubeconfig")).kept()
    named = kept.destination("lab").place.get("context")
    assert named == ("now" if address == SERVER else None)


def test_the_key_is_made_once_and_is_the_persons_own(home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: keys.own_key(), range(8)))
    [pair] = found
    assert pair == keys.own_key()
    assert pair.private == home / ".ssh/devctl/id_ed25519"
    assert stat.S_IMODE(pair.private.stat().st_mode) == 0o600
    assert stat.S_IMODE(pair.private.parent.stat().st_mode) == 0o700
    assert pair.public.startswith("ssh-ed25519 AAAA")
    assert "\n" not in pair.public
    assert not list(pair.private.parent.glob(".new.*"))


def test_a_public_key_that_is_lost_is_made_from_the_private_one() -> None:
    pair = keys.own_key()
    pair.private.with_suffix(".pub").write_text("nonsense\nssh-ed25519 evil")
    pair.private.chmod(0o644)
    found = keys.own_key()
    assert found.public.split()[:2] == pair.public.split()[:2]
    assert stat.S_IMODE(pair.private.stat().st_mode) == 0o600
    pair.private.write_text("no key")
    pair.private.with_suffix(".pub").unlink()
    with pytest.raises(HostError, match="ssh-keygen failed"):
        keys.own_key()


def test_a_machine_without_ssh_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="no `ssh-keygen`") as raised:
        keys.own_key()
    assert "devctl exec" in raised.value.fix
    with pytest.raises(HostError, match="no `ssh`"):
        become(["ssh", "lab"])


def test_a_home_that_cannot_be_written_is_told(home: Path) -> None:
    (home / ".ssh").touch()
    with pytest.raises(HostError, match="cannot be written"):
        keys.own_key()


def test_this_process_becomes_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("os.execvp", lambda *words: seen.append(words))
    become(("ssh", "lab"))
    assert seen == [("ssh", ["ssh", "lab"])]


def test_ssh_finds_servers_once_it_is_told(ssh: Ssh, home: Path) -> None:
    mine = home / ".ssh/config"
    mine.parent.mkdir(mode=0o700)
    mine.write_text("Host other\n  User me")
    mine.chmod(0o644)
    found = ssh.destination("any")
    changes = config.additions(found)
    shown = "".join(change.diff() for change in changes)
    assert f"+Include {home}/.ssh/devctl/config" in shown
    assert "+Host *.devctl" in shown
    assert not (home / ".ssh/devctl/config").exists()
    config.carry_out(changes)
    assert config.additions(found) == []
    # Whatever there is or will be; only a namespace of its own needs another file.
    assert config.additions(ssh.destination("new", 1)) == []
    assert config.additions(made(namespace="team"))
    assert stat.S_IMODE(mine.stat().st_mode) == 0o644
    assert understood("-F", str(mine), "lab.devctl")["stricthostkeychecking"] == "true"
    assert understood("-F", str(mine), "other")["user"] == "me"
    config.carry_out(config.removals())
    assert mine.read_text() == "Host other\n  User me"
    assert not (home / ".ssh/devctl/config").exists()
    assert config.removals() == []


def test_who_has_no_configuration_gets_one_that_nobody_else_reads(ssh: Ssh, home: Path) -> None:
    config.carry_out(config.additions(ssh.destination("lab")))
    mine = home / ".ssh/config"
    assert mine.read_text() == f"Include {home}/.ssh/devctl/config\n"
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600
    assert stat.S_IMODE(mine.parent.stat().st_mode) == 0o700


def test_a_configuration_that_is_a_link_stays_one(ssh: Ssh, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles/config").write_text("# mine\n")
    (home / ".ssh").mkdir()
    (home / ".ssh/config").symlink_to("../dotfiles/config")
    config.carry_out(config.additions(ssh.destination("lab")))
    assert (home / ".ssh/config").is_symlink()
    assert (home / "dotfiles/config").read_text().endswith("# mine\n")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_taken_away_leaves_the_rest_as_it_was(text: str) -> None:
    assert config.excluded(config.included(text)) == text
    assert config.included(config.included(text)) == config.included(text)


def test_a_configuration_that_is_no_utf8_keeps_its_bytes(ssh: Ssh, home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh/config").write_bytes(b"# \xff\xfe\r\nHost x\r\n")
    config.carry_out(config.additions(ssh.destination("lab")))
    assert (home / ".ssh/config").read_bytes().endswith(b"# \xff\xfe\r\nHost x\r\n")
    config.carry_out(config.removals())
    assert (home / ".ssh/config").read_bytes() == b"# \xff\xfe\r\nHost x\r\n"


def test_a_file_that_cannot_be_replaced_stays_as_it_was(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "file"
    file.write_text("before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(HostError, match="No space left on device"):
        keys.replace(file, "after")
    assert file.read_text() == "before"
    assert [each.name for each in home.iterdir()] == ["file"]


def test_a_home_with_a_space_in_its_name(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / 'my "own" home'))
    chosen = Ssh(api.cluster()).destination("lab")
    config.carry_out(config.additions(chosen))
    found = understood("-F", str(keys.users_config()), "lab.devctl")
    assert found["user"] == "dev"
    assert "known_hosts" in found["userknownhostsfile"]
    assert base64.b64encode(chosen.known_hosts.name.encode())
