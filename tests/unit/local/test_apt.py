from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.errors import HostError, StepError
from devctl.local import apt
from devctl.local.apt import HOST_PROGRAMS, Source, host_sources, install_missing

if TYPE_CHECKING:
    from collections.abc import Callable

MAIN = Source("http://mirror.example/debian/", "bookworm", "main")
SECURITY = Source("http://mirror.example/debian-security/", "bookworm-security", "main")
# Does what apt-get does: it fills in the fields of each source it knows, leaves the others' names,
# and knows no source whose lists were never fetched. A failed update is a warning and exit code 0.
FAKE_APT = f"""#!{sys.executable}
import pathlib, re, sys
state = pathlib.Path(sys.argv[0])
arguments = " ".join(sys.argv[1:])
with open(f"{{state}}.calls", "a") as calls:
    print(arguments, file=calls)
unreachable = pathlib.Path(f"{{state}}.unreachable").exists()
if "indextargets" in sys.argv:
    fetched = pathlib.Path(f"{{state}}.fetched").exists()
    if not fetched and "--no-release-info" not in sys.argv:
        sys.exit()
    format = sys.argv[sys.argv.index("--format") + 1]
    for line in pathlib.Path(f"{{state}}.sources").read_text().splitlines():
        fields = dict(zip(("REPO_URI", "RELEASE", "COMPONENT", "ORIGIN"), line.split("|")))
        if not fetched:
            del fields["ORIGIN"]
        print(re.sub(r"\\$\\((\\w+)\\)", lambda m: fields.get(m[1], m[0]), format))
elif "update" in sys.argv and unreachable:
    print("W: Failed to fetch it  Temporary failure resolving 'mirror.example'", file=sys.stderr)
    sys.exit(100 if "Error-Mode=any" in arguments else 0)
elif "update" in sys.argv:
    pathlib.Path(f"{{state}}.fetched").touch()
elif "install" in sys.argv and unreachable:
    print("E: Unable to locate package buildah", file=sys.stderr)
    sys.exit(100)
"""


@pytest.fixture
def apt_get(
    fake_program: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    monkeypatch.setattr(
        platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "bookworm"}
    )

    def make(*sources: str, fetched: bool = True) -> Path:
        program = fake_program("apt-get", FAKE_APT)
        program.with_name("apt-get.sources").write_text("\n".join(sources))
        if fetched:
            program.with_name("apt-get.fetched").touch()
        return program

    return make


def line(source: Source, origin: str = "Debian") -> str:
    return "|".join([*source, origin])


def test_the_hosts_own_sources_are_found(apt_get: Callable[..., Path]) -> None:
    apt_get(line(MAIN), line(SECURITY))
    assert host_sources() == ("bookworm", [MAIN, SECURITY])


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("http://mirror.example/debian/|trixie|main|Debian", id="other-release"),
        pytest.param("http://node.example/|nodistro|main|. nodistro", id="suite-of-its-own"),
        pytest.param("http://docker.example/|bookworm|stable|Docker", id="same-codename"),
        pytest.param("http://pg.example/|bookworm-pgdg|main|pgdg", id="similar-codename"),
        pytest.param("http://cuda.example/x86_64/|", id="flat"),
        pytest.param("http://cuda.example/|./", id="flat-below"),
    ],
)
def test_other_vendors_sources_are_left_out(apt_get: Callable[..., Path], other: str) -> None:
    apt_get(line(MAIN), other, line(SECURITY))
    assert host_sources() == ("bookworm", [MAIN, SECURITY])


def test_a_host_that_never_fetched_its_lists_has_sources_too(
    apt_get: Callable[..., Path],
) -> None:
    apt_get(line(MAIN), line(SECURITY), fetched=False)
    assert host_sources() == ("bookworm", [MAIN, SECURITY])


def test_a_host_without_sources_is_refused(apt_get: Callable[..., Path]) -> None:
    apt_get()
    with pytest.raises(HostError, match="no source for `bookworm`"):
        host_sources()


def test_another_distribution_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    release = {"VERSION_CODENAME": "x", "PRETTY_NAME": "Plan 9"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    with pytest.raises(HostError, match="this is Plan 9, not a Debian with apt"):
        host_sources()


def test_a_root_of_another_release_is_made_from_the_hosts_mirrors(
    apt_get: Callable[..., Path], fake_program: Callable[[str, str], Path], tmp_path: Path
) -> None:
    apt_get(line(MAIN), line(SECURITY))
    program = fake_program("mmdebstrap", '#!/bin/sh\nprintf "%s\\n" "$@" > "$0.arguments"\n')
    apt.make_root(tmp_path / "base.tar", "trixie", ["one", "two"], tmp_path / "log")
    arguments = program.with_name("mmdebstrap.arguments").read_text().splitlines()
    assert "--include=one,two" in arguments
    assert arguments[-4:] == [
        "trixie",
        str(tmp_path / "base.tar"),
        "deb http://mirror.example/debian/ trixie main",
        "deb http://mirror.example/debian-security/ trixie-security main",
    ]


@pytest.fixture
def bare_host(
    apt_get: Callable[..., Path],
    fake_program: Callable[[str, str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A host with nothing but apt-get and iproute2."""
    program = apt_get(line(MAIN))
    fake_program("ip", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return program


@pytest.fixture
def needed(tmp_path: Path) -> dict[str, str]:
    """What is needed, its files at places of the test's own."""
    here = tmp_path / "include"
    return {
        str(here / Path(name).name) if name.startswith("/") else name: package
        for name, package in HOST_PROGRAMS.items()
    }


def test_missing_packages_are_installed_at_once(
    bare_host: Path, needed: dict[str, str], tmp_path: Path
) -> None:
    wanted = ["buildah", "gcc", "libc6-dev", "libseccomp-dev", "mmdebstrap", "util-linux"]
    assert install_missing(tmp_path / "log", needed) == wanted
    update, install = bare_host.with_name("apt-get.calls").read_text().splitlines()
    assert update.startswith("update")
    assert install.startswith("install --yes --no-install-recommends ")
    assert install.split()[-len(wanted) :] == wanted


def test_a_complete_host_is_left_alone(
    bare_host: Path,
    needed: dict[str, str],
    fake_program: Callable[[str, str], Path],
    tmp_path: Path,
) -> None:
    for name in needed:
        if name.startswith("/"):
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).touch()
        else:
            fake_program(name, "#!/bin/sh\n")
    assert install_missing(tmp_path / "log", needed) == []
    assert not bare_host.with_name("apt-get.calls").exists()


def test_a_package_that_cannot_be_fetched_is_a_matter_of_the_network(
    bare_host: Path, tmp_path: Path
) -> None:
    bare_host.with_name("apt-get.unreachable").touch()
    with pytest.raises(StepError, match="no network") as raised:
        install_missing(tmp_path / "log")
    assert "buildah" in raised.value.message
