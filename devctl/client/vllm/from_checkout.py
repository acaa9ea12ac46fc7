"""What a run has of the checkout that somebody is in.

Its image is that of the merge base with the main branch. Everything since then travels in a
capsule, on top of a commit that nodes have in a mirror; or it stays here, and is counted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from devctl.client.checkout.capsule import Capsule, pack
from devctl.client.checkout.changes import collect
from devctl.client.checkout.detect import detect, no_base
from devctl.client.checkout.repository import Repository
from devctl.client.checkout.summary import Summary
from devctl.client.checkout.vllm import image_of, is_vllm
from devctl.client.vllm.mirrors import built_on
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from devctl.client.checkout.changes import Changes
    from devctl.client.checkout.detect import Checkout
    from devctl.client.vllm.items import Item

PACKAGE = "vllm"
"""The package of vLLM's checkouts whose built parts the image has."""


@dataclass(frozen=True)
class FromCheckout:
    """A checkout in which a run is started."""

    checkout: Checkout
    changes: Changes | None
    """Since its base; None if no remote has any of its commits."""
    commits: int
    """Those that the image's commit lacks."""
    repo: str = ""
    """The repository of the CachePlan that it builds on; empty if it stays here."""

    @property
    def image(self) -> str:
        """The image of its merge base.

        Raises:
            UsageError: It has none.
        """
        if not self.checkout.is_vllm and not self.checkout.image:
            raise UsageError(
                "no image is known for a checkout that is not of vLLM",
                "name one with --image or --image-name",
            )
        if not self.checkout.image:
            raise UsageError(
                "no image fits this checkout: it has no merge base with a main branch",
                "fetch its project's main branch with `git fetch`, or name an image with --image",
            )
        return self.checkout.image

    @property
    def lost(self) -> str:
        """What an image of the merge base lacks, in words; empty if that is nothing."""
        parts = []
        if self.commits:
            parts.append("1 commit" if self.commits == 1 else f"{self.commits} commits")
        if self.counted:
            parts.append(f"changed files ({self.counted})")
        return " and ".join(parts)

    @property
    def counted(self) -> str:
        """How many files have changed since the base, in words; empty if none has."""
        counts = self.changes.counts if self.changes else {}
        return ", ".join(f"{count} {sort}" for sort, count in counts.items() if count)

    def summary(self, image: str = "") -> str:
        """The facts of the checkout, line by line; with another image if one was chosen."""
        # The checkout itself stays as it is: a capsule tells of it.
        it = replace(self.checkout, image=image) if image else self.checkout
        return str(Summary(it, self.changes))

    def pack(self, folder: Path) -> Capsule | None:
        """Write the capsule of its changes into a folder; None if there are none.

        Raises:
            UsageError: Some look like secrets.
            DevctlError: Something has changed since the changes were found.
        """
        return pack(self.changes, folder) if self.changes and self.changes.all else None

    def spec(self, capsule: Mapping[str, str] | None) -> dict[str, Any]:
        """The field `checkout` of a run with the capsule that is stored somewhere, if any."""
        return {
            "commit": self.checkout.base,
            **({"capsule": dict(capsule)} if capsule else {}),
            **({"package": PACKAGE} if self.checkout.is_vllm else {}),
        }


def find_checkout(folder: Path, *, of_any: bool = False) -> Checkout | None:
    """The checkout of vLLM that a folder is in; None if it is in none.

    With `of_any`, it is that of any project, and there has to be one.

    Raises:
        UsageError: It cannot be read as it is.
        HostError: There is no git.
    """
    # By its files, so that one that git refuses to read is not taken for none.
    around = (folder, *folder.parents)
    root = next((each for each in around if os.path.lexists(each / ".git")), None)
    if not of_any and (root is None or not is_vllm(root)):
        return None
    return detect(folder)


def with_images(checkout: Checkout, pattern: str) -> Checkout:
    """A checkout with the image of a pattern; as it is if that is empty or there is no merge base.

    Raises:
        UsageError: It is no pattern of images.
    """
    if not pattern or not checkout.merge_base:
        return checkout
    return replace(checkout, image=image_of(checkout.merge_base, pattern))


def stays(checkout: Checkout) -> FromCheckout:
    """A checkout of which nothing is sent, so nothing is refused: what there is gets counted."""
    changes = collect(checkout, secrets=True, large=True) if checkout.base else None
    return FromCheckout(checkout, changes, _commits(checkout))


def travels(
    checkout: Checkout,
    items: Iterable[Item],
    repo: str = "",
    *,
    secrets: bool = False,
    large: bool = False,
) -> FromCheckout:
    """A checkout that travels, with its changes since a commit of a mirror.

    Args:
        checkout: Which one.
        items: Those of the CachePlan.
        repo: The name of the repository to build on, if one was chosen.
        secrets: Send what looks like a secret, too.
        large: Send files over 1 GiB, too.

    Raises:
        UsageError: The plan has no repository of it, or no capsule can carry its changes.
        DevctlError: A file cannot be read, or changes meanwhile.
    """
    if not checkout.base:
        raise no_base(checkout)
    built = built_on(checkout, items, repo)
    changes = collect(built.checkout, secrets=secrets, large=large)
    return FromCheckout(built.checkout, changes, _commits(built.checkout), built.repo)


def _commits(checkout: Checkout) -> int:
    since = f"{checkout.merge_base}..{checkout.commit}"
    found = Repository(checkout.root).text("rev-list", "--count", since)
    return int(found) if checkout.merge_base and found else 0
