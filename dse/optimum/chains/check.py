"""Whether a chain's proof holds, in code that shares nothing with the solver.

The schedule is gone through run by run to see what is alive; its bound is found again by trying, from the
last layer back, every set of tensors that may stay, with what the proofs of phases imply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, inf

from dse.core.certificate import Certificate
from dse.core.edges import Chain
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.core.proofs import Check
from dse.core.residence import Phase, Residence
from dse.optimum import verify
from dse.optimum.chains.check_bound import Bound, Moments, line_floor, product_like, runs_of, staying_operands
from dse.optimum.chains.check_tiles import needed_room
from dse.optimum.chains.result import ChainProof, Schedule, Shared
from dse.optimum.chains.tilings import Move
from dse.optimum.executor import Machine, executed_check

ROUNDED = 1e-9
MAX_TURNS = 4
"""Runs of layers in turns that are gone through: from the second on each is as the one before."""

Parts = list[tuple[Chain, Moments]]


def check_chain(proof: ChainProof, residence: Residence) -> tuple[Check, ...]:
    """Check all of it: the proofs of phases, the schedule's room and cost, and the bound."""
    if proof.best is None:
        return (Check("there is a schedule", proof.lower_bound == inf, "none is claimed"),)
    parts = [(program.chain, _moments(proof, program.chain)) for program in proof.programs]
    return (
        _phases(proof, residence),
        _room(proof, proof.best, residence, parts),
        _cost(proof, proof.best, residence),
        _bound(proof, residence, parts),
        _executed(proof),
    )


def _executed(proof: ChainProof) -> Check:
    """The schedule is run as it is printed, by what the network's source says of who reads what."""
    chains = [program.chain for program in proof.programs]
    sizes = {layer: one for program in proof.programs for layer, one in program.sizes.items()}
    nothing = {"W": 0, "I": 0, "O": 0}
    sizes = {layer: sizes.get(layer, nothing) for chain in chains for layer in chain.layers}
    return executed_check(chains, proof.to_dict(), Machine(proof.home.room if proof.home else 0, sizes))


def _phases(proof: ChainProof, residence: Residence) -> Check:
    """Every proof by the checks of its own cost model, or by that of a phase that has more room."""
    failed, seen = [], 0
    for text, proofs in proof.known.items():
        base = proof.problem.with_changes(objective=text)
        least: dict[Phase, list[float]] = {}
        for phase, certificate in sorted(proofs.items(), key=lambda one: one[0].taken):
            problem = residence.problem(base, phase)
            if certificate is None or problem is None:
                failed += [] if certificate is None and problem is None else [f"{phase}: room"]
                continue
            seen += 1
            roomier = least.setdefault(replace(phase, taken=0), [])
            if not (certificate.lower_bound in roomier and _priced_so(problem, certificate)):
                failed += [f"{phase}: {one.name}" for one in verify(problem, certificate) if not one.passed]
            roomier.append(certificate.lower_bound)
    return Check("the proofs of its phases hold", not failed, "; ".join(failed[:3]) or f"{seen} proofs")


def _priced_so(problem: AnyProblem, certificate: Certificate) -> bool:
    """Whether the best mapping of a certificate costs what it says that nothing is below."""
    if certificate.best is None:
        return False
    figures = problem.evaluate(certificate.best.mapping)
    return figures.reason[0] == 0 and float(figures.loss[0]) == certificate.lower_bound


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
        count = runs_of(chain, maker)
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


def _order(chain: Chain) -> list[tuple[int, int]]:
    """The runs of one run of the chain: layer and turn. Neighbours of equally many runs take turns."""
    found: list[tuple[int, int]] = []
    place, names = 0, len(chain.layers)
    while place < names:
        runs, end = runs_of(chain, place), place + 1
        if runs > 1 and chain.layers[place].product:
            while end < names and runs_of(chain, end) == runs and chain.layers[end].product:
                if _all_runs(chain, place, end):
                    break
                end += 1
        turns = min(runs, MAX_TURNS) if end - place > 1 else 1
        found += [(layer, turn) for turn in range(turns) for layer in range(place, end)]
        place = end
    return found


