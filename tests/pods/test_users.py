"""A new user's first day, with the administrator's commands and their own kubeconfig."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.command_line import CommandLine
from support.one import One
from support.servers import SMALL, apply_flavor, wait_until

from devctl.api.kinds import USER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed")

DENIED = 5


@pytest.fixture
def administrator(
    kubeconfig: Path, kubectl: Kubectl, tmp_path: Path
) -> Iterator[tuple[CommandLine, str]]:
    """An administrator's shell, and a name that is free; what it named is gone afterwards."""
    name = f"dana-{uuid4().hex[:6]}x"
    yield CommandLine(kubeconfig, "default", tmp_path), name
    for kind, thing in (("devserveruser", name), ("ns", f"dev-{name}"), ("dsflavor", name)):
        kubectl("delete", kind, thing, "--ignore-not-found", "--wait=false")


def test_from_onboarding_to_the_end(
    administrator: tuple[CommandLine, str],
    kubectl: Kubectl,
    torch_image: str,
    tmp_path: Path,
) -> None:
    admin, name = administrator
    flavor = apply_flavor(kubectl, name, resources=SMALL)
    person, claim = f"{name}@company.com", f"{name}-shared-efs"
    onboard = (
        *("admin", "user", "create", person, "--name", name, "--flavor", flavor),
        *("--servers", "1", "--shared", "10Mi", "--wait"),
    )
    began = time.monotonic()
    admin.must(*onboard)
    file = tmp_path / "user.yaml"
    admin.must("admin", "user", "kubeconfig", name, "--file", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    user = replace(admin, kubeconfig=file, namespace=f"dev-{name}")
    small = ("--image", torch_image, "--home-size", "10Mi", "--shared", claim)
    user.must("create", "lab", *small, "--wait")
    took = time.monotonic() - began
    print(f"from `admin user create` to the first server: {took:.1f} s")  # noqa: T201 - a figure
    user.must("exec", "lab", "--", "sh", "-c", "echo kept > /shared/file")
    # The bound is said where it binds, and how much of it is left.
    assert "exceeded quota" in user.fails(DENIED, "create", "second", *small)
    assert re.search(r"servers +1 +0 +1", user.must("quota"))
    assert f"{name} servers 1 0 1" in re.sub(" +", " ", admin.must("admin", "quota"))

    admin.must("admin", "user", "suspend", name)
    # The observer stops the server, and independently the role of users lets none start.
    One(kubectl.api, USER, name).wait("Ready", "False", "Suspended")
    wait_until(lambda: "Stopped" in user.must("list"), "the server is stopped")
    assert f"devctl admin user resume {name}" in user.fails(DENIED, "start", "lab")
    admin.must("admin", "user", "delete", name, "--yes")
    wait_until(lambda: user("list").returncode == DENIED, "access is gone")
    # The same person comes back to the same files.
    admin.must(*onboard)
    user.must("start", "lab", "--wait")
    assert user.must("exec", "lab", "--", "cat", "/shared/file") == "kept\n"
