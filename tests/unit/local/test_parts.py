from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devctl.errors import UsageError
from devctl.local.deploy import EVERYWHERE
from devctl.local.images import load_images
from devctl.local.part_manifests import COMPONENTS
from devctl.local.parts import Part, choose, images_of, load_parts
from devctl.local.programs import load_groups

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = {name: Part(name, name, images=(f"image-of-{name}",)) for name in ("net", "queues", "oidc")}

FILE = """
[first]
summary = "one"
images = ["a", "b"]
ready = ["system/daemonset/a"]
cleanup = "true"

[second]
summary = "two"
"""


def test_parts_are_read_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "parts.toml"
    file.write_text(FILE)
    first = Part("first", "one", ("a", "b"), ("system/daemonset/a",), cleanup="true")
    assert list(load_parts(file).items()) == [("first", first), ("second", Part("second", "two"))]


def test_every_part_has_a_component_and_its_images_are_built_for_it_or_for_all() -> None:
    groups = load_groups("go1.26.6")
    images = load_images(groups)
    for part in load_parts().values():
        assert (COMPONENTS / part.name / "kustomization.yaml").is_file()
        for image in part.images:
            assert not images[image].up or image in EVERYWHERE
            assert all(groups[group].optional for group in images[image].programs)


def test_a_component_for_another_part_is_for_one_that_exists() -> None:
    parts = load_parts()
    found = {folder.name.removeprefix("with-") for folder in COMPONENTS.glob("*/with-*")}
    assert found
    assert found <= parts.keys()


def test_what_a_part_s_registry_leaves_in_nodes_is_removed_with_it() -> None:
    for part in load_parts().values():
        assert not part.registry or f"certs.d/{part.registry}" in part.cleanup


@pytest.mark.parametrize(
    ("stored", "added", "removed", "expected"),
    [
        ([], [], [], ()),
        (["queues"], [], [], ("queues",)),
        ([], ["oidc", "net"], [], ("net", "oidc")),
        (["net"], ["net"], [], ("net",)),
        (["net", "queues"], ["oidc"], ["net"], ("queues", "oidc")),
        (["net"], [], ["queues"], ("net",)),
        (["net", "of-another-checkout"], [], ["of-another-checkout"], ("net",)),
    ],
)
def test_chosen_parts_are_added_to_those_that_are_kept(
    stored: list[str], added: list[str], removed: list[str], expected: tuple[str, ...]
) -> None:
    assert choose(stored, iter(added), iter(removed), KNOWN) == expected


@pytest.mark.parametrize(
    ("stored", "added", "removed", "message", "fix"),
    [
        ([], ["nat"], [], "there is no part `nat`", "there is `net`, `queues` and `oidc`"),
        ([], [""], [], "there is no part ``", "there is `net`, `queues` and `oidc`"),
        ([], [], ["nat"], "there is no part `nat`", "there is `net`, `queues` and `oidc`"),
        (["old"], [], [], "this checkout has no part `old`", "remove it with `--without old`"),
        ([], ["net"], ["net"], "part `net` is both added and removed", "either `--with`"),
    ],
)
def test_a_part_that_does_not_exist_is_refused(
    stored: list[str], added: list[str], removed: list[str], message: str, fix: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        choose(stored, added, removed, KNOWN)
    assert fix in caught.value.fix


def test_a_part_without_one_that_it_needs_is_refused() -> None:
    known = KNOWN | {"users": Part("users", "users", needs=("oidc",))}
    assert choose([], ["users", "oidc"], [], known) == ("oidc", "users")
    with pytest.raises(UsageError, match="part `users` needs part `oidc`") as caught:
        choose([], ["users"], [], known)
    assert caught.value.fix == "give `--with oidc,users`, or `--without users`"
    with pytest.raises(UsageError, match="part `users` needs part `oidc`"):
        choose(["oidc", "users"], [], ["oidc"], known)


def test_parts_need_ones_that_are_installed_before_them() -> None:
    seen: list[str] = []
    for part in load_parts().values():
        assert {*part.needs} <= {*seen}
        seen.append(part.name)


def test_images_are_those_of_the_chosen_parts() -> None:
    assert images_of([KNOWN["oidc"], KNOWN["net"]]) == ["image-of-oidc", "image-of-net"]
