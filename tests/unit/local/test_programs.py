from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from devctl.errors import StepError
from devctl.local import checksums, programs
from devctl.local.programs import (
    TOOLS,
    GoToolchain,
    ProgramGroup,
    build_environment,
    build_group,
    default_binary_name,
    link_flags,
    load_groups,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devctl.local.paths import CachePaths

MANIFEST = """
[[build]]
stamp = ["k8s.io/a/version", "k8s.io/b/version"]
variables = { gitVersion = "v1.2.3", gitMajor = "1" }
[build.programs]
etcd = "go.etcd.io/etcd/server/v3"
kubelet = "k8s.io/kubernetes/cmd/kubelet"

[[build]]
cgo = true
tags = ["netgo", "seccomp"]
[build.programs]
alone = "example.org/alone"
"""
# Does what `go build -o FOLDER/ -ldflags FLAGS PACKAGE...` does, as far as we look at it.
FAKE_GO = """#!/bin/sh
echo "$PWD $*" >> "$0.calls"
[ "$1" != -C ] || { echo "$(dirname "$0")/modules/$7"; exit; }
shift; out=$2; shift 4
for package; do
  echo "program of $package" > "$out$(basename "${package%/v[0-9]}")"
done
[ ! -e "$0.fails" ] || { echo "a.go:1: first"; echo "a.go:2: undefined: last" >&2; exit 1; }
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tools"
    (folder / "kube").mkdir(parents=True)
    (folder / "kube" / "go.mod").write_text("module kube\n")
    (folder / "kube" / "go.sum").write_text("sums\n")
    (folder / "kube" / "programs.toml").write_text(MANIFEST)
    monkeypatch.setattr(programs, "TOOLS", folder)
    return folder


@pytest.fixture
def group(tools: Path) -> ProgramGroup:
    return load_groups("go1.26.6", tools)["kube"]


@pytest.fixture
def go(fake_program: Callable[[str, str], Path]) -> GoToolchain:
    return GoToolchain(fake_program("go", FAKE_GO), "go1.26.6")


def calls(go: GoToolchain) -> list[str]:
    with open(f"{go.program}.calls") as file:  # noqa: PTH123 - the program may be a string
        return file.read().splitlines()


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "programs.toml"])
def test_the_digest_changes_with_every_input(tools: Path, group: ProgramGroup, name: str) -> None:
    file = tools / "kube" / name
    file.write_text(f"{file.read_text()}# changed\n")
    assert load_groups("go1.26.6", tools)["kube"].digest != group.digest


def test_the_digest_changes_with_the_go_version_and_nothing_else(
    tools: Path, group: ProgramGroup
) -> None:
    (tools / "kube" / "README").write_text("unrelated")
    assert load_groups("go1.26.6", tools)["kube"].digest == group.digest
    assert load_groups("go1.26.7", tools)["kube"].digest != group.digest


def test_the_digest_changes_with_a_program_of_the_folder_s_own(
    tools: Path, group: ProgramGroup
) -> None:
    main = tools / "kube" / "small" / "main.go"
    main.parent.mkdir()
    main.write_text("package main\n")
    with_one = load_groups("go1.26.6", tools)["kube"].digest
    assert with_one != group.digest
    main.write_text("package main // changed\n")
    assert load_groups("go1.26.6", tools)["kube"].digest != with_one


def test_another_manifest_is_an_optional_group_of_the_same_module_graph(
    tools: Path, group: ProgramGroup, cache: CachePaths, go: GoToolchain
) -> None:
    manifest = tools / "kube" / "extra.toml"
    manifest.write_text('[[build]]\nprograms = { more = "example.org/more" }\n')
    groups = load_groups("go1.26.6", tools)
    assert groups["kube"] == group
    assert not group.optional
    assert groups["extra"].optional
    assert build_group(groups["extra"], go, cache, print).name.startswith("extra-")
    assert calls(go)[0].startswith(f"{tools}/kube build")
    (tools / "kube" / "go.sum").write_text("others\n")
    assert load_groups("go1.26.6", tools)["extra"].digest != groups["extra"].digest


def test_a_folder_of_a_module_comes_with_the_programs(
    tools: Path, cache: CachePaths, go: GoToolchain, tmp_path: Path
) -> None:
    released = tmp_path / "bin" / "modules" / "example.org/more" / "config"
    released.mkdir(parents=True)
    (released / "one.yaml").write_text("kind: One\n")
    (tools / "kube" / "extra.toml").write_text(
        '[[build]]\nprograms = { more = "example.org/more/cmd" }\n'
        '[[copy]]\nmodule = "example.org/more"\nfolder = "config"\n'
    )
    folder = build_group(load_groups("go1.26.6", tools)["extra"], go, cache, print)
    assert (folder / "config" / "one.yaml").read_text() == "kind: One\n"


def test_a_group_lists_the_programs_of_all_its_builds(group: ProgramGroup) -> None:
    assert group.programs == ["etcd", "kubelet", "alone"]


def test_link_flags_stamp_every_variable_into_every_package(group: ProgramGroup) -> None:
    stamped, with_c = group.builds
    assert link_flags(stamped) == (
        "-s -w -X k8s.io/a/version.gitVersion=v1.2.3 -X k8s.io/a/version.gitMajor=1"
        " -X k8s.io/b/version.gitVersion=v1.2.3 -X k8s.io/b/version.gitMajor=1"
    )
    # The node's C libraries may be of another release than the host's.
    assert link_flags(with_c) == "-s -w -extldflags -static"


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("k8s.io/kubernetes/cmd/kubelet", "kubelet"),
        ("go.etcd.io/etcd/server/v3", "server"),
        ("github.com/containerd/containerd/v2/cmd/ctr", "ctr"),
        ("github.com/coredns/coredns", "coredns"),
        ("example.org/v8engine", "v8engine"),
    ],
)
def test_a_version_suffix_is_no_binary_name(package: str, name: str) -> None:
    assert default_binary_name(package) == name


def test_a_build_gives_every_program_its_own_name_and_checksum(
    tools: Path, group: ProgramGroup, go: GoToolchain, cache: CachePaths
) -> None:
    said: list[str] = []
    folder = build_group(group, go, cache, said.append)
    assert folder == group.folder(cache)
    assert {p.name for p in folder.iterdir()} == {*group.programs, checksums.SUMS}
    assert (folder / "etcd").read_text() == "program of go.etcd.io/etcd/server/v3\n"
    checksums.verify(folder)
    first, second = calls(go)
    assert first.startswith(f"{tools / 'kube'} build -o ")
    assert first.endswith(
        "-s -w -X k8s.io/a/version.gitVersion=v1.2.3"
        " -X k8s.io/a/version.gitMajor=1"
        " -X k8s.io/b/version.gitVersion=v1.2.3"
        " -X k8s.io/b/version.gitMajor=1"
        " go.etcd.io/etcd/server/v3 k8s.io/kubernetes/cmd/kubelet"
    )
    assert second.endswith("-ldflags -s -w -extldflags -static example.org/alone")
    assert "log: " in said[0]


def test_a_cached_group_is_not_built_again(
    group: ProgramGroup, go: GoToolchain, cache: CachePaths
) -> None:
    said: list[str] = []
    build_group(group, go, cache, said.append)
    before = calls(go), list(said)
    assert build_group(group, go, cache, said.append) == group.folder(cache)
    assert (calls(go), said) == before


def test_a_failed_build_leaves_nothing_under_the_final_name_and_can_be_repeated(
    group: ProgramGroup, go: GoToolchain, cache: CachePaths, tmp_path: Path
) -> None:
    fails = tmp_path / "bin" / "go.fails"
    fails.touch()
    with pytest.raises(
        StepError, match=r"^cannot compile kube: a.go:2: undefined: last$"
    ) as raised:
        build_group(group, go, cache, lambda _: None)
    assert str(cache.logs / "programs-kube.log") in raised.value.fix
    assert not group.folder(cache).exists()
    fails.unlink()
    folder = build_group(group, go, cache, lambda _: None)
    assert {p.name for p in folder.iterdir()} == {*group.programs, checksums.SUMS}
    assert [p.name for p in cache.programs.iterdir()] == [folder.name]


def test_a_build_keeps_the_callers_registry_and_takes_its_own_caches(
    group: ProgramGroup, cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"GOPROXY": "theirs", "GOFLAGS": "-mod=mod", "GOCACHE": "theirs"}.items():
        monkeypatch.setenv(name, value)
    environment = build_environment(group.builds[0], cache)
    assert environment["GOPROXY"] == "theirs"
    assert "-mod=readonly" in environment["GOFLAGS"].split()
    assert environment["GOTOOLCHAIN"] == "local"
    for name in ("GOCACHE", "GOMODCACHE"):
        assert environment[name].startswith(f"{cache.go_work}/")


def test_only_what_needs_a_c_compiler_gets_one(group: ProgramGroup, cache: CachePaths) -> None:
    plain, with_c = (build_environment(build, cache) for build in group.builds)
    assert (plain["CGO_ENABLED"], with_c["CGO_ENABLED"]) == ("0", "1")
    assert "-tags=" in plain["GOFLAGS"].split()
    assert "-tags=netgo,seccomp" in with_c["GOFLAGS"].split()


@pytest.mark.parametrize(
    "manifest", sorted(TOOLS.glob("*/programs.toml")), ids=lambda p: p.parent.name
)
def test_no_two_programs_of_this_repository_overwrite_each_other(manifest: Path) -> None:
    builds = tomllib.loads(manifest.read_text())["build"]
    names = [name for build in builds for name in build["programs"]]
    assert len(set(names)) == len(names)
    for build in builds:
        binaries = [default_binary_name(package) for package in build["programs"].values()]
        assert len(set(binaries)) == len(binaries)


@pytest.mark.parametrize(
    ("group_name", "variable", "module"),
    [
        ("kubernetes", "gitVersion", "k8s.io/kubernetes"),
        ("containerd", "Version", "github.com/containerd/containerd/v2"),
        ("ansible-operator", "Version", "github.com/operator-framework/ansible-operator-plugins"),
    ],
)
def test_the_stamped_version_is_the_modules(group_name: str, variable: str, module: str) -> None:
    stamps = load_groups("any")[group_name].builds[0]["variables"]
    go_mod = (TOOLS / group_name / "go.mod").read_text()
    required = re.search(rf"^\s+(?:require )?{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    assert required is not None
    assert stamps[variable] == required[1]
