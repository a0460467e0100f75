"""Whether a chain's proof holds, in code that shares nothing with the solver.

The schedule is gone through run by run to see what is alive; its bound is found again by trying, from the
last layer back, every set of tensors that may stay, with what the proofs of phases imply.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf
from typing import Any

from dse.core.edges import Chain
from dse.core.objective import objective_named
from dse.core.proofs import Check
from dse.core.residence import Residence
from dse.optimum import verify
from dse.optimum.chains.result import ChainProof, Schedule

ROUNDED = 1e-9
MOST_TURNS = 4
"""Runs of layers in turns that are gone through: from the second on each is as the one before."""

Parts = list[tuple[Chain, "Moments"]]
Moments = list[tuple[int, dict[int, int]]]
"""In running order: a layer, and the room of every tensor that may be alive then, by its maker."""


def check_chain(proof: ChainProof, residence: Residence) -> tuple[Check, ...]:
    """Check all of it: the proofs of phases, the schedule's room and cost, and the bound."""
    if proof.best is None:
        return (Check("there is a schedule", proof.lower_bound == inf, "none is claimed"),)
    parts = [(program.chain, _moments(proof, program.chain)) for program in proof.programs]
    return (
        _phases(proof, residence),
        _room(proof, proof.best, parts),
        _cost(proof, proof.best, residence),
        _bound(proof, parts),
    )


def _phases(proof: ChainProof, residence: Residence) -> Check:
    """Every proof by the checks of its own cost model."""
    failed, seen = [], 0
    for text, proofs in proof.known.items():
        for phase, certificate in proofs.items():
            problem = residence.problem(proof.problem.with_changes(objective=text), phase)
            if certificate is None or problem is None:
                failed += [] if certificate is None and problem is None else [f"{phase}: room"]
                continue
            seen += 1
            failed += [f"{phase}: {one.name}" for one in verify(problem, certificate) if not one.passed]
    return Check("the proofs of its phases hold", not failed, "; ".join(failed[:3]) or f"{seen} proofs")


def _moments(proof: ChainProof, chain: Chain) -> Moments:
    """What may be alive when: each tensor from its making to its last reading, of a run where turns allow."""
    sizes = proof.programs[0].sizes
    order = _order(chain)
    found: Moments = [(layer, {}) for layer, _ in order]
    for maker, layer in enumerate(chain.layers):
        readers = [edge.reader for edge in chain.edges if edge.source == layer.name]
        if not readers or layer not in sizes:
            continue
        words = sizes[layer]["O"]
        makes = [at for at, (place, _) in enumerate(order) if place == maker]
        reads = [at for at, (place, _) in enumerate(order) if chain.names[place] in readers]
        together = [_turn(order, at) for at in makes] and all(_turn(order, at) is not None for at in makes)
        inside = together and all(_turn(order, at) == _turn(order, makes[0]) for at in reads)
        count = _runs(chain, maker)
        for at in range(makes[0], max(reads) + 1):
            if inside:
                turn = order[at][1]
                first = min(one for one in makes if order[one][1] == turn)
                last = max(one for one in reads if order[one][1] == turn)
                alive = words if first <= at <= last else 0
            else:
                alive = words * count
            if alive:
                found[at][1][maker] = alive
    return found


def _runs(chain: Chain, place: int) -> int:
    return chain.layers[place].repeats // chain.times


def _order(chain: Chain) -> list[tuple[int, int]]:
    """The runs of one run of the chain: layer and turn. Neighbours of equally many runs take turns."""
    found: list[tuple[int, int]] = []
    place, names = 0, len(chain.layers)
    while place < names:
        runs, end = _runs(chain, place), place + 1
        if runs > 1 and chain.layers[place].product:
            while end < names and _runs(chain, end) == runs and chain.layers[end].product:
                end += 1
        turns = min(runs, MOST_TURNS) if end - place > 1 else 1
        found += [(layer, turn) for turn in range(turns) for layer in range(place, end)]
        place = end
    return found


def _turn(order: Sequence[tuple[int, int]], at: int) -> int | None:
    """The first layer of those that take turns at a moment; None where none do."""
    layer = order[at][0]
    often = {one for one, turn in order if turn > 0}
    if layer not in often:
        return None
    while layer - 1 in often and _same_block(order, layer - 1, layer):
        layer -= 1
    return layer


def _same_block(order: Sequence[tuple[int, int]], one: int, two: int) -> bool:
    """Whether the second turn of one layer comes before the second of the next, and after its first."""
    places = {entry: at for at, entry in enumerate(order)}
    return places[two, 0] < places[one, 1]


def _room(proof: ChainProof, best: Schedule, parts: Parts) -> Check:
    """What each run says that is taken must be no less than what is alive, beside a tile that fits."""
    wrong = []
    runs = {run.name: run for run in best.runs}
    for chain, moments in parts:
        staying = {place for place, name in enumerate(chain.names) if name in best.staying}
        for layer, alive in moments:
            run = runs[chain.names[layer]]
            need = sum(words for maker, words in alive.items() if maker in staying)
            if need > run.phase.taken or (proof.home and need > proof.home.room):
                wrong.append(f"{run.name}: {need} alive, {run.phase.taken} taken")
            wanted = _operands(chain, layer, staying)
            if set(run.phase.held) != wanted:
                wrong.append(f"{run.name}: holds {run.phase.held}, not {sorted(wanted)}")
    most = max((run.phase.taken for run in best.runs), default=0)
    return Check("what stays has its room", not wrong, "; ".join(wrong[:3]) or f"at most {most:,} taken")


