"""The model in plain Python, one mapping at a time: what the compiled kernel is tested against.

It walks no loop: every count is a closed form in integers, every figure follows from the counts.
`docs/timeloop.md` states the rules; their names are the ones here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from dse.domains.levels.machine import RETURNED, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping
from dse.domains.levels.tiles import boxes_of, has_ragged_tiles, is_chain
from dse.domains.levels.workload import Tensor, Workload
from dse.models.timeloop.faults import Fault, fault_text, required_tensors
from dse.models.timeloop.latency import ACCESSES, LARGEST_CYCLES, Counts, kept_together, latency_of
from dse.models.timeloop.ragged import RaggedNest

Motion = tuple[int, ...]
"""By how many words one iteration of a loop moves a tensor, along each axis."""


@dataclass(frozen=True)
class Costs:
    """What a mapping costs; `level_pj` by level's name, `counts` by level and tensor, `steps` to compute."""

    cycles: int
    steps: int
    energy_pj: float
    utilization: float
    macs: int
    level_pj: dict[str, float]
    mac_pj: float
    counts: dict[str, dict[str, Counts]]

    @property
    def edp(self) -> float:
        """Energy times delay, in joules times cycles."""
        return self.cycles * self.energy_pj * 1e-12


@dataclass(frozen=True)
class NotPriced:
    """A mapping without a price: `fault` at `where`, in the sense of `faults`."""

    fault: Fault
    where: int
    need: int
    reason: str


@dataclass(frozen=True)
class _Loop:
    dim: str
    n: int
    step: int


class _Nest:
    """The loops of a mapping with their steps, and the boxes that they leave to each level."""

    def __init__(self, workload: Workload, machine: Machine, mapping: HierarchyMapping) -> None:
        self.workload, self.machine, self.mapping = workload, machine, mapping
        box = dict.fromkeys(workload.names, 1)
        self.boxes: list[dict[str, int]] = []
        self.spread_boxes: list[dict[str, int]] = []
        self.temporal: list[list[_Loop]] = []
        self.spatial: list[list[_Loop]] = []
        for level in reversed(mapping.levels):
            self.spatial.insert(0, list(_loops_outward(level.spatial, box)))
            self.spread_boxes.insert(0, dict(box))
            self.temporal.insert(0, list(_loops_outward(level.temporal, box)))
            self.boxes.insert(0, dict(box))

    def outside(self, place: int) -> list[_Loop]:
        """The temporal loops outside a level's tiles, from the innermost to the outermost."""
        return [loop for level in reversed(self.temporal[:place]) for loop in level]

    @property
    def steps(self) -> int:
        """Of each MAC."""
        return math.prod(loop.n for level in self.temporal for loop in level)

    def used(self, place: int) -> int:
        """The instances at work at a level, or of the MACs."""
        return math.prod(loop.n for level in self.spatial[:place] for loop in level)


def _loops_outward(loops: tuple[tuple[str, int], ...], box: dict[str, int]) -> Iterator[_Loop]:
    """The loops of a list that are any, the innermost first; `box` grows by each of them."""
    for dim, n in reversed(loops):
        if n > 1:
            yield _Loop(dim, n, box[dim])
        box[dim] *= n


def evaluate_mapping(workload: Workload, machine: Machine, mapping: HierarchyMapping) -> Costs | NotPriced:
    """What `mapping` costs, or why it has no price."""
    fault = _misfit(workload, machine, mapping)
    if fault:
        return NotPriced(*fault, fault_text(*fault, workload, machine))
    nest = (RaggedNest if has_ragged_tiles(workload, mapping) else _Nest)(workload, machine, mapping)
    counts = [
        {one.name: _count(nest, one, place) for one in workload.tensors if one.name in level.keep}
        for place, level in enumerate(mapping.levels)
    ]
    named = {level.name: kept for level, kept in zip(machine.levels, counts, strict=True) if kept}
    latency = latency_of(workload, machine, named, nest.steps)
    if latency.cycles >= LARGEST_CYCLES:
        return NotPriced(Fault.CYCLES, 0, 0, fault_text(Fault.CYCLES, 0, 0, workload, machine))
    cycles = int(latency.cycles)
    level_pj = {
        level.name: _accesses_pj(level, counts[place], nest.used(place), machine.instances[place])
        + level.leak_pj * cycles * (nest.used(place) if kept_together(machine, named, place) else 1)
        for place, level in enumerate(machine.levels)
    }
    macs, mac_pj = workload.macs, workload.macs * machine.mac_pj
    utilization, energy = macs / (machine.macs * cycles), sum(level_pj.values()) + mac_pj
    return Costs(cycles, nest.steps, energy, utilization, macs, level_pj, mac_pj, named)