def _all_runs(chain: Chain, first: int, reader: int) -> bool:
    """Whether a layer waits for all runs of one of those before it."""
    names = chain.names
    return any(
        edge.reader == names[reader] and "B" in edge.whole and edge.source in names[first:reader]
        for edge in chain.edges
    )


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


def _room(proof: ChainProof, best: Schedule, residence: Residence, parts: Parts) -> Check:
    """What each run says that is taken must be no less than what is alive, beside a tile that fits."""
    wrong = []
    runs = {run.name: run for run in best.runs}
    for shared in best.shared:
        floor = line_floor(proof, residence, proof.objective)
        streamed = floor and not all(map(product_like, shared.group.layers))
        wrong += list(floor.wrong(shared) if floor and streamed else _shared_room(proof, shared))
    for chain, moments in parts:
        staying = {place for place, name in enumerate(chain.names) if name in best.staying}
        for layer, alive in moments:
            need = sum(words for maker, words in alive.items() if maker in staying)
            if chain.names[layer] not in runs:
                wrong += _in_a_group(best, chain, layer, staying, moments)
                continue
            run = runs[chain.names[layer]]
            if need > run.phase.taken or (proof.home and need > proof.home.room):
                wrong.append(f"{run.name}: {need} alive, {run.phase.taken} taken")
            wanted = staying_operands(chain, layer, staying)
            if set(run.phase.held) != wanted:
                wrong.append(f"{run.name}: holds {run.phase.held}, not {sorted(wanted)}")
    most = max((run.phase.taken for run in best.runs), default=0)
    return Check("what stays has its room", not wrong, "; ".join(wrong[:3]) or f"at most {most:,} taken")


def _in_a_group(best: Schedule, chain: Chain, layer: int, staying: set[int], moments: Moments) -> list[str]:
    """What is wrong with the group that a layer is in, of what stays outside of it.

    Its layers take turns: what is alive at any of them is alive at all.
    """
    name = chain.names[layer]
    found = [one for one in best.shared if name in (layer.name for layer in one.group.layers)]
    if len(found) != 1:
        return [f"{name}: run in {len(found)} groups"]
    group = found[0].group
    names = [one.name for one in group.layers]
    alive: dict[int, int] = {}
    for at, words in moments:
        if chain.names[at] in names:
            alive |= {maker: max(alive.get(maker, 0), count) for maker, count in words.items()}
    need = sum(words for maker, words in alive.items() if maker in staying)
    held, place = staying_operands(chain, layer, staying), names.index(name)
    said = {"W"} if place in group.weights else set()
    said |= {"I"} if place == 0 and group.reads else set()
    said |= {"O"} if name == names[-1] and group.makes else set()
    wrong = [] if held == said else [f"{name}: holds {sorted(said)}, not {sorted(held)}"]
    return wrong + ([f"{name}: {need} alive, {group.taken} taken"] if need > group.taken else [])


