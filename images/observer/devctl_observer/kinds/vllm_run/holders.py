"""Why a claim gets no GPUs: which are free where, and who holds the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from devctl.api.messages import listed
from devctl.api.vllm_run import DRIVER
from devctl_observer.judging.devices import Claim, Gpu
from devctl_observer.kinds.vllm_run.model import VLLMRun
from devctl_observer.watching.store import Key

NO_GPUS = "NoGPUs"
TOO_FEW = "TooFewGPUs"
NO_SUCH_ID = "NoSuchGPU"
TAKEN = "GPUsTaken"
_MOST_NODES, _MOST_HOLDERS = 4, 6
_Device = tuple[str, str]
"""A node and the name of a device there."""


class View(NamedTuple):
    """All GPUs, and who holds which."""

    gpus: Sequence[Gpu] = ()
    holders: Mapping[_Device, str] = {}
    """Words for whoever holds a device."""


def holders_of(
    claims: Iterable[tuple[Key, Claim]], namespace: str, own: str = ""
) -> Mapping[_Device, str]:
    """Who holds which GPU, in words for a run of a namespace.

    Args:
        claims: All claims with their keys.
        namespace: The run's: what is in another one is named with it.
        own: The run's own claim, which is not in its way.
    """
    return {
        (held.node, held.device): _holder(key, claim, namespace)
        for key, claim in claims
        if key != Key(namespace, own)
        for held in claim.held
        if held.driver == DRIVER
    }


def _holder(key: Key, claim: Claim, namespace: str) -> str:
    kind, name = "claim", key.name
    if claim.run:
        kind, name = "run", claim.run
    elif claim.pod:
        kind, name = "pod", claim.pod
    return f"{kind} `{name}`" if key.namespace == namespace else f"{kind} `{key.namespace}/{name}`"


def judge_shortage(run: VLLMRun, view: View) -> tuple[str, str] | None:
    """Why no node has what a run claims: a reason and a message; None if one has it."""
    if not view.gpus:
        check = "ask an administrator whether the driver runs on the nodes"
        return NO_GPUS, f"no node offers GPUs of the driver `{DRIVER}`; {check}"
    # Sorted by node.
    nodes = {node: list(gpus) for node, gpus in groupby(view.gpus, lambda gpu: gpu.node)}
    return _of_ids(run, nodes, view) if run.spec.gpu_ids else _of_number(run, nodes, view)


def _of_number(
    run: VLLMRun, nodes: Mapping[str, Sequence[Gpu]], view: View
) -> tuple[str, str] | None:
    wanted = run.gpus
    free = {node: sum(_is_free(gpu, view) for gpu in gpus) for node, gpus in nodes.items()}
    if max(free.values()) >= wanted:
        return None
    most = max(nodes, key=lambda node: len(nodes[node]))
    if len(nodes[most]) < wanted:
        only = f"node `{most}` has the most, {len(nodes[most])}"
        again = "create it again with fewer spec.gpus"
        return TOO_FEW, f"no node offers {wanted} {_word(wanted)}: {only}; {again}"
    best = sorted(nodes, key=lambda node: (-free[node], node))
    there = listed([f"{free[n]} of {len(nodes[n])} on `{n}`" for n in best], _MOST_NODES)
    who = _held_by(view.gpus, view)
    return TAKEN, f"no node has {wanted} free {_word(wanted)}: {there}{who}"


def _of_ids(run: VLLMRun, nodes: Mapping[str, Sequence[Gpu]], view: View) -> tuple[str, str] | None:
    ids = run.spec.gpu_ids
    wanted = {
        node: [gpu for gpu in gpus if gpu.number in ids]
        for node, gpus in nodes.items()
        if set(ids) <= {gpu.number for gpu in gpus}
    }
    if not wanted:
        numbers = listed([str(number) for number in ids])
        each = [f"`{node}` has {_numbers(gpus)}" for node, gpus in nodes.items()]
        there = f"{listed(each, _MOST_NODES)}; create it again with other spec.gpuIds"
        return NO_SUCH_ID, f"no node offers {_word(len(ids))} {numbers}: {there}"
    if any(all(_is_free(gpu, view) for gpu in gpus) for gpus in wanted.values()):
        return None
    taken = [
        f"{gpu.number} of `{gpu.node}` {_why(gpu, view)}"
        for gpus in wanted.values()
        for gpu in gpus
        if not _is_free(gpu, view)
    ]
    return TAKEN, f"GPU {listed(taken, _MOST_HOLDERS)}"


def _why(gpu: Gpu, view: View) -> str:
    holder = view.holders.get((gpu.node, gpu.device))
    return f"is held by {holder}" if holder else "is unhealthy"


def _is_free(gpu: Gpu, view: View) -> bool:
    return not gpu.unhealthy and (gpu.node, gpu.device) not in view.holders


def _held_by(gpus: Sequence[Gpu], view: View) -> str:
    """Who holds some GPUs, as the end of a sentence."""
    found = [view.holders.get((gpu.node, gpu.device)) for gpu in gpus]
    counts = Counter(holder for holder in found if holder)
    sick = sum(not holder and gpu.unhealthy for holder, gpu in zip(found, gpus, strict=True))
    words = [f"{holder} ({count})" for holder, count in counts.most_common()]
    held = f"; held by {listed(words, _MOST_HOLDERS)}" if words else ""
    return f"{held}; {sick} unhealthy" if sick else held


def _word(number: int) -> str:
    return "GPU" if number == 1 else "GPUs"


def _numbers(gpus: Iterable[Gpu]) -> str:
    """The indexes of a node's GPUs.

    >>> _numbers([Gpu("n", "a", 0), Gpu("n", "b", 1), Gpu("n", "c", 4)])
    '0, 1, 4'
    """
    return listed([str(gpu.number) for gpu in gpus if gpu.number is not None], 16) or "none"
