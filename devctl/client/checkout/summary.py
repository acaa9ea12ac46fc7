"""What people see of a checkout before it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.client.files.transfer import amount
from devctl.text import readable

if TYPE_CHECKING:
    from devctl.client.checkout.capsule import Capsule
    from devctl.client.checkout.changes import Changes
    from devctl.client.checkout.detect import Checkout

_SHORT = 12


@dataclass(frozen=True)
class Summary:
    """The facts of a checkout and, if they were found, of its changes and their capsule."""

    checkout: Checkout
    changes: Changes | None = None
    capsule: Capsule | None = None

    def __str__(self) -> str:
        """A heading, and a line for each fact."""
        kind = "vLLM checkout" if self.checkout.is_vllm else "git checkout"
        return "\n".join(
            [f"{kind}:", *(f"  {name + ':':<15}{value}" for name, value in self.facts)]
        )

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and values, all of them printable; what a checkout does not have is said so."""
        it = self.checkout
        main = f" with {it.main}" if it.main else ""
        facts = [
            ("Directory", str(it.root)),
            ("Remote", it.remote or "none"),
            ("Branch", it.branch or "none (detached HEAD)"),
            ("Commit", it.commit[:_SHORT] + _unpushed(it)),
            ("Merge base", it.merge_base[:_SHORT] + main if it.merge_base else f"none{main}"),
            ("Image", it.image or "none"),
        ]
        if self.changes:
            facts.append(("Local changes", _counted(self.changes)))
        if self.capsule:
            facts.append(("Capsule", f"{self.capsule.name}, {amount(self.capsule.size)}"))
        return [(name, readable(value)) for name, value in facts]


def _unpushed(checkout: Checkout) -> str:
    if checkout.base == checkout.commit:
        return ""
    if not checkout.base:
        return ", which no remote has"
    commits = "1 commit" if checkout.unpushed == 1 else f"{checkout.unpushed} commits"
    travel = "travels" if checkout.unpushed == 1 else "travel"
    return f"; {commits} since {checkout.base[:_SHORT]} {travel} as changes"


def _counted(changes: Changes) -> str:
    told = [f"{count} {sort}" for sort, count in changes.counts.items() if count]
    if changes.untracked:
        # Those that were added are counted last.
        told[-1] += f" ({changes.untracked} untracked)"
    if absent := changes.differences.absent:
        told.append(f"{absent} not checked out here, and as committed there")
    return ", ".join(told) or "none"
