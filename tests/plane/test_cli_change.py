"""update, restart, edit and apply, where the API server, the role and the observer decide."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import CommandLine
    from support.servers import DevServer
    from support.user_place import UserPlace


@pytest.fixture
def life(place: UserPlace) -> DevServer:
    """A server that is ready."""
    server = place.server(f"life-{uuid4().hex[:6]}")
    place.user.must("create", server.name, *place.options, "--wait")
    return server


def test_a_change_waits_for_a_restart_and_says_so(life: DevServer, place: UserPlace) -> None:
    (pod,) = life.get("pod", f"{life.name}-0")
    changed = place.user("update", life.name, "--image", "torch:2")
    assert changed.stdout.decode() == f"devserver/{life.name} updated\n"
    why, then = changed.stderr.decode().splitlines()
    assert why.startswith("RestartRequired: spec.image has changed since the server started; ")
    assert then == f"next: `devctl restart {life.name}`"
    image = "jsonpath={.spec.image} {.status.phase}"
    assert place.user.must("restart", life.name, "--wait", "-o", image) == "torch:2 Running"
    (after,) = life.get("pod", f"{life.name}-0")
    assert after["metadata"]["uid"] != pod["metadata"]["uid"]
    assert after["spec"]["containers"][0]["image"] == "torch:2"


def test_what_the_schema_forbids_is_refused_in_its_words(life: DevServer, place: UserPlace) -> None:
    said = place.user.fails(2, "update", life.name, "--home-size", "5Mi")
    assert "spec.persistentHomeSize" in said
    assert place.user("update", life.name, "--home-size", "20Mi").returncode == 0


def editing(place: UserPlace, folder: Path, lines: str) -> CommandLine:
    """The user's shell with Python lines as the editor, which have the file's text as `text`."""
    script = folder / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "text = file.read_text()\n"
        f"{lines}\n"
        "file.write_text(text)\n"
    )
    editor = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    return replace(
        place.user, environment=place.user.environment | {"EDITOR": editor, "TMPDIR": str(folder)}
    )


def test_an_edit_of_what_may_not_change_is_kept_with_the_reason(
    life: DevServer, place: UserPlace, tmp_path: Path
) -> None:
    user = editing(place, tmp_path, "text = text.replace('owner: ', 'owner: x')")
    said = user.fails(2, "edit", life.name)
    (file,) = tmp_path.glob("devctl-edit-*")
    assert f"your edit is kept in {file}" in said
    assert "# Refused: " in file.read_text()
    user = editing(place, tmp_path, "text += 'stopped: true\\n'")
    user.must("edit", life.name)
    life.follow(lambda found: found["status"]["phase"] == "Stopped", "it stops")


def test_apply_says_what_it_did_and_whose_a_field_is(place: UserPlace) -> None:
    name = f"file-{uuid4().hex[:6]}"
    manifest: dict[str, Any] = {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServer",
        "metadata": {"name": name},
        "spec": {"flavor": place.name, "image": "torch:1", "stopped": True},
    }

    def apply(*more: str) -> tuple[int, str, str]:
        done = place.user("apply", "-f", "-", *more, stdin=json.dumps(manifest).encode())
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    assert apply("--dry-run=server") == (0, f"devserver/{name} created (server dry run)\n", "")
    assert apply() == (0, f"devserver/{name} created\n", "")
    assert apply() == (0, f"devserver/{name} unchanged\n", "")
    manifest["spec"] |= {"image": "torch:2"}
    assert apply() == (0, f"devserver/{name} configured\n", "")
    # What devctl itself has written by another request is its own.
    place.user.must("update", name, "--image", "torch:3")
    assert apply() == (0, f"devserver/{name} configured\n", "")
    patch = ("patch", "devserver", name, "--type=merge", "-p", '{"spec":{"image":"torch:4"}}')
    place.kubectl("-n", place.name, *patch)
    code, out, said = apply()
    assert (code, out) == (1, "")
    assert f"devserver/{name}: .spec.image is managed by `kubectl-patch`" in said
    assert "--force-conflicts" in said
    assert apply("--force-conflicts") == (0, f"devserver/{name} configured\n", "")
