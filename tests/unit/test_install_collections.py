"""The script that takes Ansible collections out of the `ansible` package."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT = Path(__file__).parents[2] / "scripts/install_collections.py"


def load_script() -> Any:
    """It belongs to no package: it also runs where devctl is not installed."""
    spec = importlib.util.spec_from_file_location("install_collections", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


install_collections = load_script()


def content(version: str) -> dict[str, str]:
    manifest = json.dumps({"collection_info": {"version": version}})
    return {
        "ansible_collections/kubernetes/core/MANIFEST.json": manifest,
        "ansible_collections/kubernetes/core/plugins/modules/k8s.py": "# module",
        "ansible_collections/kubernetes/corex/MANIFEST.json": manifest,
        "ansible_collections/other/thing/MANIFEST.json": manifest,
        "ansible-1.0.dist-info/METADATA": "Name: ansible",
    }


def wheel(path: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def pins(folder: Path, version: str = "6.2.0", name: str = "kubernetes.core") -> Path:
    path = folder / "requirements.yml"
    path.write_text(f"---\ncollections:\n  - name: {name}\n    version: {version}\n")
    return path


def installed(target: Path) -> set[str]:
    return {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()}


def test_installs_the_pinned_collection_and_nothing_else(tmp_path: Path) -> None:
    archive = wheel(tmp_path / "a.whl", content("6.2.0"))
    target = tmp_path / "target"

    assert install_collections.main([str(archive), str(pins(tmp_path)), str(target)]) == 0

    assert installed(target) == {
        "ansible_collections/kubernetes/core/MANIFEST.json",
        "ansible_collections/kubernetes/core/plugins/modules/k8s.py",
    }


def test_replaces_what_was_installed_before(tmp_path: Path) -> None:
    target = tmp_path / "target"
    old = target / "ansible_collections/kubernetes/core/plugins/removed.py"
    old.parent.mkdir(parents=True)
    old.write_text("")

    install_collections.install(wheel(tmp_path / "a.whl", content("6.2.0")), pins(tmp_path), target)

    assert not old.exists()


@pytest.mark.parametrize(
    ("carried", "pin", "name", "message"),
    [
        (
            "6.1.0",
            "6.2.0",
            "kubernetes.core",
            "carries `kubernetes.core` 6.1.0, not 6.2.0 as pinned",
        ),
        ("6.2.0", "'>=6'", "kubernetes.core", "carries `kubernetes.core` 6.2.0, not >=6 as pinned"),
        ("6.2.0", "1.0.0", "no.such", "does not carry `no.such`"),
        ("6.2.0", "1.0.0", "../evil", "`../evil` is not the name of a collection"),
    ],
)
def test_installs_nothing_where_the_pin_does_not_hold(  # noqa: PLR0913, PLR0917 - one per word of the message
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    carried: str,
    pin: str,
    name: str,
    message: str,
) -> None:
    archive = wheel(tmp_path / "a.whl", content(carried))
    target = tmp_path / "target"

    code = install_collections.main([str(archive), str(pins(tmp_path, pin, name)), str(target)])

    assert code == 1
    assert message in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("collections: {", "is not a list of collections"),
        ("roles: []", "is not a list of collections"),
        ("collections:\n  - kubernetes.core", "is not a list of collections"),
    ],
)
def test_names_a_requirements_file_of_another_shape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    requirements = tmp_path / "requirements.yml"
    requirements.write_text(text)
    archive = wheel(tmp_path / "a.whl", content("6.2.0"))

    assert install_collections.main([str(archive), str(requirements), str(tmp_path / "t")]) == 1
    assert message in capsys.readouterr().err


def test_says_which_file_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "a.whl"
    broken.write_bytes(b"PK no archive")
    missing = tmp_path / "missing.yml"

    assert install_collections.main([str(broken), str(pins(tmp_path)), str(tmp_path / "t")]) == 1
    assert install_collections.main([str(broken), str(missing), str(tmp_path / "t")]) == 1

    first, second = capsys.readouterr().err.splitlines()
    assert f"`{broken}` is not a readable wheel" in first
    assert f"`{missing}` cannot be read" in second


def test_refuses_a_path_that_leads_outside(tmp_path: Path) -> None:
    files = content("6.2.0") | {"ansible_collections/kubernetes/core/../../../evil.py": ""}
    archive = wheel(tmp_path / "a.whl", files)

    with pytest.raises(install_collections.CollectionError, match="unsafe path"):
        install_collections.install(archive, pins(tmp_path), tmp_path / "target")


def test_the_repository_pins_every_collection_exactly() -> None:
    repository = SCRIPT.parents[1]

    assert install_collections.read_pins(repository / "requirements.yml")