def _misfit(workload: Workload, machine: Machine, mapping: HierarchyMapping) -> tuple[Fault, int, int] | None:
    """The first thing that keeps a mapping from being priced: the fault, where it is, what is needed."""
    for place, mapped in enumerate(mapping.levels):
        if any(len(dict(loops)) < len(loops) for loops in (mapped.temporal, mapped.spatial)):
            return Fault.ORDER, place, 0
    for place, (dim, size) in enumerate(workload.dims):
        if not is_chain(mapping, dim, size):
            return Fault.FACTORS, place, 0
    for place, (level, mapped) in enumerate(zip(machine.levels, mapping.levels, strict=True)):
        kept = [name for part in _parts(machine, mapping, place) for name in part.keep]
        must, may = required_tensors(workload, machine, place), machine.may_keep(place, workload.tensor_names)
        if set(must) - set(kept) or set(mapped.keep) - set(may) or len(set(kept)) < len(kept):
            return Fault.KEEP, place, 0
        if level.spread is not None and any(n > 1 and dim not in level.spread for dim, n in mapped.spatial):
            return Fault.SPREAD, place, 0
        fan_out = math.prod(n for _, n in mapped.spatial)
        if fan_out > level.fan_out:
            return Fault.FAN_OUT, place, fan_out
    return _overfull(workload, machine, mapping)


def _overfull(
    workload: Workload, machine: Machine, mapping: HierarchyMapping
) -> tuple[Fault, int, int] | None:
    """The outermost level whose tiles do not fit."""
    boxes = boxes_of(workload, mapping)
    for place, level in enumerate(machine.levels):
        need = sum(
            tensor.room(boxes[2 * part])
            for part, mapped in enumerate(mapping.levels)
            for tensor in workload.tensors
            if machine.storages[part] == place
            and tensor.name in mapped.keep
            and tensor.name not in level.holds
        )
        if level.room is not None and need > level.room:
            return Fault.CAPACITY, place, need
    return None


def _parts(machine: Machine, mapping: HierarchyMapping, place: int) -> list[LevelMapping]:
    """What a level and the other parts of it do; nothing of a part that is not the first."""
    return [part for part, first in zip(mapping.levels, machine.storages, strict=True) if first == place]


def motion(tensor: Tensor, loop: _Loop) -> Motion:
    """By how much one iteration of `loop` moves `tensor`."""
    return tuple(factor * loop.step for factor in tensor.coefficients(loop.dim))


def delivered(tensor: Tensor, box: Mapping[str, int], outside: list[_Loop]) -> int:
    """D: words of `tensor` that an instance with the tile of `box` receives over the run.

    `outside` are the temporal loops outside the tile, from the innermost. Each is met at one iteration and
    the next, while those inside of it go back by one step.
    """
    extents = tensor.extents(box)
    full = math.prod(extents)
    words, passes = full, math.prod(loop.n for loop in outside)
    back = (0,) * len(extents)
    first_move, first_new = back, 0
    for place, loop in enumerate(outside):
        moves = motion(tensor, loop)
        net = tuple(there - before for there, before in zip(moves, back, strict=True))
        if place == 0:
            first_move, first_new = net, _new_words(net, extents)
        new = first_new if net == first_move else full
        passes //= loop.n
        words += (loop.n - 1) * passes * new
        back = tuple(map(sum, zip(back, moves, strict=True)))
    return words


def _new_words(net: Motion, extents: list[int]) -> int:
    """Words of a tile that are new after it moved by `net`."""
    full = math.prod(extents)
    moved = [place for place, words in enumerate(net) if words]
    if not moved:
        return 0
    along = moved[0]
    if len(moved) == 1 and abs(net[along]) < extents[along]:
        return full // extents[along] * abs(net[along])
    return full


