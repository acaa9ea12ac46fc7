from __future__ import annotations

import shutil
import string
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unit.devserver_files.conftest import SHELLS, Container, make_container
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE ada\'s $(key) `of` "hers"'
SYSTEM = "/usr/local/sbin:/usr/sbin:/sbin"
SHELLS_HERE = [name for name in SHELLS if shutil.which(name)]
PRINTABLE = st.text(string.printable[:95], max_size=40)
NAMES = st.from_regex(r"(NCCL_|TORCH_NCCL_|[A-Z])[A-Z0-9_]{1,8}", fullmatch=True).filter(
    lambda name: not name.startswith("SSH_") and name not in {"PATH", "TERM", "PWD", "ENV"}
)


def programs(container: Container) -> dict[str, str]:
    """The container's own programs in the place of the system's."""
    return {SYSTEM: str(container.root / "programs")}


def session(
    container: Container, key: str = KEY, env: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """What sshd is given: its configuration and the keys that it lets in."""
    program = f'cp "$4" "${{4%/*}}/authorized_keys" "${{4%/*}}/host_key" "{container.root}"'
    path = container.program_on_path("sshd", f'[ "$1 $2 $3" = "-i -e -f" ]; {program}')
    env = {**path, **(env or {})}
    code, said, errors = container.run("sshd", key, env=env, more=programs(container))
    assert (code, errors) == (0, "")
    assert said.startswith("ssh-ed25519 AAAA")
    assert not list((container.root / "run/devctl").glob("ssh.*"))
    config = (container.root / "config").read_text()
    return config, (container.root / "authorized_keys").read_text()


def words(line: str) -> list[str]:
    """A line of sshd_config as OpenSSH's argv_split takes it apart."""
    found, at = [], 0
    while at < len(line):
        if line[at] in " \t":
            at += 1
            continue
        if line[at] == "#":
            break
        word, quote = "", ""
        while at < len(line):
            char, after = line[at], line[at + 1 : at + 2]
            if char == "\\" and (after in {"'", '"', "\\"} or (not quote and after == " ")):
                word, at = word + after, at + 1
            elif not quote and char in " \t":
                break
            elif not quote and char in "'\"":
                quote = char
            elif char == quote:
                quote = ""
            else:
                word += char
            at += 1
        assert not quote
        found.append(word)
    return found


def environment(config: str) -> dict[str, str]:
    """The session's environment; sshd heeds the first SetEnv alone."""
    [line] = [line for line in config.splitlines() if line.startswith("SetEnv")]
    return dict(word.split("=", 1) for word in words(line)[1:])


def test_the_key_is_the_only_one_and_never_a_command(container: Container) -> None:
    assert session(container)[1] == f"{KEY}\n"


def test_only_keys_open_and_only_ones_own_account(container: Container) -> None:
    config = session(container)[0].splitlines()

    for line in (
        "AuthenticationMethods publickey",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin no",
        "UsePAM no",
        "X11Forwarding no",
        "PidFile none",
    ):
        assert line in config


def test_a_session_has_the_containers_environment(container: Container) -> None:
    given_ = {
        "NCCL_DEBUG": "INFO",
        "TORCH_NCCL_BLOCKING_WAIT": "1",
        "RANK": "0",
        "EMPTY": "",
        "ODD": r""" a 'b' "c" \d \\ $HOME ${x} `y` #z %h; """,
    }

    passed = environment(session(container, env=given_)[0])

    assert {name: passed[name] for name in given_} == given_
    assert passed["PATH"].startswith(str(container.root))


def test_a_sessions_own_variables_are_not_the_containers(container: Container) -> None:
    own = {"TERM": "dumb", "SSH_AUTH_SOCK": "/s", "USER": "x", "SHELL": "/x", "SHLVL": "3"}

    assert not own.keys() & environment(session(container, env=own)[0]).keys()


def test_a_value_of_several_lines_adds_no_line(container: Container) -> None:
    env = {"TWO": "a\nexport FAKE='1'\nPermitRootLogin yes", "ONE": "1"}

    config = session(container, env=env)[0]

    assert "PermitRootLogin yes" not in config
    passed = environment(config)
    assert passed["ONE"] == "1"
    assert "TWO" not in passed
    assert not passed.get("FAKE")


@pytest.mark.parametrize("program", SHELLS_HERE)
@settings(max_examples=50)  # each starts a shell
@given(env=st.dictionaries(NAMES, PRINTABLE, max_size=4))
def test_every_printable_value_arrives_as_it_is(program: str, env: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        container = make_container(Path(folder) / "container", program)
        passed = environment(session(container, env=env)[0])

    assert {name: passed.get(name) for name in env} == env


@pytest.mark.parametrize("arguments", [[], [""], ["a\nb"], ["a", "b"]], ids=repr)
def test_a_wrong_call_is_told(container: Container, arguments: list[str]) -> None:
    tells(container.run("sshd", *arguments), 2, "one argument", "/opt/devctl/sshd")


def test_a_server_without_ssh_is_told(container: Container) -> None:
    off = container.run("sshd", KEY, env={"DEVCTL_SSH": "off"})
    tells(off, 127, "SSH is disabled on this server", "spec.enableSSH")


def introduced(container: Container) -> str:
    """The key by which a session introduces itself."""
    env = container.program_on_path("sshd", "exit 0")
    code, said, errors = container.run("sshd", KEY, env=env, more=programs(container))
    assert (code, errors) == (0, "")
    return said


def test_a_server_keeps_its_key_in_the_home(container: Container) -> None:
    first = introduced(container)
    kept = container.root / "home/dev/.devctl/ssh_host_ed25519_key"
    assert kept.stat().st_mode & 0o777 == 0o600
    # A volume with an fsGroup may be read by its group, and sshd takes no such key.
    kept.chmod(0o660)
    session(container)
    assert (container.root / "host_key").read_text() == kept.read_text()
    assert (container.root / "host_key").stat().st_mode & 0o77 == 0
    assert introduced(container) == first
    kept.unlink()
    assert introduced(container) != first


def test_first_sessions_at_once_agree_on_a_key(container: Container) -> None:
    env = container.program_on_path("sshd", "exit 0")
    more = programs(container)
    started = [container.start("sshd", KEY, env=env, more=more) for _ in range(5)]
    assert len({process.communicate(timeout=PATIENCE)[0] for process in started}) == 1


@pytest.mark.parametrize("content", [None, "", "not a key"])
def test_a_home_that_cannot_hold_a_key_lets_in_all_the_same(
    container: Container, content: str | None
) -> None:
    folder = container.root / "home/dev/.devctl"
    if content is None:
        folder.touch()
    else:
        folder.mkdir()
        (folder / "ssh_host_ed25519_key").write_text(content)
    first = introduced(container)
    assert first.startswith("ssh-ed25519 ")
    assert introduced(container) == first


def test_an_image_without_ssh_keygen_is_told(container: Container) -> None:
    env = container.program_on_path("sshd", "exit 0")
    more = {**programs(container), "command -v ssh-keygen": "false"}
    tells(container.run("sshd", KEY, env=env, more=more), 127, "no ssh-keygen", "openssh-client")


@pytest.mark.parametrize("found", [True, False])
def test_an_image_without_sshd_is_told(container: Container, *, found: bool) -> None:
    # Not even this script itself will do, where its folder is on PATH.
    text = "server=$(PATH=/usr/local/sbin:/usr/sbin:/sbin:$PATH && command -v sshd)"
    more = {text: f"server=$({'echo /opt/devctl/sshd' if found else 'false'})"}

    tells(container.run("sshd", KEY, more=more), 127, "no sshd", "openssh-server")


def test_a_user_without_a_name_is_told(container: Container) -> None:
    container.program_on_path("sshd", "exit 1")
    env = container.program_on_path("id", '[ "$1" = -u ] && echo 1000')
    more = programs(container)

    tells(container.run("sshd", KEY, env=env, more=more), 127, "user 1000", "useradd --uid 1000")


def test_a_failed_session_leaves_nothing(container: Container) -> None:
    env = container.program_on_path("sshd", "exit 255")
    more = programs(container)

    assert container.run("sshd", KEY, env=env, more=more)[0] == 255
    assert not list((container.root / "run/devctl").glob("ssh.*"))


def tells(result: tuple[int, str, str], status: int, error: str, fix: str) -> None:
    first, second = result[2].splitlines()
    assert result[:2] == (status, "")
    assert first.startswith("error: ")
    assert error in first
    assert second.startswith("  fix: ")
    assert fix in second
