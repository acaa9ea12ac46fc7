"""Kinds that `make new-kind` has made, installed as they are: in namespaces, and in none."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.audit import asked, denied, granted, used
from support.made_kinds import KINDS, MODULES, project_with_kinds
from support.plane.given import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.plane.plane import Plane

PARTS = ("operator", "observer")


@pytest.fixture
def project(operator_away: Plane, tmp_path: Path) -> Iterator[Path]:
    """This project with the kinds, installed, and its operator and observer."""
    plane, kubectl = operator_away, operator_away.kubectl
    made = project_with_kinds(tmp_path / "project-with-kinds")
    plane.observer.stop()
    plane.install(made)
    crds = [f"crd/{kind.lower()}s.{group}" for kind, (group, _) in KINDS.items()]
    kubectl("wait", "--for=condition=Established", *crds)
    programs = plane.release(made)
    for program in reversed(programs):
        program.start()
    yield made
    for program in programs:
        program.stop()
    kubectl("delete", *crds)
    for kind in ("clusterrolebinding", "clusterrole"):
        kubectl("delete", kind, *(name for name in roles(plane, kind)))
    plane.install()
    plane.observer.start()


def roles(plane: Plane, kind: str) -> dict[str, dict[str, Any]]:
    """The ClusterRoles of the kinds, or the bindings, by name."""
    ends = tuple(f"-{name.lower()}" for name in KINDS)
    found = {thing["metadata"]["name"]: thing for thing in plane.kubectl.api.list(kind)}
    return {name: thing for name, thing in found.items() if name.endswith(ends)}


def test_they_do_what_their_tests_say_and_need_every_right(
    operator_away: Plane, project: Path
) -> None:
    kubectl, before = operator_away.kubectl, {p: len(asked(operator_away, p)) for p in PARTS}
    path = map(str, (project / "images/observer", project, project / "tests"))
    given = {"PYTHONPATH": ":".join(path), PROGRAM: str(kubectl.program)}
    given |= {"KUBECONFIG": str(operator_away.kubeconfig)}
    tests = [f"tests/plane/test_{module}.py" for module in MODULES]
    options = ["-q", "--noconftest", "-p", "support.plane.given"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=project,
        env=os.environ | given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    for part in PARTS:
        events = asked(operator_away, part)
        assert not denied(events[before[part] :])
        for name, role in roles(operator_away, "clusterrole").items():
            if part in name:
                assert not granted(role) - used(events), name
