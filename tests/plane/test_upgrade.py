"""From the last landing to this checkout, and back: nothing restarts, and nothing gets stuck."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from support.gpu_worker_jobs import registered
from support.kueue import kueue_kinds
from support.lives import HOUR, Scene, lives, together
from support.lives.gpu_worker_jobs import MEMORY
from support.lives.vllm_runs import GPUS
from support.plane.release import at_work, check_out, installed
from support.servers import wait_until
from support.tenants import Tenants, server
from support.tiers.landed import landed
from support.upgrade_picture import Picture, differences, kinds_of, remove, roles_of, take
from support.vllm_runs import offered

from devctl.api.devserver_user import namespace_of
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.parts import ObserverProcess, OperatorProcess
    from support.plane.plane import Plane

    from devctl.local.images import Image

    Programs = tuple[OperatorProcess, ObserverProcess]


@pytest.fixture
def scene(
    deployed: Plane,  # noqa: ARG001 - it removes what the test leaves
    kubectl: Kubectl,
    namespace: str,
    images: dict[str, Image],
) -> Iterator[Scene]:
    """GPUs of every sort and kinds of queues; everything that lives there goes in the end."""
    made = Scene(kubectl, namespace, images["base"].reference)
    with offered(made.api, GPUS), registered(made.api, MEMORY), kueue_kinds(kubectl, "workloads"):
        yield made
        remove(made)


@pytest.fixture
def earlier(scene: Scene, deployed: Plane, tmp_path: Path) -> Iterator[Path]:
    """The files of the last landing, which is installed."""
    assert scene
    checkout = check_out(landed().commit, tmp_path / f"landed-{tmp_path.name}")
    with installed(deployed, checkout):
        yield checkout
        deployed.observer.set_clocks()


def can_work(scene: Scene, name: str) -> None:
    """A user sees what they have, and may create more."""
    space = namespace_of(scene.users[name])
    scene.api.acting(name).list("devserver", space)
    more = server("more", owner=name, flavor=scene.flavor)
    Tenants(scene.kubectl, space).create(name, more)


@contextmanager
def taken_over(scene: Scene, programs: Programs, checkout: Path, was: Picture) -> Iterator[None]:
    """A release's programs have handled all that there is, and left it as it was."""
    roles = roles_of(checkout)
    runs = {roles[kind]: count for kind, count in was.kinds.items() if kind in roles}
    with at_work(*programs, runs):
        objects = sum(runs.values())
        wait_until(lambda: count(programs[1], "looks_total") >= objects, "its observer has looked")
        wait_until(lambda: is_at_rest(programs), "all are handled")
        changes: list[str] = []

        def unchanged() -> bool:
            changes[:] = differences(was, take(scene, REPOSITORY))
            return not changes

        wait_until(unchanged, lambda: "all is as it was:\n" + "\n".join(changes), 20)
        yield


def is_at_rest(programs: Programs) -> bool:
    """Whether no object waits for the operator or the observer."""
    operator, observer = programs
    runs = operator.runs()
    return not (runs["queue"] or runs["running"] or count(observer, "queue"))


def count(observer: ObserverProcess, figure: str) -> float:
    """A figure of an observer, of all kinds together."""
    figures = observer.figures().items()
    return sum(value for name, value in figures if name.startswith(f"{figure}{{"))


def settled(scene: Scene, programs: Programs, checkout: Path) -> Picture:
    """A picture of a scene once nothing changes any more."""
    pictures = [Picture(), take(scene, checkout)]

    def is_settled() -> bool:
        pictures.append(take(scene, checkout))
        return is_at_rest(programs) and pictures[-1] == pictures[-2]

    wait_until(is_settled, lambda: "\n".join(differences(*pictures[-2:])))
    return pictures[-1]


def test_all_kinds_of_objects_live_on_from_the_last_landing_and_back(
    scene: Scene, earlier: Path, deployed: Plane
) -> None:
    known = {kind.name for kind in kinds_of(earlier)}
    every = lives(scene)
    old = [life for life in every if {kind.name for kind in life.kinds} <= known]
    new = [life for life in every if life not in old]
    ann, bob = scene.users
    first = deployed.release(earlier)
    with at_work(*first):
        together(life.begin for life in old)
        can_work(scene, ann)
        before = settled(scene, first, earlier)

    deployed.install()
    own = deployed.operator, deployed.observer
    with taken_over(scene, own, REPOSITORY, before):
        can_work(scene, ann)
        together(life.begin for life in new)
        together(life.go_on for life in every)
        deployed.observer.set_clocks(own=2 * HOUR, server=2 * HOUR)
        together(life.expire for life in every)
        can_work(scene, bob)
        after = settled(scene, own, REPOSITORY)
        assert after.kinds.keys() == {kind.name for kind in kinds_of(REPOSITORY)}

    deployed.install(earlier)
    again = earlier.with_name(f"again-{earlier.name}")
    again.symlink_to(earlier)
    operator, observer = deployed.release(again)
    observer.set_clocks(own=2 * HOUR, server=2 * HOUR)
    with taken_over(scene, (operator, observer), earlier, after):
        can_work(scene, bob)
        together(life.go_back for life in old)
