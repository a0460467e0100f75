"""A bound of a chain, found again from the last layer back, by what the proofs of phases imply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import inf
from typing import Any

from dse.core.edges import Chain
from dse.core.layer import Layer
from dse.core.residence import Phase, Residence
from dse.optimum.chains.check_lines import LineFloor
from dse.optimum.chains.check_tiles import Floor
from dse.optimum.chains.result import ChainProof
from dse.optimum.chains.tilings import Group

Moments = list[tuple[int, dict[int, int]]]
"""In running order: a layer, and the room of every tensor that may be alive then, by its maker."""
Found = tuple[float, tuple[Group, ...]]
"""A least sum, and the groups that it has."""
Said = tuple[Phase, float]
"""A phase, and what its proof says that it is not below."""
ROUNDED = 1e-9


@dataclass
class Bound:
    """The least sum of a run of one chain under an objective, whose weights are of energy and latency."""

    proof: ChainProof
    residence: Residence
    text: str
    weights: tuple[float, float]
    chain: Chain
    moments: Moments
    floors: dict[Group, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.most = self.proof.programs[0].most
        self.room = self.proof.home.room if self.proof.home else 0
        self.need: list[dict[int, int]] = [{} for _ in self.chain.layers]
        for layer, alive in self.moments:
            for maker, words in alive.items():
                self.need[layer][maker] = max(self.need[layer].get(maker, 0), words)
        self.may = may_stay(self.proof, self.chain)
        problem = self.proof.problem.with_changes(objective=self.text)
        tiles = self.residence.tiles
        self.floor = None
        if tiles:
            energy = self._implied_under("energy")
            self.floor = Floor(problem, tiles, self.room, self.weights, self.implied, energy)
            self.lines = line_floor(self.proof, self.residence, self.text, self.weights, self.implied, energy)

    def least(self, claimed: float) -> float:
        """The least sum; groups have a cheap floor until a sum below what is claimed goes through them."""
        while True:
            self.memo: dict[tuple[int, frozenset[int]], Found] = {}
            found, groups = self._after(0, frozenset())
            loose = [group for group in groups if group not in self.floors]
            if found >= claimed * (1 - ROUNDED) or not loose:
                return found
            assert self.floor is not None
            for group in loose:
                self.floors[group] = self._exact(group)

    def _exact(self, group: Group) -> float:
        if all(map(product_like, group.layers)):
            assert self.floor is not None
            return self.floor.exact(group)
        assert self.lines is not None
        return self.lines.exact(group)

    @cached_property
    def implied(self) -> Callable[[Phase], float]:
        """What the proofs say that a phase is not below."""
        return self._implied_under(self.text)

    def _implied_under(self, text: str) -> Callable[[Phase], float]:
        by_layer: dict[Layer, list[Said]] = {}
        products: list[tuple[tuple[int, int, int], Said]] = []
        for phase, certificate in self.proof.known.get(text, {}).items():
            bound = inf if certificate is None else certificate.lower_bound
            by_layer.setdefault(phase.layer, []).append((phase, bound))
            if phase.layer == Layer.gemm(phase.layer.Y, phase.layer.K, phase.layer.C):
                products.append(((phase.layer.Y, phase.layer.K, phase.layer.C), (phase, bound)))

        @cache
        def of_parts(layer: Layer, held: tuple[str, ...], returned: bool) -> list[tuple[int, float]]:
            """What products say of their equal parts, by the room that is taken."""
            if layer != Layer.gemm(layer.Y, layer.K, layer.C):
                return []
            found = []
            for (rows, columns, sums), (one, bound) in products:
                sums_too = sums == layer.C or (returned and sums % layer.C == 0)
                equal = not rows % layer.Y and not columns % layer.K and sums_too
                if equal and set(held) <= set(one.held) and (returned or not one.returned):
                    found.append((one.taken, bound * (layer.macs / one.layer.macs)))
            return found

        def implied(phase: Phase) -> float:
            if phase.taken > self.room:
                return inf
            bounds = [
                bound
                for one, bound in by_layer.get(phase.layer, [])
                if set(phase.held) <= set(one.held)
                and one.taken <= phase.taken
                and (phase.returned or not one.returned)
            ]
            parts = of_parts(phase.layer, phase.held, phase.returned)
            bounds += [bound for taken, bound in parts if taken <= phase.taken]
            return max(bounds, default=0.0)

        return implied

    def _after(self, layer: int, staying: frozenset[int]) -> Found:
        """The least of the layers from one on, where these tensors stay from before."""
        if layer == len(self.chain.layers):
            return 0.0, ()
        key = layer, staying
        if key not in self.memo:
            steps = (self._step(layer, end, staying) for end in self._ends(layer))
            options = [one for step in steps for one in step]
            self.memo[key] = min(options, key=lambda one: one[0], default=(inf, ()))
        return self.memo[key]

    def _ends(self, layer: int) -> Iterator[int]:
        """The last layers of what may be run as one from a layer on."""
        yield layer
        if not self.proof.home:
            return
        if self._streams(layer):
            yield layer + 1
            return
        for end in range(layer + 1, min(layer + self.most, len(self.chain.layers))):
            one, two = self.chain.layers[end - 1 : end + 1]
            products = product_like(one) and product_like(two) and one.Y * one.X == two.Y * two.X
            needed = {edge.whole for edge in self.chain.edges if edge.source == one.name}
            split = needed - {"", "K"}
            if not products or one.K != two.C or split or not self._handed_on(end - 1):
                return
            yield end

    def _streams(self, maker: int) -> bool:
        """Whether a layer may keep rows of what it makes for the next, and one of both is no product."""
        pair = self.chain.layers[maker : maker + 2]
        if len(pair) < 2 or not self.proof.programs[0].lines or all(map(product_like, pair)):
            return False
        one, two = pair
        channels = one.C if one.type == "DSCONV" else one.K
        if any(dim in edge.whole for edge in self.chain.edges if edge.source == one.name for dim in "BY"):
            return False
        whole = all(layer.groups == layer.batch == 1 for layer in pair)
        whole &= channels == two.C and one.output == (two.Y, two.X)
        skips = (two.R - 1) * two.dilation[0] + 1 < two.stride[0]
        return whole and not skips and self._handed_on(maker)

    def _handed_on(self, maker: int) -> bool:
        """Whether the next layer alone reads what one makes, as its input and in the same runs."""
        one, two = self.chain.layers[maker : maker + 2]
        reading = [(edge.reader, edge.operand) for edge in self.chain.edges if edge.source == one.name]
        runs = runs_of(self.chain, maker) == runs_of(self.chain, maker + 1)
        runs &= one.name not in dict(self.chain.also_read)
        return runs and reading == [(two.name, "I")] and maker in self.may

    def _step(self, layer: int, end: int, staying: frozenset[int]) -> Iterator[Found]:
        """One step, for each choice of what stays from it on."""
        inside = set(range(layer, end))
        if inside & staying:
            return
        new = {maker for at in range(layer, end + 1) for maker in self.need[at]} & self.may - inside
        new -= {maker for at in range(layer) for maker in self.need[at]}
        here = sorted(new)
        for mask in range(2 ** len(here)):
            now = staying | {one for bit, one in enumerate(here) if mask >> bit & 1}
            # The layers of a group take turns: all that is alive at any of them is there at once.
            alive: dict[int, int] = {}
            for at in range(layer, end + 1):
                for maker, words in self.need[at].items():
                    alive[maker] = max(alive.get(maker, 0), words)
            taken = sum(words for maker, words in alive.items() if maker in now)
            if taken > self.room:
                continue
            value, groups = self._cost(layer, end, now, taken)
            later = frozenset(
                one for one in now if any(one in self.need[at] for at in range(end + 1, len(self.need)))
            )
            rest, more = self._after(end + 1, later)
            total = value * runs_of(self.chain, layer) + rest
            if total < inf:
                yield total, (*groups, *more)

    def _cost(self, layer: int, end: int, now: frozenset[int], taken: int) -> Found:
        if layer == end:
            held = staying_operands(self.chain, layer, set(now))
            return self.implied(Phase(self.chain.layers[layer], tuple(sorted(held)), taken)), ()
        group = self._group(layer, end, now, taken)
        if group not in self.floors:
            assert self.floor is not None
            products = all(map(product_like, group.layers))
            return self.floor.cheap(group) if products else 0.0, (group,)
        return self.floors[group], ()

    def _group(self, layer: int, end: int, now: frozenset[int], taken: int) -> Group:
        """The group of some layers, told by what stays."""
        layers = self.chain.layers[layer : end + 1]
        held = [staying_operands(self.chain, at, set(now)) for at in range(layer, end + 1)]
        rows = tuple(
            any(
                edge.whole_rows for edge in self.chain.edges if (edge.reader, edge.operand) == (one.name, "I")
            )
            for one in layers[1:]
        )
        sizes, first = self.proof.programs[0].sizes[layers[0]], layers[0]
        count = {"I": first.Y * first.X * first.C, "W": first.K * first.C, "O": first.Y * first.X * first.K}
        wide = tuple(sizes[name] // count[name] for name in ("I", "W", "O"))
        weights = tuple(at for at, one in enumerate(held) if "W" in one)
        return Group(
            layers, rows, "I" in held[0], "O" in held[-1], taken, (wide[0], wide[1], wide[2]), weights
        )


def product_like(layer: Layer) -> bool:
    """Whether a layer is a matrix product or reads as one does."""
    one = layer.R == layer.S == layer.groups == layer.stride[0] == layer.stride[1] == 1
    return layer.type == "CONV" and one and not any(layer.padding)


def line_floor(
    proof: ChainProof,
    residence: Residence,
    text: str,
    weights: tuple[float, float] = (0.0, 0.0),
    implied: Callable[[Phase], float] = lambda phase: 0.0,
    by_energy: Callable[[Phase], float] = lambda phase: 0.0,
) -> LineFloor | None:
    """What bounds and rooms of line buffers are judged by; None where there are none."""
    if residence.tiles is None or proof.home is None:
        return None
    problem = proof.problem.with_changes(objective=text)

    @cache
    def sizes(layer: Layer) -> Mapping[str, int]:
        return residence.sizes(problem.with_changes(layer=layer))

    home, tiles = proof.home, residence.tiles
    return LineFloor(problem, tiles, sizes, home.room, weights, implied, by_energy, home.may_hold)


def runs_of(chain: Chain, place: int) -> int:
    """How often a layer is run in one run of the chain."""
    return chain.layers[place].repeats // chain.times


def staying_operands(chain: Chain, layer: int, staying: set[int]) -> set[str]:
    """Which operands of a layer stay."""
    name = chain.layers[layer].name
    elsewhere = any(name == one for one, _ in chain.also_read)
    held = {"O"} if layer in staying and not elsewhere else set()
    for edge in chain.edges:
        if edge.reader == name and edge.operand and chain.place(edge.source) in staying:
            held.add(edge.operand)
    return held


def may_stay(proof: ChainProof, chain: Chain) -> set[int]:
    """Tensors that each reader takes whole, counted anew from the layers' sizes."""
    found = set()
    for maker, layer in enumerate(chain.layers):
        rows, columns = layer.output
        made = (layer.K if layer.type == "CONV" else layer.C) * rows * columns * runs_of(chain, maker)
        edges = [edge for edge in chain.edges if edge.source == layer.name]
        whole = [_takes(chain, edge.reader, edge.operand, made) for edge in edges]
        lost = proof.home and "O" not in proof.home.keeps and layer.name in dict(chain.also_read)
        if edges and all(whole) and proof.home and not lost:
            found.add(maker)
    return found


def _takes(chain: Chain, reader: str, operand: str, made: int) -> bool:
    place = chain.place(reader)
    layer: Any = chain.layers[place]
    sizes = {"I": layer.Y * layer.X * layer.C, "W": layer.R * layer.S * layer.K * layer.C}
    return not operand or sizes[operand] * runs_of(chain, place) == made
