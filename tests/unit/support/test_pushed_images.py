"""Images that tests push: whole, with everything that a container runtime checks."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING

from support.pushed_images import enlarged

if TYPE_CHECKING:
    from pathlib import Path

LENGTH = 3 << 20


def test_an_image_is_enlarged_by_a_layer_of_random_bytes(tmp_path: Path) -> None:
    config = {"config": {"Cmd": ["sh"]}, "rootfs": {"type": "layers", "diff_ids": ["sha256:x"]}}
    files = {
        "manifest.json": json.dumps([{"Config": "c.json", "Layers": ["base.tar"]}]).encode(),
        "c.json": json.dumps(config).encode(),
        "base.tar": b"the base",
    }
    archive = tmp_path / "image.tar"
    with tarfile.open(archive, "w") as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    found, (base, random) = enlarged(archive, tmp_path / "folder", LENGTH)
    assert base.digest == f"sha256:{hashlib.sha256(b'the base').hexdigest()}"
    content = b"".join(random.pieces())
    assert random.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert random.length == len(content) > LENGTH
    with tarfile.open(random.file) as layer:
        assert [(each.name, each.size) for each in layer] == [("data", LENGTH)]
    written = json.loads(found.file.read_text())
    assert written["rootfs"]["diff_ids"] == [base.digest, random.digest]
    assert written["config"] == config["config"]
