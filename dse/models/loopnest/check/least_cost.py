"""The least loss that mappings of a box can have, from the least figures of its tiles, dim by dim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np

from dse.core.layer import Layer
from dse.core.objective import objective_named
from dse.domains.clustered.check.boxes import ROUNDING
from dse.domains.clustered.check.enumeration import allowed_orders
from dse.domains.clustered.check.forests import CellFigures
from dse.domains.clustered.check.limits import most_steps, room_of
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.models.loopnest.check.cell_sums import Cells
from dse.models.loopnest.check.moved import OUTPUT, C, Columns, K, Moved, X, Y
from dse.models.loopnest.check.nest_sums import edges_of
from dse.models.loopnest.check.tile_sums import Cuts, Sums
from dse.models.loopnest.check.waits import flows_inside, flows_outside, least_time
from dse.models.loopnest.units import in_units, l1_a_mac, of_tensors, over_link
from dse.support.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest

COUNTED = ("steps", "inner_steps", "inner", "span")
OF_ENERGY = ("pieces", "first_pieces", "begin_pieces")
OF_CYCLES = (
    "serial", "last_serial", "begin", "end", "last_span", "outer_serial", "end_serial", "outer_end_serial",
    "last_end_serial", "on_serial", "inner_on",
)  # fmt: skip


class LeastCost:
    """Bounds of boxes of mappings of a problem under `loopnest`."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._layer = problem, problem.layer
        machine = problem.accelerator
        self._machine = machine
        self._room, self._most_steps = room_of(problem), most_steps(problem)
        self._of, self._link = of_tensors(self._layer, machine), over_link(self._layer, machine)
        self._constants = in_units(cast("LoopNest", problem.model).constants, machine)
        self._depthwise = self._layer.type == "DSCONV"
        self._taps = self._layer.R * self._layer.S / machine.simd_lanes
        self._sizes = [float(self._layer.loops[dim]) for dim in MAPPED_DIMS]
        self._objective = objective_named(problem.objective)
        self._of_energy = "energy" in self._objective.figures
        self._of_cycles = "latency" in self._objective.figures
        inner, outer = (
            edges_of([MAPPED_DIMS.index(dim) for dim in order] for order in allowed_orders(problem, level))
            for level in ("inner", "outer")
        )
        self._edges = inner, outer

    # The figures of one dim

    def most_inner(self, dim: int) -> int:
        """The largest inner tile of a dim with which others of 1 fit in L1."""
        return self._most(dim, self._of, self._room[0])

    def most_outer(self, dim: int) -> int:
        """The largest outer tile of a dim with which others of 1 fit in L2."""
        return self._most(dim, self._link, self._room[1])

    def _most(self, dim: int, of: tuple[int, int, int], room: int) -> int:
        low, high = 0, self._layer.loops[MAPPED_DIMS[dim]]
        while low < high:
            middle = (low + high + 1) // 2
            tiles = [np.array([middle if place == dim else 1.0]) for place in range(4)]
            fits = self._need(tiles, self._windows(tiles), of)[0] * 2 <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    def columns(self, dim: int, outer: IntArray, inner: IntArray, across: int, within: int) -> Columns:
        """The figures of pairs of tiles (n,) of a dim."""
        name = MAPPED_DIMS[dim]
        reads = self._layer.reads[dim - Y] if dim in (Y, X) else None
        steps = (reads.pitch, reads.overlap) if reads else (1, 0)
        cuts = Cuts(self._layer.loops[name], outer, inner, across, within, *steps)
        counts = cuts.counts()
        used = COUNTED + OF_ENERGY * self._of_energy + OF_CYCLES * self._of_cycles
        used += ("serial",) * (self._most_steps is not None)
        found = {column: counts[column] for column in used}
        moved = {"input" if reads else "held": cuts.windows() if reads else cuts.held()}
        if dim != (K if self._depthwise else C):
            moved["output"] = cuts.summed()
        for tensor, sums in moved.items():
            found |= _stacked(tensor, sums)
            if self._of_cycles:
                found |= _waiting(tensor, sums, counts, cuts)
        if reads:
            found |= {column: counts[column] for column in ("window", "span_window")}
            for kind, sums in cuts.fetched(self._layer, name).items():
                if self._of_energy if kind == "real" else self._of_cycles:
                    found |= {f"{kind}_A": sums["A"], f"{kind}_E": sums["E"]}
                    found[f"{kind}_EZ"] = sums["E"] + sums["Z"]
            if self._of_cycles:
                found["link_ahead"] = found["link_EZ"] - counts["span_window"]
                found["link_G"] = counts["span_window"] - found["link_EZ"] + found["link_E"]
        found["cut"] = np.where(counts["steps"] == 1, 0, cuts.size)
        if self._of_cycles:
            found["span_on"] = cuts.size - counts["span"]
            found["span_more"] = np.where(counts["steps"] == 1, 0, counts["span"])
            found["last_more"] = np.where(counts["steps"] == 1, 0, counts["last_span"])
        return {column: value.astype(np.float64) for column, value in found.items()}

    def cells(self, dim: int, across: int, within: int) -> CellFigures | None:
        """Figures that no pair in cells of a dim is below; None of a dim whose pieces share input."""
        if dim in (Y, X) and self._layer.reads[dim - Y].overlap:
            return None
        size = self._layer.loops[MAPPED_DIMS[dim]]
        outer = np.arange(1, size + 1)
        pitch = self._layer.reads[dim - Y].pitch if dim in (Y, X) else 1
        figures = self.columns(dim, outer, np.ones_like(outer), across, within)
        return Cells(size, across, within, pitch, figures).least

    # The bound

    def losses(self, dims: Sequence[Columns]) -> FloatArray:
        """The least loss of boxes (n,): inf where their smallest tiles do not fit."""
        return np.where(self._fits(dims), self._value(dims, self._cycles), np.inf)

    @property
    def refines(self) -> bool:
        """Whether cycles count, of which `closer` tells more."""
        return self._of_cycles

    def closer(self, dims: Sequence[Columns]) -> FloatArray:
        """The same of boxes that fit, by a bound that takes longer and is often closer."""
        return self._value(dims, self._waiting_cycles)

    def _value(
        self, dims: Sequence[Columns], cycles: Callable[[Sequence[Columns]], FloatArray]
    ) -> FloatArray:
        """The loss of the least energy and the fewest cycles."""
        nothing = np.zeros(len(dims[K]["steps"]))
        energy = self._energy(dims) if self._of_energy else nothing
        figures = SimpleNamespace(cycles=cycles(dims) if self._of_cycles else nothing, energy_nj=energy)
        return np.asarray(self._objective.value(figures, self._machine.hertz))

    def _fits(self, dims: Sequence[Columns]) -> BoolArray:
        inner = [dim["inner"] for dim in dims]
        span = [dim["span"] for dim in dims]
        windows = [dims[at]["window"] for at in (Y, X)]
        of_span = [dims[at]["span_window"] for at in (Y, X)]
        fits: BoolArray = 2 * self._need(inner, windows, self._of) <= self._room[0]
        fits &= 2 * self._need(span, of_span, self._link) <= self._room[1]
        if self._most_steps is not None:
            taken = self._layer.R * self._layer.S * _product(dims, "serial")
            fits &= taken * (1 - ROUNDING) <= self._most_steps
        return fits

    def _windows(self, tiles: Sequence[FloatArray]) -> list[FloatArray]:
        """Rows and columns of the inputs of tiles."""
        return [
            tile * reads.pitch + reads.overlap
            for tile, reads in zip(tiles[Y:], self._layer.reads, strict=True)
        ]

    def _need(
        self, tiles: Sequence[FloatArray], windows: Sequence[FloatArray], of: tuple[int, int, int]
    ) -> FloatArray:
        """What boxes of tiles take."""
        inputs = tiles[C] * windows[0] * windows[1] * of[0]
        return inputs + self._channels(tiles) * of[1] + self._sums(tiles) * of[2]

    def _channels(self, tiles: Sequence[FloatArray]) -> FloatArray:
        """Pairs of channels that have weights."""
        return tiles[C] if self._depthwise else tiles[K] * tiles[C]

    def _sums(self, tiles: Sequence[FloatArray]) -> FloatArray:
        return tiles[C if self._depthwise else K] * tiles[Y] * tiles[X]

    def _energy(self, dims: Sequence[Columns]) -> FloatArray:
        """The least energy, in nJ."""
        constants, layer = self._constants, self._layer
        at_pe, at_l2 = constants.noc_pj + constants.l1_pj, constants.l2_pj
        at_dram, outputs = constants.dram_pj + constants.l2_pj, output_words(layer)
        sums = self._moved(dims)
        for tensor, (of, times) in enumerate(zip(self._of, (1.0, 1.0, 2.0), strict=True)):
            # Of outputs, the first sum is not read, so PEs receive as many words as L2 sends.
            taken = times * at_l2 + (at_pe if tensor == OUTPUT else 0.0)
            sums.add_inside(tensor, of * taken, each=False)
            sums.add_inside(tensor, of * at_pe, each=True)
        for tensor, (of, times) in enumerate(zip(self._link, (1.0, 1.0, 2.0), strict=True)):
            sums.add_outside(tensor, of * times * at_dram, "real")
        once = outputs * (self._of[2] * (at_l2 + at_pe) + self._link[2] * at_dram)
        macs = layer.macs * (constants.mac_pj + l1_a_mac(self._machine) * constants.l1_pj)
        return 1e-3 * (macs + sums.least() - once)

    def _moved(self, dims: Sequence[Columns]) -> Moved:
        return Moved(dims, self._sizes, *self._edges, depthwise=self._depthwise)

    def _words(self, dims: Sequence[Columns]) -> tuple[FloatArray, FloatArray]:
        """The fewest words over the NoC and over the DRAM link."""
        outputs, noc, link = output_words(self._layer), self._moved(dims), self._moved(dims)
        for tensor, times in enumerate((1.0, 1.0, 2.0)):
            noc.add_inside(tensor, self._of[tensor] * times, each=False)
            link.add_outside(tensor, self._link[tensor] * times, "link")
        return noc.least() - outputs * self._of[2], link.least() - outputs * self._link[2]

    def _cycles(self, dims: Sequence[Columns]) -> FloatArray:
        """The fewest cycles, where one of work, NoC and link is never waited for."""
        noc, link = self._words(dims)
        machine, taps = self._machine, self._taps
        ends, ends_link, steps = self._ends(dims)
        work, tail = np.ceil(taps * _product(dims, "serial")), np.ceil(taps * _product(dims, "last_serial"))
        on_chip = np.maximum(ends + work, np.ceil(noc / machine.noc_bandwidth))
        # Each outer step but the last has its latency, and so have fill and drain.
        on_chip += ends_link + (steps + 1) * machine.noc_latency
        over_link = ends + 2 * machine.noc_latency + np.ceil(link / machine.offchip_bandwidth) + tail
        return np.maximum(on_chip, over_link)

    def _ends(self, dims: Sequence[Columns]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Cycles of the NoC and of the link for the first data and the last outputs; outer steps."""
        rate, offchip = self._machine.noc_bandwidth, self._machine.offchip_bandwidth
        begin, span = [dim["begin"] for dim in dims], [dim["span"] for dim in dims]
        first = begin[C] * dims[Y]["input_begin"] * dims[X]["input_begin"] * self._of[0]
        first = np.ceil((first + self._channels(begin) * self._of[1]) / rate)
        first_link = span[C] * dims[Y]["span_window"] * dims[X]["span_window"] * self._link[0]
        first_link = np.ceil((first_link + self._channels(span) * self._link[1]) / offchip)
        last = np.ceil(self._sums([dim["end"] for dim in dims]) * self._of[2] / rate)
        last_link = np.ceil(self._sums([dim["last_span"] for dim in dims]) * self._link[2] / offchip)
        return first + last, first_link + last_link, _product(dims, "steps")

    def _waiting_cycles(self, dims: Sequence[Columns]) -> FloatArray:
        """The fewest cycles, where steps wait for the NoC or for the link."""
        machine, taps, (inner, outer) = self._machine, self._taps, self._edges
        ends, ends_link, steps = self._ends(dims)
        rate, depthwise = machine.noc_bandwidth, self._depthwise

        def work(*names: str) -> list[tuple[FloatArray, ...]]:
            return [tuple(dim[name] for name in names) for dim in dims]

        inside = least_time(
            inner, flows_inside(dims, self._of, depthwise=depthwise, outer=False), rate * taps,
            work("serial", "on_serial", "end_serial"),
        )  # fmt: skip
        between = least_time(
            outer, flows_inside(dims, self._of, depthwise=depthwise, outer=True), rate * taps,
            work("end_serial", "outer_end_serial", "last_end_serial"),
        )  # fmt: skip
        on_chip = (inside + between) / rate + taps * _product(dims, "last_end_serial")
        on_chip += ends + ends_link + (steps + 1) * machine.noc_latency
        over_link = least_time(
            outer, flows_outside(dims, self._link, self._sizes, depthwise=depthwise),
            machine.offchip_bandwidth * taps, work("serial", "outer_serial", "last_serial"),
            machine.offchip_bandwidth * machine.noc_latency, [dim["steps"] for dim in dims],
        )  # fmt: skip
        over_link = over_link / machine.offchip_bandwidth + ends + ends_link + 2 * machine.noc_latency
        over_link += np.ceil(taps * _product(dims, "last_serial"))
        return np.ceil(np.maximum(on_chip, over_link) * (1 - ROUNDING))


def _product(dims: Sequence[Columns], name: str) -> FloatArray:
    found: FloatArray = dims[K][name] * dims[C][name] * dims[Y][name] * dims[X][name]
    return found


def _stacked(name: str, sums: Sums) -> Sums:
    """What is new in steps of any kind; in those and as the outer loop advances; and all that is new once.

    Words rise with each of A, D, DE, DEZ and M where the others stay: a word of E is moved no more often than
    one of D, and one of Z than one of E. So of a set of tiles the least of each bounds words, where the least
    of each part would not even move every word once. That takes DEZ + M <= A, which the least have as well.
    """
    new = sums["D"] + sums["E"]
    found = {"A": sums["A"], "D": sums["D"], "DE": new, "DEZ": new + sums["Z"]}
    found["M"] = sums["B"] - sums["E"] - sums["Z"]
    return {f"{name}_{each}": value for each, value in found.items()}


def _waiting(name: str, sums: Sums, counts: Sums, cuts: Cuts) -> Sums:
    """What a tensor needs where loops begin, and how much more that is than what stays: see `waits`."""
    first, begin = counts["first"], counts["begin"]
    onward = first - begin
    if name == "input":
        first = first * cuts.pitch + counts["first_pieces"] * cuts.overlap
        begin = begin * cuts.pitch + counts["begin_pieces"] * cuts.overlap
        onward = first - begin
    # As inner loops advance: all that is needed less what stays (D + B), without what first steps need.
    ahead = sums["D"] + sums["B"] - first
    if name == "output":
        # Those that leave are of the last steps, those that are begun of the first ones: counted as fewer.
        first, begin = counts["left"], counts["end"]
        onward = np.minimum(onward, first - begin)
    stays = sums["B"] - sums["E"] - sums["Z"]
    found = {"ahead": ahead, "F": first, "G": first - sums["B"], "onward": onward - stays}
    found |= {"begin": begin, "H": begin - sums["Z"]}
    return {f"{name}_{part}": value for part, value in found.items()}


def output_words(layer: Layer) -> int:
    """Outputs of a layer."""
    rows, columns = layer.output
    return rows * columns * (layer.C if layer.type == "DSCONV" else layer.K)
