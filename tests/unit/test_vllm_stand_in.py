"""The stand-in for vLLM: it says what it is, and what a checkout changes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = REPOSITORY / "images/vllm-stand-in"
# It serves until it is told to end, by itself: sockets are disabled in this process only.
ASKS = """
import io, json, os, re, signal, sys, threading, urllib.request
from vllm import program

said = sys.stdout = io.StringIO()
def ask():
    while not (port := re.search(r"at port (\\d+)", said.getvalue())):
        pass
    base = f"http://127.0.0.1:{port[1]}"
    found = [json.load(urllib.request.urlopen(f"{base}/v1/models"))]
    body = json.dumps({"model": "m", "prompt": "Hello"}).encode()
    found.append(json.load(urllib.request.urlopen(f"{base}/v1/completions", body)))
    print(said.getvalue(), *map(json.dumps, found), sep="\\n", file=sys.__stdout__)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=ask).start()
sys.exit(program.main(["serve", "m", "--port", "0", "--host", "127.0.0.1", "--dtype", "float32"]))
"""


def asked(*above: Path) -> str:
    path = os.pathsep.join(map(str, (*above, FOLDER)))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", ASKS]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment, timeout=60
    ).stdout


def test_it_says_what_it_is_and_answers() -> None:
    said = asked()
    assert "stand-in for vLLM, not vLLM: m, version none: not built" in said
    assert "without meaning here: --dtype float32" in said
    assert said.count('"served_by": "stand-in for vLLM, not vLLM"') == 2
    assert '"text": "Hello (as the image has it)"' in said


def test_a_changed_package_answers_otherwise(tmp_path: Path) -> None:
    package = tmp_path / "vllm"
    package.mkdir()
    for file in (FOLDER / "vllm").glob("*.py"):
        text = file.read_text().replace("as the image has it", "as the checkout has it")
        (package / file.name).write_text(text)
    (package / "_version.py").write_text('__version__ = "built"\n')
    said = asked(tmp_path)
    assert "version built" in said
    assert '"text": "Hello (as the checkout has it)"' in said
