"""Runs tiers of the tests.

usage: python -m support.tiers [--deep] [TIER...]
       python -m support.tiers one TEST...
       python -m support.tiers begin

Programs and images are built and the cluster of real nodes comes up while tiers that need none of
it run. It is removed in the end unless DEVCTL_E2E_KEEP is set.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from support.tiers import choose, deep
from support.tiers.changes import changed_files, changed_tests
from support.tiers.landed import begin, landed, later
from support.tiers.one import one
from support.tiers.proven import Inputs
from support.tiers.reach import reach_of
from support.tiers.record import Record
from support.tiers.repeat import Repeats
from support.tiers.run import Run
from support.tiers.tier import load

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.tiers.landed import Landed


def known(last: Landed, reach: Mapping[str, frozenset[str]], inputs: Inputs) -> choose.Known:
    """What can be found out about this checkout and this machine."""
    record = Record()
    return choose.Known(
        today=datetime.now(UTC).date(),
        changed=changed_files(last.commit),
        reach=reach,
        green=later(last.green, record.green),
        failed=record.failed,
        proven=record.proven(inputs.before),
    )


def run(names: list[str], *, everything: bool) -> int:
    """Run some tiers, or all."""
    tiers = load()
    unknown = [name for name in names if name not in tiers]
    if unknown:
        sys.exit(f"there is no tier `{unknown[0]}`: {', '.join(tiers)}")
    chosen = [tiers[name] for name in names or tiers]
    if not everything:
        chosen = [tier for tier in chosen if tier.runs]
    plan, last = deep.load(), landed()
    reach = reach_of(plan)
    inputs = Inputs(plan, reach)
    facts = known(last, reach, inputs)
    if everything:
        os.environ["DEVCTL_TESTS_RANDOM"] = "1"
        choices = choose.run_all(plan, facts, "everything runs")
    else:
        choices = choose.choose(plan, facts)
    own = {tier.name for tier in chosen}
    return Run(
        chosen,
        [choice for choice in choices if choice.module.tier in own],
        Repeats({} if everything else changed_tests(last.commit, facts.changed or ())),
        inputs,
        deep=everything,
        keep=bool(os.environ.get("DEVCTL_E2E_KEEP")),
    ).do()


def main() -> int:
    """The command line."""
    words = sys.argv[1:]
    os.environ["PYTHONPATH"] = str(REPOSITORY / "tests")
    if words[:1] == ["one"]:
        return one(words[1:])
    if words == ["begin"]:
        now = begin(Record().green)
        print(f"tests/landed.toml: {now.commit}, {len(now.green)} deep modules")  # noqa: T201
        return 0
    return run([word for word in words if word != "--deep"], everything="--deep" in words)


if __name__ == "__main__":
    sys.exit(main())