def different_data(tensor: Tensor, level: Level, loops: list[_Loop]) -> int:
    """G: how many different data of `tensor` the children of one instance need, given its spatial loops."""
    shared = level.reduction if tensor.output else level.multicast
    if not shared:
        return math.prod(loop.n for loop in loops)
    motions = [(loop.n, motion(tensor, loop)) for loop in loops]
    moving = [(n, moves) for n, moves in motions if any(moves)]
    along = [[place for place, words in enumerate(moves) if words] for _, moves in moving]
    axes = [place for places in along for place in places]
    if len(set(axes)) == len(axes):
        return math.prod(n for n, _ in moving)
    # Several loops move one axis: places are counted one by one.
    steps = [[tuple(index * words for words in moves) for index in range(n)] for n, moves in moving]
    return len({tuple(map(sum, zip(*path, strict=True))) for path in product(*steps)})


def _count(nest: _Nest | RaggedNest, tensor: Tensor, place: int) -> Counts:
    """The accesses of `tensor` at a level that keeps it."""
    workload, machine, mapping = nest.workload, nest.machine, nest.mapping
    if isinstance(nest, RaggedNest):
        first, everywhere = nest.counts(tensor, place)
        tile = tensor.words(boxes_of(workload, mapping)[2 * place])
        waited = nest.waited(tensor, place)
        return Counts(*first, tile, 0, nest.used(place), tensor.bits, everywhere, waited)
    levels = range(place + 1, len(mapping.levels))
    child = next((j for j in levels if tensor.name in mapping.levels[j].keep), len(mapping.levels))
    served = math.prod(
        different_data(tensor, machine.levels[j], nest.spatial[j]) for j in range(place, child)
    )
    if child == len(mapping.levels):
        served *= math.prod(loop.n for loop in nest.outside(child))
    else:
        served *= delivered(tensor, nest.boxes[child], nest.outside(child))
    outermost = not any(tensor.name in level.keep for level in mapping.levels[:place])
    fills = 0 if outermost else delivered(tensor, nest.boxes[place], nest.outside(place))
    tile, used = tensor.words(nest.boxes[place]), nest.used(place)
    if not tensor.output:
        share = _input_share(workload, nest, tensor, place)
        return Counts(served, fills, 0, tile, share, used, tensor.bits)
    share = 0 if machine.first_fill == RETURNED else _output_share(workload, nest, tensor, place)
    if not outermost and machine.first_fill == "elided":
        fills -= share
    return Counts(served - share, fills, served, tile, share, used, tensor.bits)


def _output_share(workload: Workload, nest: _Nest, tensor: Tensor, place: int) -> int:
    """The part of the output that one instance of a level works on."""
    parts = math.prod(
        loop.n for level in nest.spatial[:place] for loop in level if any(tensor.coefficients(loop.dim))
    )
    return tensor.words(workload.sizes) // parts


def _input_share(workload: Workload, nest: _Nest, tensor: Tensor, place: int) -> int:
    """As the original prints it for inputs, a chain of whole quotients; nothing depends on it."""
    share = tensor.words(workload.sizes)
    for level in range(1, place + 1):
        share = share * tensor.words(nest.boxes[level]) // tensor.words(nest.spread_boxes[level - 1])
    return share


def _accesses_pj(level: Level, kept: dict[str, Counts], used: int, instances: int) -> float:
    """Energy of the physical accesses of all rows at work of a level, or of a part of one."""
    rows = min(used, instances / level.cluster)
    energy = 0.0
    for counts in kept.values():
        for pj in accesses_pj(level, counts, rows):
            energy += pj
    return energy


def accesses_pj(level: Level, counts: Counts, rows: float) -> tuple[float, float, float]:
    """Energy of one tensor's reads, fills and updates, whole blocks each, in all rows at work.

    Where tiles do not divide, of the mean of all instances.
    """
    pj = level.energy.read_pj, level.energy.write_pj, level.energy.update_pj
    share = level.block * counts.instances
    blocks = [-(-counts.words(kind) * counts.bits // share) for kind in ACCESSES]
    reads, fills, updates = (number * each * rows for number, each in zip(blocks, pj, strict=True))
    return reads, fills, updates
