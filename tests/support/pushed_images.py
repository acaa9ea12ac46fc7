"""Images of a size of the test's choice, pushed to a registry by its HTTP API."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import tarfile
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import httpx2

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PIECE = 1 << 20
_SECONDS = 600.0
_TYPES = "application/vnd.oci.image"


class Blob(NamedTuple):
    """A layer or a configuration, in a file."""

    file: Path
    digest: str
    length: int

    def described(self, kind: str) -> dict[str, Any]:
        """How a manifest refers to it."""
        return {"mediaType": f"{_TYPES}.{kind}", "digest": self.digest, "size": self.length}

    def pieces(self) -> Iterator[bytes]:
        """Its content."""
        with self.file.open("rb") as source:
            while piece := source.read(_PIECE):
                yield piece


class Random(io.RawIOBase):
    """So many bytes that no compression makes smaller."""

    def __init__(self, length: int) -> None:
        self._left = length

    def read(self, size: int = -1) -> bytes:
        count = self._left if size < 0 else min(size, self._left)
        self._left -= count
        return os.urandom(count)


def blob(file: Path) -> Blob:
    """A file as it is pushed."""
    with file.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    return Blob(file, f"sha256:{digest}", file.stat().st_size)


def random_layer(file: Path, length: int) -> Blob:
    """A layer that adds one file of random bytes."""
    with tarfile.open(file, "w") as archive:
        member = tarfile.TarInfo("data")
        member.size = length
        archive.addfile(member, cast("IO[bytes]", Random(length)))
    return blob(file)


def enlarged(archive: Path, folder: Path, length: int) -> tuple[Blob, list[Blob]]:
    """An image of a docker archive with a random layer on top: configuration and layers."""
    folder.mkdir()
    # Python 3.11.2 has no filter that would make its own way a safe one.
    subprocess.run(["tar", "-x", "-C", folder, "-f", archive], check=True)
    (listed,) = json.loads((folder / "manifest.json").read_text())
    layers = [blob((folder / each).resolve()) for each in listed["Layers"]]
    layers.append(random_layer(folder / "random.tar", length))
    content = json.loads((folder / listed["Config"]).read_text())
    content["rootfs"]["diff_ids"] = [each.digest for each in layers]
    content.pop("history", None)
    config = folder / "config.json"
    config.write_text(json.dumps(content))
    return blob(config), layers


def push(registry: str, repository: str, tag: str, config: Blob, layers: list[Blob]) -> None:
    """Push an image.

    Args:
        registry: The registry's URL.
        repository: The image's name.
        tag: Its tag.
        config: Its configuration.
        layers: Its layers, which are not compressed.
    """
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_TYPES}.manifest.v1+json",
        "config": config.described("config.v1+json"),
        "layers": [each.described("layer.v1.tar") for each in layers],
    }
    with httpx2.Client(base_url=registry, timeout=_SECONDS, trust_env=False) as client:
        for each in (config, *layers):
            begun = client.post(f"/v2/{repository}/blobs/uploads/").raise_for_status()
            client.put(
                client.base_url.join(begun.headers["Location"]).copy_add_param(
                    "digest", each.digest
                ),
                content=each.pieces(),
                headers={
                    "Content-Length": str(each.length),
                    "Content-Type": "application/octet-stream",
                },
            ).raise_for_status()
        client.put(
            f"/v2/{repository}/manifests/{tag}",
            content=json.dumps(manifest),
            headers={"Content-Type": str(manifest["mediaType"])},
        ).raise_for_status()


def delete(registry: str, repository: str, tag: str) -> None:
    """Delete an image's manifest; its layers go when the registry collects garbage."""
    where = f"/v2/{repository}/manifests/"
    accepted = {"Accept": f"{_TYPES}.manifest.v1+json"}
    with httpx2.Client(base_url=registry, timeout=_SECONDS, trust_env=False) as client:
        found = client.head(where + tag, headers=accepted).raise_for_status()
        client.delete(where + found.headers["Docker-Content-Digest"]).raise_for_status()
