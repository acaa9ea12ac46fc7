"""Hostile input: it fails clearly, in bounded memory and time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.commands import Kubectl
    from support.jobs import Job

pytestmark = pytest.mark.usefixtures("deployed")

GOOD = "Image.new('RGB', (64, 64)).save('input.jpg')"
LABELS = "put('resnet50-labels.json', b'[\"a\"]')"
WEIGHTS = "put('resnet50.safetensors', head({}) + b'x')"
READY = f"{LABELS}; {WEIGHTS}"
# What fills the volume, what else the program is told, and what it is to say.
HOSTILE: dict[str, tuple[str, dict[str, str], str, str]] = {
    # A few hundred kilobytes that unpack to 144 MB.
    "bomb": (f"{READY}; bomb(12_000)", {}, "InputTooLarge", "million pixels"),
    "cut": (f"{READY}; {GOOD}; os.truncate('input.jpg', 500)", {}, "InputInvalid", "input.jpg"),
    "text": (
        f"{READY}; put('input.jpg', b'not an image, whatever it is called')",
        *({}, "InputInvalid", "input.jpg is not a complete image (BMP, GIF, JPEG, PNG, WEBP)"),
    ),
    "huge": (f"{READY}; {GOOD}; os.truncate('input.jpg', 65 << 20)", {}, "InputTooLarge", "64 MiB"),
    "link": (
        f"{READY}; os.symlink('/etc/passwd', 'input.jpg')",
        *({}, "InputInvalid", "/artifacts/input.jpg is outside /artifacts"),
    ),
    "pipe": (f"{READY}; os.mkfifo('input.jpg')", {}, "InputInvalid", "is not a regular file"),
    "way-out": (
        f"{READY}; {GOOD}; os.symlink('/tmp', 'out')",
        *({"OUTPUT_PATH": "/artifacts/out/x.json"}, "OutputInvalid", "is outside /artifacts"),
    ),
    "short": (
        f"{LABELS}; {GOOD}; put('resnet50.safetensors', head(ONE) + bytes(3))",
        *({}, "WeightsInvalid", "3 bytes of tensors, but its header says 8: is it truncated?"),
    ),
    "shape": (
        f"{LABELS}; {GOOD}; put('resnet50.safetensors', head(ONE) + bytes(8))",
        *({}, "WeightsInvalid", "has `conv1.weight` as [2], not [64, 3, 7, 7]"),
    ),
    "pickle": (
        f"{LABELS}; {GOOD}; put('resnet50.safetensors', pickle.dumps(Evil()))",
        *({}, "WeightsInvalid", "it is not a safetensors file"),
    ),
    "pickle-too": (
        f"{GOOD}; {LABELS}; put('w.pt', pickle.dumps(Evil()))",
        {"WEIGHTS_PATH": "/artifacts/w.pt", "LABELS_PATH": "/artifacts/resnet50-labels.json"},
        *("WeightsInvalid", "w.pt does not end in .safetensors"),
    ),
    "no-labels": (f"{WEIGHTS}; {GOOD}", {}, "WeightsMissing", "resnet50-labels.json"),
}
PREPARE = """
import json, os, pickle, zlib
from PIL import Image
ONE = {"conv1.weight": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
class Evil:
    def __reduce__(self):
        return os.mkdir, ("/artifacts/evil",)
def put(name, data):
    open(name, "wb").write(data)
def head(found):
    text = json.dumps(found).encode()
    return len(text).to_bytes(8, "little") + text
def chunk(kind, data):
    crc = zlib.crc32(kind + data).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + kind + data + crc
def bomb(side):
    squeeze, row = zlib.compressobj(1), bytes(1 + side)
    rows = b"".join(squeeze.compress(row) for _ in range(side)) + squeeze.flush()
    size = side.to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    body = chunk(b"IHDR", size) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    put("input.jpg", bytes.fromhex("89504e470d0a1a0a") + body)
"""
BOMB = "bomb"
ALONE = f"{HOSTILE[BOMB][0]}; os.execvp('python3', ['python3', '-P', '-m', 'devctl_inference'])"
# The others one after the other, each on an empty volume, with the status kept for the end.
IN_TURN = """
import shutil, subprocess, sys
said = {}
for name, script, more in json.loads(sys.argv[1]):
    for entry in os.scandir():
        shutil.rmtree(entry) if entry.is_dir(follow_symlinks=False) else os.unlink(entry)
    exec(script)
    told = os.environ | {"TERMINATION_LOG": "/tmp/said"} | more
    run = subprocess.run([sys.executable, "-P", "-m", "devctl_inference"], env=told)
    said[name] = [run.returncode, *json.load(open("/tmp/said")).values(), os.path.exists("evil")]
print(json.dumps(said))
"""


def python(script: str, *args: str) -> list[str]:
    """A job's command: what fills volumes, and then a script."""
    return ["python3", "-P", "-c", f"{PREPARE}\n{script}", *args]


def test_hostile_input_fails_clearly_in_bounded_memory_and_time(
    job: Job, kubectl: Kubectl, inference_image: str
) -> None:
    """One as a job of its own, whose status says it; for the others a pod is enough."""
    job.image = inference_image
    bounds: dict[str, Any] = {
        "resources": {"gpu": 0, "cpu": "100m", "memory": "1Gi"},
        "input": {"waitSeconds": 0},
        "activeDeadlineSeconds": 240,
    }
    bomb, others = job.beside(BOMB), job.beside("others")
    bomb.apply(command=python(ALONE), **bounds)
    cases = [[name, *case[:2]] for name, case in HOSTILE.items() if name != BOMB]
    in_turn = python(IN_TURN, json.dumps(cases))
    others.apply(command=in_turn, ttlSecondsAfterFinished=600, **bounds)

    _, _, reason, words = HOSTILE[BOMB]
    status = bomb.wait("Failed", seconds=240)
    assert (status["reason"], status["exitCode"]) == (reason, 1)
    assert words in status["message"]
    others.wait("Succeeded", seconds=240)
    log = kubectl("-n", job.namespace, "logs", others.pod)
    said = json.loads(log.splitlines()[-1])
    assert said.keys() == HOSTILE.keys() - {BOMB}
    for name, (code, reason, message, evil) in said.items():
        assert (code, reason) == (1, HOSTILE[name][2]), (name, message)
        assert HOSTILE[name][3] in message, name
        assert not evil, f"{name} was unpickled"
