"""Images are built alone, and pushed under names that say what they are made of."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.errors import StepError, UsageError
from devctl.local import archives, build, push
from devctl.local.images import Image

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from devctl.local.paths import CachePaths

BASE = Image("base", Path("base"), version="trixie", digest="1")
PLUGIN = Image("dra-plugin", Path("dra-plugin"), base="base", digest="0123")
NODE = Image("node", Path("node"), pods=False, digest="2")
KNOWN = {image.name: image for image in (BASE, PLUGIN, NODE)}
FAKE_BUILDAH = """#!/bin/sh
echo "$*" >> "$0.calls"
case "$*" in
  *" pull "*) echo 4d5e6f ;;
  *) [ ! -e "$0.fails" ] || { echo "unauthorized" >&2; exit 1; } ;;
esac
"""


@pytest.fixture
def buildah(fake_program: Callable[[str, str], Path], cache: CachePaths) -> Path:
    cache.logs.mkdir(parents=True, exist_ok=True)
    return fake_program("buildah", FAKE_BUILDAH)


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The images that were asked for; none is really built."""
    names: list[str] = []

    def ensure(_cache: object, _say: object, some: Sequence[str]) -> Mapping[str, Image]:
        names.extend(some)
        return build.with_bases(some, KNOWN)

    monkeypatch.setattr(build, "describe", lambda _: ({}, KNOWN))
    monkeypatch.setattr(build, "ensure_images", ensure)
    return names


def test_examples() -> None:
    assert doctest.testmod(push).failed == 0


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("", "no registry is named"),
        ("https://registry.example.com", "no scheme"),
        ("registry.example.com/team:1", "no tag"),
        ("registry.example.com/team; rm -rf /", "is no registry"),
        ("--help", "is no registry"),
    ],
)
def test_without_a_registry_nothing_is_pushed(named: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        push.registry_of({"REGISTRY": named})
    assert "make push REGISTRY=registry.example.com/team" in error.value.fix


def test_certificates_are_checked_unless_somebody_says_otherwise() -> None:
    found = [push.tls_of(said) for said in ({}, {"TLS_VERIFY": ""}, {"TLS_VERIFY": "false"})]
    assert found == [True, True, False]
    with pytest.raises(UsageError, match="TLS_VERIFY is `no`"):
        push.tls_of({"TLS_VERIFY": "no"})


def test_an_image_is_pushed_from_its_archive(buildah: Path, cache: CachePaths) -> None:
    target = push.destination(PLUGIN, "registry.example.com/team")
    push.push(PLUGIN, target, cache, tls=False)
    pull, pushed = Path(f"{buildah}.calls").read_text().splitlines()
    assert pull.endswith(f"pull --quiet docker-archive:{PLUGIN.archive(cache)}")
    assert pushed.endswith(
        "push --tls-verify=false 4d5e6f docker://registry.example.com/team/dra-plugin:0123"
    )
    assert push.destination(BASE, "localhost:5000") == "localhost:5000/base:trixie"


def test_what_a_registry_refuses_is_in_a_log(buildah: Path, cache: CachePaths) -> None:
    Path(f"{buildah}.fails").touch()
    with pytest.raises(StepError, match="push image `dra-plugin` to r/dra-plugin") as error:
        push.push(PLUGIN, "r/dra-plugin:0123", cache, tls=True)
    assert "push-dra-plugin.log" in error.value.fix
    assert "unauthorized" in (cache.logs / "push-dra-plugin.log").read_text()


def test_only_what_is_named_is_returned(wanted: list[str], cache: CachePaths) -> None:
    assert list(archives.built(cache, ["dra-plugin"])) == ["dra-plugin"]
    assert wanted == ["dra-plugin"]
    for name in ("unknown", "node"):
        with pytest.raises(UsageError, match=f"there is no image `{name}`") as error:
            archives.built(cache, [name])
        assert error.value.fix == "name one of `base`, `dra-plugin`"


@pytest.mark.usefixtures("wanted", "buildah")
def test_what_is_printed_says_where_images_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cache: CachePaths
) -> None:
    for module in (archives, push):
        monkeypatch.setattr(module, "cache_paths", lambda: cache)
    archives.main(["dra-plugin"])
    assert capsys.readouterr().out == f"{PLUGIN.reference} {PLUGIN.archive(cache)}\n"
    monkeypatch.delenv("REGISTRY", raising=False)
    with pytest.raises(SystemExit) as ended:
        push.main(["dra-plugin"])
    assert ended.value.code == UsageError("").exit_code
    assert "error: no registry is named" in capsys.readouterr().err
    monkeypatch.setenv("REGISTRY", "registry.example.com")
    push.main(["dra-plugin"])
    assert capsys.readouterr().out == "dra-plugin registry.example.com/dra-plugin:0123\n"
