"""Claims of spaces where PE counts are open, clusters fit or filters are cut: gone through by machine.

A machine counts here by its clusters and their size. Where all PEs at work with the least traffic are not
below the target, nothing of a machine is looked at; else all of its outer tiles are, by the specification's
cases (`coverage`), with a bound of inner levels that is written for them again. The cost model prices the
inner levels that are left. Mappings that cut a filter at the outer level keep few PEs at work: by so many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

from dse.core.certificate import INFEASIBLE, Certificate
from dse.core.chains import find_divisors
from dse.core.objective import objective_named
from dse.core.proofs import Check
from dse.domains.clustered.check.enumeration import CHUNK, allowed_parallels, inner_cuts, smallest_tiles
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import LEVELS, MAPPED_DIMS, ORDERS, allowed_values
from dse.domains.clustered.space.parts import FIT, PES
from dse.models.maestro.check.coverage import least_losses
from dse.models.maestro.check.inner_check import fewest_cycles
from dse.support.arrays import IntArray

ROWS = 3_000_000
"""Inner levels to price."""
ROUNDING = 1e-11
NJ_A_WORD = 0.00023 * 18.61
FILTER = {"R": "Y", "S": "X"}
"""The dims of a filter, and what each moves along."""


class _Spaces:
    """What a problem has below a target."""

    def __init__(self, problem: Problem, target: float) -> None:
        self.problem, self.target, self.layer = problem, target, problem.space.layer
        self.left, self.looked_at, self.skipped = ROWS, 0, 0
        # The same layer and buffers, in a space without open parts.
        tiles = {name: value for name, value in problem.space.fixed.items() if ".tile." in name}
        self.plain = replace(problem, space="default", fixed=tiles)

    def machines(self) -> dict[tuple[str, str], list[tuple[int, int]]]:
        """By outer and inner parallel dim, cluster sizes with numbers of clusters, each pair once.

        A whole filter dim that is spread leaves one cluster at work.
        """
        problem, loops = self.problem, self.layer.loops
        fixed = allowed_values(problem.space.fixed, PES)
        counts = [int(count) for count in fixed or problem.parts.values_of(PES, problem.accelerator)]
        found: dict[tuple[str, str], set[tuple[int, int]]] = {}
        outers, inners = (allowed_parallels(problem, level) for level in LEVELS)
        for outer, inner, pes in product(outers, inners, counts):
            dim = "C" if outer in FILTER else outer
            for cluster in self._sizes(inner, counts):
                # Where there are more clusters than indices, it is the same how many more.
                clusters = 1 if outer in FILTER else min(pes // cluster, loops[outer] + 1)
                at_work = min(clusters, self.layer.loops[dim]) * cluster
                if pes >= cluster and least_of(self.problem, at_work, dim) < self.target:
                    found.setdefault((dim, inner), set()).add((cluster, clusters))
        return {key: sorted(pairs) for key, pairs in found.items()}

    def _sizes(self, inner: str, counts: list[int]) -> list[int]:
        given = self.problem.parts.cluster
        if given == FIT:
            return list(find_divisors(self.layer.loops[inner]))
        allowed = allowed_values(self.problem.space.fixed, "cluster")
        every = (
            {size for count in counts for size in find_divisors(count)} if isinstance(given, str) else given
        )
        return [size for size in every if allowed is None or size in allowed]

    def below(self) -> str:
        """What is below the target, in words; nothing where all is ruled out."""
        for (outer, inner), pairs in self.machines().items():
            chunk: list[IntArray] = []
            for place, (cluster, clusters) in enumerate(pairs):
                tiles = self._tiles(inner, cluster)
                ends = np.broadcast_to([cluster, clusters], (len(tiles), 2))
                chunk.append(np.concatenate([tiles, ends], axis=1))
                if sum(map(len, chunk)) >= CHUNK or place == len(pairs) - 1:
                    if wrong := self._below(outer, inner, np.concatenate(chunk)):
                        return wrong
                    chunk = []
        return ""

    def _below(self, outer: str, inner: str, rows: IntArray) -> str:
        """The same of rows (n, 6) of outer tiles, a cluster size and a number of clusters."""
        fits = self.problem.parts.cluster == FIT
        tiles, cluster, clusters = dict(zip(MAPPED_DIMS, rows.T, strict=False)), rows[:, 4], rows[:, 5]
        cycles = _least_cycles(self.plain, tiles, cluster, inner, fits)
        self.looked_at += len(rows)
        found = least_losses(self.plain, tiles, clusters, outer, cycles, self.target)
        for row in np.flatnonzero(found < self.target):
            fewest = self._priced(tuple(rows[row, :4].tolist()), int(cluster[row]), inner, fits)
            if fewest is None:
                continue
            one = {dim: tile[[row]] for dim, tile in tiles.items()}
            case = self.plain, one, clusters[[row]], outer
            loss = float(least_losses(*case, np.array([fewest]), self.target)[0])
            if loss < self.target:
                return f"{loss!r} cannot be ruled out for {rows[row].tolist()}, {outer} and {inner} parallel"
        return ""

    def _tiles(self, inner: str, cluster: int) -> IntArray:
        """The outer tiles of K C Y X (n, 4) that clusters fit into."""
        choices: list[list[int]] = []
        fixed: Mapping[str, Any] = self.plain.space.fixed
        for dim in MAPPED_DIMS:
            own, outer = fixed.get(f"inner.tile.{dim}", 1), fixed.get(f"outer.tile.{dim}")
            piece = cluster if dim == inner and self.problem.parts.cluster == FIT else 1
            sizes = find_divisors(self.layer.loops[dim]) if outer is None else [outer]
            choices.append([size for size in sizes if size % own == 0 and size % piece == 0])
        return np.array(list(product(*choices)), np.int64).reshape(-1, len(MAPPED_DIMS))

    def _priced(self, tiles: tuple[int, ...], cluster: int, inner: str, fits: bool) -> int | None:
        """The fewest cycles of the inner levels of one outer tile, priced; None where none fits, or where
        they are too many."""
        cuts = inner_cuts(self.plain, tiles)
        if fits and inner in MAPPED_DIMS:
            place = MAPPED_DIMS.index(inner)
            cuts[place] = [cut for cut in cuts[place] if cut * cluster == tiles[place]]
        tried = np.array(list(product(*cuts)), np.int64).reshape(-1, len(MAPPED_DIMS))
        if len(tried) * len(ORDERS) > self.left:
            self.skipped += 1
            return None
        self.left -= len(tried) * len(ORDERS)
        return fewest_cycles(self.plain, tiles, cluster, tried, inner)


def _least_cycles(
    problem: Problem, tiles: dict[str, IntArray], cluster: IntArray, inner: str, fits: bool
) -> IntArray:
    """Cycles that no inner level of outer tiles (n,) is below: the work of a PE after its first data."""
    layer, machine = problem.space.layer, problem.accelerator
    smallest = dict(zip(MAPPED_DIMS, smallest_tiles(problem), strict=True))
    taps, none = layer.R * layer.S, np.zeros_like(cluster)
    halos = {"K": none, "C": none, "Y": none + layer.R - 1, "X": none + layer.S - 1}
    positions, held = dict(tiles), {dim: np.full_like(tiles["K"], smallest[dim]) for dim in MAPPED_DIMS}
    work = np.full_like(tiles["K"], taps)
    if inner in FILTER:
        window = layer.loops[inner]
        piece, image = window // cluster, FILTER[inner]
        work //= cluster
        halos[image] = piece - 1
        # A piece of a filter goes over all inputs of the tile.
        positions[image] = tiles[image] + window - piece
    else:
        rounds = -(-tiles[inner] // (smallest[inner] * cluster))
        positions[inner] = tiles[inner] // cluster if fits else rounds * smallest[inner]
        held[inner] = np.minimum(cluster * smallest[inner], tiles[inner])
        held[inner] = tiles[inner] if fits else held[inner]
    for dim in MAPPED_DIMS:
        work = work * positions[dim]
    inputs = held["C"] * (held["Y"] + halos["Y"]) * (held["X"] + halos["X"])
    weights = taps * held["C"] * (1 if layer.type == "DSCONV" else held["K"])
    into = machine.noc_latency - 1 + -(-(inputs + weights) // machine.noc_bandwidth)
    cycles: IntArray = -(-work // machine.simd_lanes) + into
    return cycles


def least_of(problem: Problem, pes: int, spread: str) -> float:
    """The loss of so many PEs that are always at work, each word of inputs and weights written to L2 once
    and read once, but for a tile along the `spread` dim (section 9.3).

    Where clusters idle, the last tile is partial, and nothing of it is new: a step that reuses the others
    does not read it (7.4). It is the largest of two, or of as few as divide the dim.
    """
    layer, machine = problem.space.layer, problem.accelerator
    inputs = layer.C * layer.loops["Y"] * layer.loops["X"]
    weights = layer.K * layer.C * layer.R * layer.S
    written = layer.C * layer.Y * layer.X + weights
    fewest = [*find_divisors(layer.loops[spread]), 0][1]
    if fewest and spread in "CYX":
        inputs -= inputs // fewest
    if fewest and spread not in "YX":
        weights -= weights // fewest
    energy = NJ_A_WORD * (written + inputs + weights) * (1 - ROUNDING / 10)
    cycles = -(-layer.macs // (pes * machine.simd_lanes))
    figures = SimpleNamespace(cycles=np.array([cycles]), energy_nj=np.array([energy]))
    return float(np.asarray(objective_named(problem.objective).value(figures, machine.hertz))[0])


def space_checks(problem: Problem, certificate: Certificate) -> tuple[Check, ...]:
    """Whether nothing in a space of other parts is below what is proven."""
    target = math.inf if certificate.status == INFEASIBLE else certificate.lower_bound
    spaces = _Spaces(problem, target)
    wrong = spaces.below()
    seen = f"{spaces.looked_at:,} outer levels looked at, {ROWS - spaces.left:,} inner levels priced"
    if spaces.skipped:
        seen += f", {spaces.skipped:,} groups are too many to price"
    cut = _cut(problem)
    name = "mappings that cut the filter at the outer level are not below the bound"
    return (
        Check("no outer tiles on any machine are below the bound", not wrong, wrong or seen),
        Check(name, cut >= target * (1 - ROUNDING), f"none is below {cut!r}"),
    )


def _cut(problem: Problem) -> float:
    """The least loss of as many PEs as a filter dim has rows or columns, where both levels may spread it."""
    both = set.intersection(*(set(allowed_parallels(problem, level)) for level in LEVELS))
    windows = {dim: problem.space.layer.loops[dim] for dim in FILTER if dim in both}
    losses = [least_of(problem, window, dim) for dim, window in windows.items() if window > 1]
    return min(losses, default=math.inf)