def _shared_room(proof: ChainProof, shared: Shared) -> Iterator[str]:
    """What is wrong with the room of a group's parts, and with how often they are run."""
    tiling, group = shared.tiling, shared.group
    kept = frozenset(f"W{one.place}" if one.tensor == "W" else one.tensor for one in tiling.moves)
    work = dict.fromkeys(range(len(group.layers)), 0)
    for part in tiling.parts:
        need, held = needed_room(group, tiling.rows, tiling.columns, kept, tiling.columns_outside, part.place)
        name = group.layers[part.place].name
        if need > part.phase.taken or (proof.home and need > proof.home.room):
            yield f"{name}: {need} alive, {part.phase.taken} taken"
        if not set(part.phase.held) <= held:
            yield f"{name}: holds {part.phase.held}, not {sorted(held)}"
        work[part.place] += part.count * part.phase.layer.macs
    for place, macs in work.items():
        if macs != group.layers[place].macs:
            yield f"{group.layers[place].name}: {macs} MACs of {group.layers[place].macs}"


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
    for shared in best.shared:
        spent, time = _shared_cost(proof, shared, residence)
        joules, cycles = joules + spent * shared.count, cycles + time * shared.count
    seconds = cycles * proof.problem.accelerator.cycle_seconds
    loss = objective_named(proof.objective).total({"energy": joules, "latency": seconds})
    same = abs(loss - best.loss) <= ROUNDED * loss and best.loss >= proof.lower_bound * (1 - ROUNDED)
    return Check("the schedule costs what is claimed", same, f"{loss:.9g}")


def _shared_cost(proof: ChainProof, shared: Shared, residence: Residence) -> tuple[float, float]:
    """Energy and cycles of one run of a group, its parts' mappings judged anew; inf if one does not fit."""
    joules = cycles = 0.0
    tiles = residence.tiles
    assert tiles is not None
    moves = list(shared.tiling.moves)
    for place, (part, run) in enumerate(zip(shared.tiling.parts, shared.runs, strict=True)):
        problem = residence.problem(proof.problem, part.phase)
        if problem is None or problem.evaluate(run.best.mapping).reason[0] != 0:
            return inf, inf
        figures = problem.evaluate(run.best.mapping)
        joules += part.count * float(figures.energy_nj[0]) * 1e-9
        ports = part.count * tiles.demands(problem, run.best.mapping)
        last = all(one.place != part.place for one in shared.tiling.parts[place + 1 :])
        for move in [one for one in moves if _comes(one, place, part.place, last=last)]:
            moves.remove(move)
            spent, more = tiles.moved(problem, move.tensor, move.words)
            joules, ports = joules + move.count * spent * 1e-9, ports + move.count * more
        cycles += max(ceil(max(ports) - ROUNDED), part.count * int(figures.cycles[0]))
    return joules, cycles


def _comes(move: Move, number: int, place: int, *, last: bool) -> bool:
    """Whether what is held comes or goes with a part of a layer, by its number among all parts."""
    if move.part is not None:
        return move.part == number
    return move.place == place and (move.tensor != "O" or last)


def _bound(proof: ChainProof, residence: Residence, parts: Parts) -> Check:
    """No choice of what stays is below the bound, by what the proofs imply; of a product, no corner."""
    claims = {text: _claimed(proof, text) for text in proof.known}
    least = {
        text: _sum(proof, residence, text, parts, claimed) for text, claimed in claims.items() if claimed
    }
    name = "no choice of what stays is below the bound"
    if not proof.lines:
        found = least[proof.objective]
    else:
        weights = [(text, _weights(text)) for text in least]
        found = _least_corner(proof, [(*pair, least[text]) for text, pair in weights])
    # A bound above what a schedule costs would be none.
    most = inf if proof.best is None else proof.best.loss * (1 + ROUNDED)
    holds = proof.lower_bound * (1 - ROUNDED) <= found <= most
    return Check(name, holds, f"{found:.9g} of {proof.lower_bound:.9g}")


def _claimed(proof: ChainProof, text: str) -> float:
    """What a sum is said not to be below: of a product, its line."""
    if not proof.lines:
        return proof.lower_bound if text == proof.objective else 0.0
    return proof.lines.get(_weights(text), 0.0)


def _sum(proof: ChainProof, residence: Residence, text: str, parts: Parts, claimed: float) -> float:
    """The least sum of all chains under an objective."""
    bounds = [Bound(proof, residence, text, _weights(text), *part) for part in parts]
    total = sum(one.least(0.0) * one.chain.times for one in bounds)
    if total < claimed * (1 - ROUNDED):
        total = sum(one.least(inf) * one.chain.times for one in bounds)
    return total


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