def _operands(chain: Chain, layer: int, staying: set[int]) -> set[str]:
    name = chain.layers[layer].name
    held = {"O"} if layer in staying else set()
    for edge in chain.edges:
        if edge.reader == name and edge.operand and chain.place(edge.source) in staying:
            held.add(edge.operand)
    return held


def _cost(proof: ChainProof, best: Schedule, residence: Residence) -> Check:
    """The sum of what the mappings cost as they are judged anew."""
    joules = cycles = 0.0
    for run in best.runs:
        problem = residence.problem(proof.problem, run.phase)
        if problem is None:
            return Check("the schedule costs what is claimed", False, f"{run.name}: no room")
        figures = problem.evaluate(run.best.mapping)
        if figures.reason[0] != 0:
            return Check("the schedule costs what is claimed", False, f"{run.name}: not feasible")
        joules += float(figures.energy_nj[0]) * 1e-9 * run.count
        cycles += float(figures.cycles[0]) * run.count
    seconds = cycles * proof.problem.accelerator.cycle_seconds
    loss = objective_named(proof.objective).total({"energy": joules, "latency": seconds})
    same = abs(loss - best.loss) <= ROUNDED * loss and best.loss >= proof.lower_bound * (1 - ROUNDED)
    return Check("the schedule costs what is claimed", same, f"{loss:.9g}")


def _bound(proof: ChainProof, parts: Parts) -> Check:
    """No choice of what stays is below the bound, by what the proofs imply; of a product, no corner."""
    least = {text: sum(_least(proof, text, *part) * part[0].times for part in parts) for text in proof.known}
    name = "no choice of what stays is below the bound"
    if not proof.lines:
        found = least[proof.objective]
    else:
        weights = [(text, _weights(text)) for text in least]
        found = _least_corner(proof, [(*pair, least[text]) for text, pair in weights])
    return Check(name, found >= proof.lower_bound * (1 - ROUNDED), f"{found:.9g} of {proof.lower_bound:.9g}")


def _weights(text: str) -> tuple[float, float]:
    objective = objective_named(text)
    found = {figure.name: weight for figure, weight in objective.weights} or {text: 1.0}
    return found.get("energy", 0.0), found.get("latency", 0.0)


def _least_corner(proof: ChainProof, lines: list[tuple[float, float, float]]) -> float:
    """The least product above all lines: along the bent line that they leave, it is at an end."""
    objective = objective_named(proof.objective)
    floor = max(least / latency for energy, latency, least in lines if not energy)
    sloped = [(latency / energy, least / energy) for energy, latency, least in lines if energy]
    bends = {floor}
    for slope, start in sloped:
        bends |= {(start - other) / (slope - by) for by, other in sloped if by != slope}
    values = [
        objective.total({"energy": max(start - slope * at for slope, start in sloped), "latency": at})
        for at in bends
        if at >= floor * (1 - ROUNDED)
    ]
    return min(values)


def _least(proof: ChainProof, text: str, chain: Chain, moments: Moments) -> float:
    """The least sum of a run of the chain that the proofs of an objective allow, from the last layer back."""
    known = [
        (phase, inf if certificate is None else certificate.lower_bound)
        for phase, certificate in proof.known[text].items()
    ]
    room = proof.home.room if proof.home else 0
    need: list[dict[int, int]] = [{} for _ in chain.layers]
    for layer, alive in moments:
        for maker, words in alive.items():
            need[layer][maker] = max(need[layer].get(maker, 0), words)
    may = _may_stay(proof, chain)

    @cache
    def cost(layer: int, held: frozenset[str], taken: int) -> float:
        if taken > room:
            return inf
        implied = [
            bound
            for phase, bound in known
            if phase.layer == chain.layers[layer]
            and held <= set(phase.held)
            and phase.taken <= taken
            and not phase.returned
        ]
        return max(implied, default=0.0)

    @cache
    def after(layer: int, staying: frozenset[int]) -> float:
        if layer == len(chain.layers):
            return 0.0
        here = [one for one in need[layer] if one in may and not any(one in need[at] for at in range(layer))]
        least = inf
        for mask in range(2 ** len(here)):
            now = staying | {one for bit, one in enumerate(here) if mask >> bit & 1}
            taken = sum(words for maker, words in need[layer].items() if maker in now)
            value = cost(layer, frozenset(_operands(chain, layer, set(now))), taken) * _runs(chain, layer)
            later = frozenset(
                one for one in now if any(one in need[at] for at in range(layer + 1, len(need)))
            )
            least = min(least, value + after(layer + 1, later)) if value < inf else least
        return least

    return after(0, frozenset())


def _may_stay(proof: ChainProof, chain: Chain) -> set[int]:
    """Tensors that each reader takes whole, counted anew from the layers' sizes."""
    found = set()
    for maker, layer in enumerate(chain.layers):
        rows, columns = layer.output
        made = (layer.K if layer.type == "CONV" else layer.C) * rows * columns * _runs(chain, maker)
        edges = [edge for edge in chain.edges if edge.source == layer.name]
        whole = [_takes(chain, edge.reader, edge.operand, made) for edge in edges]
        if edges and all(whole) and proof.home:
            found.add(maker)
    return found


def _takes(chain: Chain, reader: str, operand: str, made: int) -> bool:
    place = chain.place(reader)
    layer: Any = chain.layers[place]
    sizes = {"I": layer.Y * layer.X * layer.C, "W": layer.R * layer.S * layer.K * layer.C}
    return not operand or sizes[operand] * _runs(chain, place) == made
