"""The table of the issue: who waits for somebody, and who works."""

from __future__ import annotations

import pytest
from devctl_node_agent.processes import Process, Stat
from devctl_node_agent.waiting import working
from hypothesis import given
from hypothesis import strategies as st

VSCODE = "/home/dev/.vscode-server"
EXTENSION = f"{VSCODE}/extensions/ms-python.python-2026.1"
BRAINS = "/home/dev/.cache/JetBrains/RemoteDev/dist/a_pycharm"
KERNEL = ("python", "-m", "ipykernel_launcher", "-f", "/home/dev/r/kernel-0a1b-2c.json")


def process(  # noqa: PLR0913 - what is known of one
    pid: int,
    *argv: str,
    name: str = "",
    parent: int = 1,
    state: str = "S",
    started: int = 0,
    session: int = 0,
) -> Process:
    name = name or (argv[0].rpartition("/")[2].removeprefix("-") if argv else "x")
    stat = Stat(name, state, parent, session or pid, None, started or pid)
    return Process(pid, stat, argv, None)


def names(*processes: Process, idle: tuple[str, ...] = ()) -> list[str]:
    found = working({each.pid: each for each in processes}, idle)
    return [each.stat.name for each in found]


WAITING = [
    process(1, "tini", "--", "/bin/sh", "/opt/devctl/start"),
    process(1, "/bin/sh", "/opt/devctl/start", name="start"),
    process(1, "-bash"),
    process(1, "bash"),
    process(1, "bash", "-l"),
    process(1, "/bin/bash", "--login"),
    process(1, "sh", "-i"),
    process(1, "-zsh"),
    process(1, "/usr/bin/fish"),
    process(1, "dash"),
    process(1, "ksh"),
    process(1, "tcsh"),
    process(1, "/bin/bash", "--init-file", f"{VSCODE}/bin/x/shellIntegration-bash.sh"),
    process(1, "/bin/busybox", "-i", name="sh"),
    process(1, "sshd: dev@pts/0", name="sshd-session"),
    process(1, "sshd: dev [priv]", name="sshd"),
    process(1, "/usr/sbin/sshd", "-i", "-e"),
    process(1, "/usr/lib/openssh/sftp-server"),
    process(1, "/bin/sh", "/opt/devctl/sshd", "ssh-ed25519 AAAA", name="sshd"),
    process(1, "/bin/sh", "/opt/devctl/sshd", "ssh-ed25519 AAAA", name="sh"),
    process(1, "/bin/sh", "/opt/devctl/jupyter", "leave", "/home/dev", "20000", name="jupyter"),
    process(1, "/bin/sh", "/opt/devctl/usage", name="usage"),
    process(1, "/bin/sh", "-c", "test -e /run/devctl/ready", name="sh"),
    process(1, "runc", "init", name="runc:[2:INIT]"),
    process(1, "tmux", "new", "-s", "work", name="tmux: server"),
    process(1, "tmux", "attach", name="tmux: client"),
    process(1, "SCREEN", "-S", "work"),
    process(1, "screen", "-r"),
    process(1, "mosh-server", "new"),
    process(1, "ssh-agent", "-s"),
    process(1, f"{VSCODE}/bin/abc/node", "out/server-main.js", name="node"),
    process(1, f"{VSCODE}/code-abc", "command-shell", name="code-abc"),
    process(1, "/home/dev/.cursor-server/bin/node", "x", name="node"),
    process(1, "/home/dev/.windsurf-server/bin/node", "x", name="node"),
    process(1, "/home/dev/.vscodium-server/bin/node", "x", name="node"),
    process(1, "/home/dev/.vscode-server-insiders/bin/node", "x", name="node"),
    process(1, "sh", f"{VSCODE}/bin/abc/bin/code-server", name="code-server"),
    process(1, "python", f"{EXTENSION}/python_files/run-jedi-language-server.py"),
    process(1, "python", f"{VSCODE}/extensions/ruff/bundled/tool/lsp_server.py"),
    process(1, "/usr/lib/code-server/lib/node", "/usr/lib/code-server", name="node"),
    process(1, "/home/dev/.local/lib/code-server-4.9.1/lib/node", "x", name="node"),
    process(1, f"{BRAINS}/jbr/bin/java", "-cp", "x", name="java"),
    process(1, "/bin/sh", f"{BRAINS}/bin/remote-dev-server.sh", "run", name="remote-dev-serv"),
    process(1, "/opt/jupyter/bin/python", "/opt/jupyter/bin/jupyter-lab", name="jupyter-lab"),
    process(1, "python3", "/usr/local/bin/jupyter", "lab", name="jupyter"),
    process(1, "python3", "-m", "jupyterlab", name="python3"),
    process(1, "python", "train.py", state="Z"),
    process(1, "python", "train.py", state="T"),
]

