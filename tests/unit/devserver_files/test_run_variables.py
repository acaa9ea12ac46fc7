"""Variables of a run: in the environment of its command, and nowhere else."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from unit.devserver_files.conftest import tells
from unit.patience import eventually

if TYPE_CHECKING:
    from unit.devserver_files.conftest import Rank


def holders(secret: bytes) -> list[bytes]:
    """The commands with the secret in their environment; fails if a command line has it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (folder / "cmdline").read_bytes()
            assert secret not in command
            if b"TOKEN=!" + secret in (folder / "environ").read_bytes():
                found.append(command)
    return found


def test_variables_are_in_the_commands_environment_and_nowhere_else(rank: Rank) -> None:
    rank.begun.append("one")
    command = ("sh", "-c", 'echo "<$A>" "$1"; cat; exec sleep 60', "sh", "word")
    secret = uuid4().hex.encode()
    lines = f"A=a\\0040b\\0012\nTOKEN=\\0041{secret.decode()}\nPATH={os.environ['PATH']}\n"
    assert rank("begin", "3", "one", ".", *command, typed=lines + "not read\n") == (0, "", "")

    eventually(lambda: (rank.runs / "one/output").read_text() == "<a b\n> word\n")
    # The shell and its `cat` also have it, until `cat` has ended and the shell has become `sleep`.
    eventually(lambda: holders(secret) == [b"sleep\x0060\x00"])
    files = [file for file in rank.home.rglob("*") if file.is_file()]
    assert not [file for file in files if secret in file.read_bytes()]


def test_many_variables_arrive_and_none_that_is_half_there(rank: Rank) -> None:
    values = {f"V{number}": "x" * 5000 for number in range(60)}
    lines = "".join(f"{name}={value}\n" for name, value in values.items())
    rank.begun.append("one")
    count = 'env | grep -c "^V[0-9]*=x"'
    assert rank("begin", "60", "one", ".", "sh", "-c", count, typed=lines) == (0, "", "")
    assert rank.all("one")[0] == "60\n"

    result = rank("begin", "61", "two", ".", "true", typed=lines)
    tells(result, 1, "did not arrive completely", "repeat")
    assert not (rank.runs / "two").exists()


def test_packages_are_looked_for_in_front_of_what_is_there(rank: Rank) -> None:
    for name, env, wanted in (("one", {}, ""), ("two", {"PYTHONPATH": "/b"}, ":/b")):
        rank.begun.append(name)
        words = ("begin", "2", name, "../dev", "sh", "-c", "echo $PYTHONPATH")
        assert rank(*words, env=env, typed="+PYTHONPATH=\n+PYTHONPATH=a\\0040b\n")[0] == 0
        assert rank.all(name)[0] == f"{rank.home}/a b:{rank.home}{wanted}\n"
