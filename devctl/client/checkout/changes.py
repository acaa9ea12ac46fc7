"""What a capsule carries: all that differs here from the base commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.client.checkout.detect import no_base
from devctl.client.checkout.differences import differences, stamped
from devctl.client.checkout.disk import Disk
from devctl.client.checkout.listing import changed_meanwhile, listing
from devctl.client.checkout.repository import Repository
from devctl.client.checkout.submodules import check_submodules
from devctl.client.files.ignore import OWN_RULES
from devctl.client.files.local import LARGE
from devctl.client.files.names import named
from devctl.client.files.secrets import MOST, secret_content, secret_name
from devctl.client.files.transfer import amount
from devctl.errors import UsageError

if TYPE_CHECKING:
    from devctl.client.checkout.detect import Checkout
    from devctl.client.checkout.differences import Change, Differences


@dataclass(frozen=True)
class Changes:
    """The changes of a checkout since its base, and those of them that look like secrets."""

    checkout: Checkout
    differences: Differences
    secrets: list[str]
    """Paths; nothing is packed while there are any."""

    @property
    def all(self) -> list[Change]:
        """In the order of their paths."""
        return self.differences.changes

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each sort."""
        changed, gone = self.all, [each for each in self.all if each.kind == "deleted"]
        return {
            "modified": sum(each.base is not None for each in changed) - len(gone),
            "deleted": len(gone),
            "added": sum(each.base is None for each in changed),
        }

    @property
    def untracked(self) -> int:
        """How many of those that were added git does not know: the same capsule if it does."""
        return sum(each.untracked and each.base is None for each in self.all)

    def check(self) -> None:
        """Raise DevctlError if anything in the checkout has changed since it was read."""
        root, found = self.checkout.root, self.differences
        commit = Repository(root).text("rev-parse", "--verify", "--quiet", "HEAD")
        names = found.listing.names
        different = set(listing(root, self.checkout.base).names) ^ set(names)
        now = stamped(root, list(found.stamps))
        different |= {name for name, stamp in found.stamps.items() if now[name] != stamp}
        if different or commit != self.checkout.commit:
            raise changed_meanwhile(sorted(different))


def collect(checkout: Checkout, *, secrets: bool = False, large: bool = False) -> Changes:
    """Find the changes of a checkout; `secrets` and `large` allow what is refused otherwise.

    Raises:
        UsageError: There is no commit to build on, or something that no capsule can carry.
        DevctlError: A file cannot be read, or changes meanwhile.
    """
    if not checkout.base:
        raise no_base(checkout)
    found = differences(checkout.root, checkout.base)
    check_submodules(checkout.root, found.listing)
    for change in found.changes:
        if change.size > LARGE and not large:
            raise UsageError(
                f"nothing was sent: {named([change.path])} has {amount(change.size)}",
                f"send it all the same with --large, or list it in `{OWN_RULES}`",
            )
    with Disk(checkout.root) as disk:
        kept = [each.path for each in found.changes if not secrets and _is_secret(disk, each)]
    return Changes(checkout, found, kept)


def _is_secret(disk: Disk, change: Change) -> bool:
    # A link is a name only, and reveals nothing.
    if change.kind != "file":
        return False
    if secret_name(change.path):
        return True
    return change.size <= MOST and secret_content(disk.head(change.path, MOST))