WORKING = [
    process(1, "sleep", "3600"),
    process(1, "python", "train.py"),
    process(1, "./work"),
    process(1),  # it hides its arguments
    process(1, "bash", "train.sh"),
    process(1, "bash", "-c", "make"),
    process(1, "bash", "-lc", "make"),
    process(1, "sh", "-s"),
    process(1, "fish", "--command=make"),
    process(1, "bash", "--", "train.sh"),
    process(1, "/bin/bash", "./bash", name="bash"),
    process(1, "bash", name="python3"),  # it only calls itself so
    process(1, "python", "screen", name="screen"),
    process(1, "/usr/bin/python3", "/home/dev/bin/tmux", name="tmux"),
    process(1, "python", "-m", "debugpy", f"{VSCODE}/x"),
    process(1, "python", f"{EXTENSION}/python_files/vscode_pytest/run_pytest_script.py"),
    process(1, "python", f"{VSCODE}/extensions/debugpy/bundled/libs/debugpy/launcher", "9", "x.py"),
    process(1, "python", "/home/dev/code-server/train.py"),
    process(1, "python", "train.py", f"--out={VSCODE}/x"),
    process(1, "gdb", "train", state="t"),
    process(1, "python", "/opt/jupyter/bin/jupyter-nbconvert", "--execute", "a.ipynb"),
    process(1, "python", "/opt/jupyter/bin/jupyter", "execute", "a.ipynb"),
    process(1, "vim", "jupyter-lab"),
    process(1, *KERNEL),
    process(1, "/bin/sh", "/opt/devctl/run", "supervise", "a", name="run"),
    process(1, "rsync", "--server"),
    process(1, "pip", "install", "torch"),
    process(1, "cat"),
    process(1, "train.py", state="D"),
]


@pytest.mark.parametrize("waiting", WAITING, ids=lambda each: " ".join(each.arguments)[-60:])
def test_it_waits(waiting: Process) -> None:
    assert names(waiting) == []


@pytest.mark.parametrize("at_work", WORKING, ids=lambda each: " ".join(each.arguments)[-60:])
def test_it_works(at_work: Process) -> None:
    assert names(at_work) == [at_work.stat.name]


def test_a_kernel_waits_if_jupyter_knows_it_to_be_idle() -> None:
    assert names(process(1, *KERNEL), idle=("0a1b-2c",)) == []
    assert names(process(1, *KERNEL), idle=("0a1b-2d",)) == ["python"]


def test_the_sleeper_of_start_waits_and_nobody_elses() -> None:
    start = process(1, "/bin/sh", "/opt/devctl/start", name="start")
    assert names(start, process(2, "sleep", "3600", parent=1, session=1)) == []
    assert names(start, process(2, "cat", parent=1, session=1)) == ["cat"]
    # What `nohup` has left behind becomes a child of the first process.
    for first in (start, process(1, "tini", "--", "/bin/sh", "/opt/devctl/start")):
        assert names(first, process(2, "sleep", "3600", parent=1)) == ["sleep"]
    tmux = process(1, "tmux", name="tmux: server")
    shell = process(2, "-bash", parent=1)
    assert names(tmux, shell, process(3, "sleep", "3600", parent=2)) == ["sleep"]


def test_scripts_wait_with_sleep_and_cat() -> None:
    jupyter = process(1, "/bin/sh", "/opt/devctl/jupyter", "leave", "/", "1", name="jupyter")
    assert names(jupyter, process(2, "cat", parent=1)) == []
    editor = process(1, "sh", f"{VSCODE}/bin/x.sh", name="x.sh")
    assert names(editor, process(2, "sleep", "1", parent=1)) == []


def test_all_that_usage_starts_waits() -> None:
    usage = process(1, "/bin/sh", "/opt/devctl/usage", name="usage")
    inner = process(2, "timeout", "5", "nvidia-smi", parent=1)
    assert names(usage, inner, process(3, "nvidia-smi", parent=2)) == []


LOOP = ("/bin/sh", "/opt/devctl/probe")


@pytest.mark.parametrize("before", [(), ("tini", "--")])
def test_the_probe_and_what_it_starts_wait(before: tuple[str, ...]) -> None:
    start = process(1, *before, "/bin/sh", "/opt/devctl/start")
    loop = process(2, *LOOP, parent=1, session=1)
    asked = process(3, "python", "probe.py", parent=2, session=3)
    inner = process(4, "nvidia-smi", parent=3, session=3)
    pause = process(5, "sleep", "60", parent=2, session=1)
    assert names(start, loop, asked, inner, pause) == []


def test_what_the_probe_leaves_behind_works() -> None:
    start = process(1, "/bin/sh", "/opt/devctl/start")
    loop = process(2, *LOOP, parent=1, session=1)
    assert names(start, loop, process(3, "python", "train.py", parent=1)) == ["python"]


def test_nobody_else_is_taken_for_the_probe() -> None:
    start = process(1, "/bin/sh", "/opt/devctl/start")
    inner = process(3, "python", "train.py", parent=2, session=2)
    # Somebody runs it from a shell, or leaves it behind.
    shell = process(4, "-bash", parent=1, session=4)
    for parent, session in ((4, 4), (1, 4), (9, 1)):
        other = process(2, *LOOP, parent=parent, session=session, name="sh")
        assert names(start, shell, other, inner) == ["sh", "python"]
    program = process(2, "python", "/opt/devctl/probe", parent=1, session=1)
    assert names(start, program, inner) == ["python", "python"]


def test_the_oldest_comes_first() -> None:
    young = process(1, "young", started=9)
    assert names(young, process(2, "old", started=3)) == ["old", "young"]


def test_parents_in_a_circle_end() -> None:
    assert names(process(1, "a", parent=2), process(2, "b", parent=1)) == ["a", "b"]


WORDS = st.sampled_from(
    ["", "-", "--", "-l", "-c", "bash", "tmux", "python", VSCODE, "kernel-a.json", "/opt/devctl/"]
) | st.text(max_size=12)


@given(st.lists(WORDS, max_size=6), st.text(max_size=15), st.text(min_size=1, max_size=1))
def test_no_process_is_an_error(argv: list[str], name: str, state: str) -> None:
    strange = Process(1, Stat(name, state, 1, 1, None, 1), tuple(argv), None)
    assert names(strange) in ([], [name])
