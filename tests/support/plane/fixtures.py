"""A plane for each process that runs tests: up in seconds, gone with the process."""

from __future__ import annotations

from contextlib import suppress
from subprocess import CalledProcessError
from typing import TYPE_CHECKING

import pytest
from support.fixtures import (  # noqa: F401 - pytest looks for them here
    enforced,
    images,
    job,
    namespace,
    place,
    shared,
    tenants,
    user_programs,
)
from support.plane.gpu_node import plugin_python as make_plugin_python
from support.plane.kueue import KueueOnDemand, KueueProcess
from support.plane.pki import Pki
from support.plane.plane import SYSTEM, Plane
from support.plane.programs import ensure_programs
from support.prometheus_programs import PROGRAMS, find_program
from support.redis_process import ensure_redis
from support.rights import leases
from support.runs import operator_python
from support.scheduling import Scheduling
from support.servers import wait_until
from support.ssh_process import ensure_sshd
from support.web_process import ensure_lighttpd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from support.commands import Kubectl
    from support.plane.parts import ObserverProcess
    from support.sharing import Shared

VERSION = "v1.36.4"
_KUEUE = pytest.StashKey[KueueOnDemand]()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    """Where several processes run tests: which tests go to the same one."""
    return Scheduling(config, log)


@pytest.fixture(scope="session")
def programs(shared: Shared) -> Mapping[str, Path]:  # noqa: F811 - the fixture
    """The folders of the programs that a plane is made of.

    Prometheus, Redis, lighttpd and sshd are brought along: inside of a plane's network nothing can
    be downloaded. Without one, only those tests fail that need it.
    """

    def ensure() -> Mapping[str, Path]:
        with suppress(pytest.fail.Exception):
            for name in PROGRAMS:
                find_program(name)
        for ensure_one in (ensure_redis, ensure_lighttpd, ensure_sshd):
            with suppress(CalledProcessError):
                ensure_one()
        return ensure_programs()

    return shared.alone(ensure)


@pytest.fixture(scope="session")
def python(shared: Shared) -> Path:  # noqa: F811 - the fixture
    """A Python with what the operator's image has."""
    return shared.alone(operator_python)


@pytest.fixture(scope="session")
def plugin_python(shared: Shared) -> Path:  # noqa: F811 - the fixture
    """A Python with what the DRA plugin's image has."""
    return shared.alone(make_plugin_python)


@pytest.fixture(scope="session")
def plane(  # noqa: PLR0913, PLR0917 - pytest's way to have things made
    programs: Mapping[str, Path],
    python: Path,
    plugin_python: Path,  # noqa: ARG001 - no registry can be reached from inside
    user_programs: None,  # noqa: ARG001, F811 - no registry can be reached from inside
    shared: Shared,  # noqa: F811 - the fixture
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Plane]:
    """A control plane, nodes and all of config/ but its pods; operator and observer are away."""
    pki = Pki(shared.folder / "plane")
    shared.once(pki.make, programs["kubernetes"] / "kubeadm", VERSION, name="plane-pki")
    made = Plane(programs, python, pki, tmp_path_factory.mktemp("plane"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def kubeconfig(plane: Plane) -> Path:
    """The administrator's kubeconfig."""
    return plane.kubeconfig


@pytest.fixture(scope="session")
def kubectl(plane: Plane) -> Kubectl:
    """The plane's kubectl, as an administrator."""
    return plane.kubectl


@pytest.fixture(scope="session")
def observed(plane: Plane) -> Plane:
    """The observer runs, and goes on to for the tests that follow."""
    if not plane.observer.is_running:
        plane.observer.start(lambda: plane.observer.identity in leases(plane.kubectl, SYSTEM))
    return plane


@pytest.fixture(scope="session")
def installed(plane: Plane) -> Plane:
    """All that config/ holds is installed."""
    return plane


@pytest.fixture(scope="module")
def deployed(observed: Plane) -> Plane:
    """The operator and the observer run."""
    if not plane_has_operator(observed):
        observed.operator.start()
    return observed


@pytest.fixture(scope="session")
def kueue_on_demand(
    plane: Plane,
    programs: Mapping[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[KueueOnDemand]:
    """Kueue's own program beside the plane, while tests ask for it."""
    made = KueueOnDemand(lambda: KueueProcess(plane, programs, tmp_path_factory.mktemp("kueue")))
    request.session.stash[_KUEUE] = made
    yield made
    made.remove()


@pytest.fixture
def kueue_process(
    deployed: Plane,  # noqa: ARG001 - it comes first
    kueue_on_demand: KueueOnDemand,
) -> KueueProcess:
    """Kueue's own program beside the plane; what a test makes for it, the test removes."""
    return kueue_on_demand.get()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Remove Kueue before a test that does not ask for it: most need a plane without its kinds."""
    if nextitem and "kueue_process" not in getattr(nextitem, "fixturenames", ()):
        found = item.session.stash.get(_KUEUE, None)
        if found:
            found.remove()


@pytest.fixture(scope="module")
def operator_away(observed: Plane) -> Plane:
    """The observer runs and the operator does not, so that nobody else makes children."""
    if plane_has_operator(observed):
        observed.operator.stop()
    return observed


@pytest.fixture
def observer(deployed: Plane) -> Iterator[ObserverProcess]:
    """The observer, whose clocks are right again afterwards."""
    yield deployed.observer
    deployed.observer.set_clocks()
    wait_until(lambda: deployed.observer.is_running, deployed.observer.tail)


def plane_has_operator(plane: Plane) -> bool:
    """Whether the plane's operator runs."""
    return plane.operator.operator.is_running
