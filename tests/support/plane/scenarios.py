"""What a container of a test does, and so its pod's status: on a real node and on the plane.

A test says it with the script or with the image: a server's command is its role's, so there the
image's last name decides (`localhost/acts/crash:1`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

END = "plane.devctl/end"
"""An annotation of a pod: the scenario that a program which waits ends with."""

SUCCEEDS = "echo '{}' > /artifacts/output.json"
FAILS = "echo first; echo it is broken >&2; exit 7"
WAITS = "trap 'exit 143' TERM; until [ -e /artifacts/go ]; do sleep 0.1; done; sleep 0.3; exec true"
"""Runs until somebody makes the file `go`, and lets them get out again; it ends when told to."""
SERVES = "trap 'exit 0' TERM; while :; do sleep 1; done"
CRASHES = "exit 3"
EATS = "tail /dev/zero"
NO_IMAGE = "localhost/devctl/none:1"


@dataclass(frozen=True)
class Scenario:
    """What a pod goes through.

    Attributes:
        name: What it is called, here, in the recording and in an image.
        restarts: Whether its pod's containers are started again, as a server's are.
        script: What its container runs.
        container: Further fields of the container.
        pod: Further fields of the pod's spec.
        ends: Whether the pod is deleted while it runs, and that is what is recorded.
    """

    name: str
    restarts: bool
    script: str
    container: dict[str, Any] | None = None
    pod: dict[str, Any] | None = None
    ends: bool = False


SCENARIOS = (
    Scenario("serve", restarts=True, script=SERVES),
    Scenario("crash", restarts=True, script=CRASHES),
    Scenario("out-of-memory", restarts=True, script=EATS),
    Scenario("no-image", restarts=True, script=SERVES, container={"image": NO_IMAGE}),
    Scenario(
        *("never-pulled", True, SERVES),
        container={"image": NO_IMAGE, "imagePullPolicy": "Never"},
    ),
    Scenario("serve-deleted", restarts=True, script=SERVES, ends=True),
    Scenario("wait", restarts=False, script=WAITS),
    Scenario("succeed", restarts=False, script=f"sleep 1; {SUCCEEDS}"),
    Scenario("fail", restarts=False, script=f"sleep 1; {FAILS}"),
    Scenario("job-out-of-memory", restarts=False, script=f"sleep 1; {EATS}"),
    Scenario("deadline", restarts=False, script=WAITS, pod={"activeDeadlineSeconds": 6}),
    Scenario("wait-deleted", restarts=False, script=WAITS, ends=True),
)

_IMAGES = {  # which of them an image's last name may choose, as no script does
    scenario.name for scenario in SCENARIOS if scenario.restarts and not scenario.ends
}


def choice() -> str:
    """A jq expression: the name of the scenario that a pod goes through."""
    container = ".spec.containers[0]"
    image, script = f'({container}.image // "")', f'({container}.command // [""])[-1]'
    pulled = f'{container}.imagePullPolicy == "Never"'
    missing = f'({image} | test("(^|/)(none|such):"))'
    never = '.spec.restartPolicy == "Never"'
    branches = [
        (f"{missing} and {pulled}", "never-pulled"),
        (missing, "no-image"),
        *((f'{image} | test("/{name}:")', name) for name in sorted(_IMAGES)),
        (f'.metadata.annotations["{END}"] != null', None),
        *(
            (f"({script} == {json.dumps(text)}) and ({never})", name)
            for text, name in ((SUCCEEDS, "succeed"), (FAILS, "fail"), (EATS, "job-out-of-memory"))
        ),
        (f"{script} == {json.dumps(CRASHES)}", "crash"),
        (f"{script} == {json.dumps(EATS)}", "out-of-memory"),
        (never, "wait"),
    ]
    chosen = [
        f"if {condition} then "
        + (json.dumps(name) if name else f'.metadata.annotations["{END}"]')
        + " else "
        for condition, name in branches
    ]
    return "".join(chosen) + '"serve"' + " end" * len(chosen)
