"""Random clusters of which we know who really has which GPU: nothing is counted twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from devctl.api.vllm_run import DRIVER
from devctl.client.gpu_ledger.balance import Seen, balance
from devctl.client.gpu_ledger.devices import NVIDIA
from unit.client.test_gpu_ledger import OURS, device, device_class, made_for, node, pod
from unit.client.vllm_things import gpu_claim, gpu_slice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unit.client.objects import Thing

PLUGIN = "plugin"
WAYS = (PLUGIN, DRIVER, NVIDIA)


@dataclass
class Machine:
    """A node's real GPUs: by which ways each is offered, and who has taken it by which way."""

    name: str
    offered: list[frozenset[str]]
    taken: list[tuple[str, int, bool]]
    """A way, a GPU and, if it is our driver's, whether a pod has asked for it as a resource."""
    objects: dict[str, list[Thing]] = field(default_factory=lambda: {"pods": [], "claims": []})

    @property
    def there(self) -> set[int]:
        """The GPUs that are offered in some way."""
        return {number for number, ways in enumerate(self.offered) if ways}

    @property
    def uses(self) -> Counter[int]:
        """How many have each GPU."""
        return Counter(number for _, number, _ in self.taken)

    def node(self) -> Thing:
        count = sum(PLUGIN in ways for ways in self.offered)
        return node(self.name, **({"nvidia": count} if count else {}))

    def slices(self) -> Iterable[Thing]:
        for driver in (DRIVER, NVIDIA):
            devices = [
                device(number, f"{self.name}-{number}")
                for number, ways in enumerate(self.offered)
                if driver in ways
            ]
            if devices:
                yield gpu_slice(self.name, *devices, driver=driver)

    def use(self) -> None:
        for count, (way, number, as_resource) in enumerate(self.taken):
            name, held = f"{self.name}-{count}", (self.name, f"gpu-{number}")
            if way == PLUGIN:
                self.objects["pods"].append(pod(name, on=self.name))
            elif way == DRIVER and as_resource:
                asking = pod(name, resource=OURS, on=self.name)
                self.objects["pods"].append(asking)
                self.objects["claims"].append(made_for(asking, held))
            else:
                made = gpu_claim(name, held)
                made["status"]["allocation"]["devices"]["results"][0]["driver"] = way
                self.objects["claims"].append(made)


@st.composite
def machines(draw: st.DrawFn, *, mixed: bool) -> list[Machine]:
    """Machines whose GPUs are offered in any mix of ways, or in one way each and held once."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        only = draw(st.sampled_from(WAYS))
        ways = st.frozensets(st.sampled_from(WAYS)) if mixed else st.just(frozenset({only}))
        offered = draw(st.lists(ways, max_size=6))
        pairs = [(way, gpu) for gpu, each in enumerate(offered) for way in sorted(each)]
        # A way gives each GPU away once, and knows nothing of the others.
        some = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
        machine = Machine(f"n{number}", offered, [(*pair, draw(st.booleans())) for pair in some])
        machine.use()
        found.append(machine)
    return found


def seen(of: list[Machine]) -> Seen:
    return Seen(
        [machine.node() for machine in of],
        [each for machine in of for each in machine.objects["pods"]],
        [each for machine in of for each in machine.slices()],
        [each for machine in of for each in machine.objects["claims"]],
        [device_class()],
    )


@given(machines(mixed=True))
def test_the_account_never_has_more_than_there_is(of: list[Machine]) -> None:
    ledger = balance(seen(of))
    by_name = {entry.name: entry for entry in ledger.nodes}
    for machine in of:
        free = machine.there - set(machine.uses)
        entry = by_name.get(machine.name)
        assert (entry is None) == (not machine.there)
        if entry:
            assert entry.free <= len(free)
            assert 0 < entry.total <= len(machine.there)
    uuids = Counter(gpu.uuid for entry in ledger.nodes for gpu in entry.gpus)
    keys = Counter(key for entry in ledger.nodes for gpu in entry.gpus for key in gpu.offers)
    assert set(uuids.values()) | set(keys.values()) <= {1}
    requested = sum(each.requested for entry in ledger.nodes for each in entry.resources)
    assert requested == sum(way == PLUGIN for machine in of for way, *_ in machine.taken)


@given(machines(mixed=True))
def test_no_gpu_is_given_away_twice_without_a_word(of: list[Machine]) -> None:
    told = {problem.node for problem in balance(seen(of)).problems}
    assert {machine.name for machine in of if max(machine.uses.values(), default=0) > 1} <= told


@given(machines(mixed=False))
def test_a_well_kept_cluster_is_counted_exactly(of: list[Machine]) -> None:
    ledger = balance(seen(of))
    assert ledger.problems == []
    assert ledger.total == sum(len(machine.there) for machine in of)
    assert ledger.free == sum(len(machine.there - set(machine.uses)) for machine in of)
