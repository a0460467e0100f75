"""Proving the least cost of a chain whose intermediates may stay on chip."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from dse.core.certificate import Certificate
from dse.core.edges import OUTPUT, Chain
from dse.core.layer import Layer
from dse.core.objective import Objective, objective_named
from dse.core.problem import AnyProblem
from dse.core.residence import Home, Phase, Residence
from dse.optimum.chains.program import MAX_GROUP, Program
from dse.optimum.chains.proofs import Proofs, Prove
from dse.optimum.chains.result import ChainProof, Run, Schedule, Shared
from dse.optimum.chains.sharing import Sharing
from dse.optimum.chains.tilings import Group
from dse.optimum.chains.whole import Path, Settling, phase_of
from dse.optimum.executor import Machine, execute_chain, is_executed
from dse.optimum.lines import Choice, Closed, Line, LineSearch, sum_of
from dse.support.errors import InputError


def certify_chains(
    chains: Sequence[Chain],
    make: Callable[[Layer], AnyProblem],
    residence: Residence,
    prove: Prove,
    *,
    most: int = MAX_GROUP,
    lines: bool = False,
    over: Callable[[], bool] = lambda: False,
) -> ChainProof:
    """The least cost of all runs of a network's chains, one after another; a lone layer is a chain of one.

    At most so many neighbours share tiles; with `lines`, two convolutions may have a line buffer. `make`
    gives each layer's problem, `prove` proves one. Energy and latency are sums over layers: layers do not
    overlap. A product of both is closed by lines, as a network's total is. Once the time is `over`, each
    layer has its first proof all the same, and what is known by then is returned. InputError for another
    objective. The schedule is executed, if its chain is small: RefusedError where it cannot be.
    """
    began = time.perf_counter()
    problems = {layer: make(layer) for chain in chains for layer in chain.layers}
    problem = problems[chains[0].layers[0]]
    objective = refuse_objective(problem.objective)
    if limits := problem.options.get("limits"):
        raise InputError(f"chains know no limits of your own: leave {limits[0]!r} out")
    home = residence.home(problem)
    sizes = {layer: residence.sizes(one) for layer, one in problems.items()}
    if residence.tiles is None or (home and home.whole_only):
        most = 1
    if home and lines:
        home.refuse_sharing("line buffers")
    lines = lines and residence.tiles is not None
    copies = home is not None and OUTPUT in home.keeps
    programs = tuple(Program(chain, sizes if home else {}, most, lines, copies) for chain in chains)
    for program in programs:
        program.refuse()
    work = _Work(programs, problem, residence, home, prove, over)
    if set(objective.exponents) == {"energy", "latency"}:
        found = _product(work, objective)
    else:
        found = _sum(work, objective.name)
    _see_that_it_runs(found)
    return replace(found, seconds=time.perf_counter() - began)


def machine_of(proof: ChainProof) -> Machine:
    """What an execution of the proof's schedule has to know of the hardware."""
    sizes = {layer: one for program in proof.programs for layer, one in program.sizes.items()}
    if proof.home is None:
        nothing = {"W": 0, "I": 0, "O": 0}
        sizes = {layer: nothing for program in proof.programs for layer in program.chain.layers}
    return Machine(proof.home.room if proof.home else 0, sizes)


def _see_that_it_runs(proof: ChainProof) -> None:
    """Execute the schedules of small chains; those of larger ones `check_chain` does. RefusedError if not."""
    if proof.best is None:
        return
    schedule, machine = proof.to_dict(), machine_of(proof)
    for program in proof.programs:
        if len(program.chain.layers) > 1 and is_executed(program.chain):
            execute_chain(program.chain, schedule, machine)


def refuse_objective(text: str) -> Objective:
    """The objective, if it adds up over layers or is a product of what does; InputError of another."""
    objective = objective_named(text)
    exponents = set(objective.exponents)
    plain = exponents in ({"energy"}, {"latency"}) and all(
        power == 1 for power in objective.exponents.values()
    )
    if objective.caps or not (plain or exponents == {"energy", "latency"} or objective.weights):
        raise InputError(
            f"--chains is of energy, latency, weighted sums of them or products such as edp, got {text!r}"
        )
    return objective


@dataclass
class _Work:
    programs: tuple[Program, ...]
    problem: AnyProblem
    residence: Residence
    home: Home | None
    prove: Prove
    over: Callable[[], bool]
    siblings: dict[str, Proofs] = field(default_factory=dict)
    settlings: dict[str, list[Settling]] = field(default_factory=dict)

    @property
    def every(self) -> dict[str, dict[Phase, Certificate | None]]:
        """What is proven of phases, by objective."""
        return {text: one.known for text, one in self.siblings.items()}

    def settle(self, text: str, room: int) -> tuple[float, list[Path], list[Settling]]:
        """The least bound of all, and the best known path of one run of each chain, under a sum."""
        settlings = self._settlings(text)
        found = [one.settle(room) for one in settlings]
        bound = sum(one * program.chain.times for (one, _), program in zip(found, self.programs, strict=True))
        return bound, [path for _, path in found], settlings

    def _settlings(self, text: str) -> list[Settling]:
        """What proves each chain under an objective."""
        if text not in self.settlings:
            one = Proofs(self.residence, self.problem, text, self.prove, self.siblings)
            proofs = one.of(text)
            self.settlings[text] = [
                Settling(program, proofs, self.home, self.over) for program in self.programs
            ]
        return self.settlings[text]

    def schedule(self, paths: list[Path], settlings: list[Settling], objective: Objective) -> Schedule | None:
        """The paths with each layer's mapping; None where one has none."""
        if any(path.cost == inf for path in paths):
            return None
        runs: list[Run] = []
        shared: list[Shared] = []
        staying: list[str] = []
        for path, one in zip(paths, settlings, strict=True):
            chain, program = one.program.chain, one.program
            for step in path.steps:
                place, end = step
                count = program.runs[place] * chain.times
                if place < end:
                    group = program.group(*step, path.staying)
                    shared.append(_shared(one.sharing(step, path.staying), group, count))
                    continue
                phase = phase_of(program, place, path.staying)
                certificate = one.proofs.known[phase]
                assert certificate is not None
                assert certificate.best is not None
                runs.append(Run(chain.names[place], phase, count, certificate.best))
            staying += [chain.names[maker] for maker in sorted(path.staying)]
        return scheduled(tuple(staying), runs, shared, self.problem, objective)


def _shared(sharing: Sharing, group: Group, count: int) -> Shared:
    """The best tiling of a group, with its mappings; the layers of an equal one may have other names."""
    _, tiling = sharing.best
    assert tiling is not None
    cost = sharing.figures(tiling)
    assert cost is not None
    names = [layer.name for layer in group.layers]
    own = type(sharing)(group, sharing.home, sharing.tiles, sharing.proofs)
    tiling = own.listed[sharing.listed.index(tiling)]
    runs = tuple(
        Run(names[part.place], part.phase, part.count * count, best)
        for part, best in zip(tiling.parts, cost.mappings, strict=True)
    )
    return Shared(group, tiling, count, runs, cost.joules, cost.cycles)


def scheduled(
    staying: tuple[str, ...], runs: list[Run], shared: list[Shared], problem: AnyProblem, objective: Objective
) -> Schedule:
    """A schedule with its totals."""
    joules = sum(run.best.energy_nj * 1e-9 * run.count for run in runs)
    joules += sum(one.joules * one.count for one in shared)
    cycles = sum(run.best.cycles * run.count for run in runs) + sum(one.cycles * one.count for one in shared)
    seconds = cycles * problem.accelerator.cycle_seconds
    loss = objective.total({"energy": joules, "latency": seconds})
    return Schedule(staying, tuple(runs), joules, seconds, loss, tuple(shared))


def _sum(work: _Work, text: str) -> ChainProof:
    """The proof of a sum over layers."""
    objective = objective_named(text)
    room = work.home.room if work.home else 0
    schedules = []
    for most in (0, room):
        lower, paths, proofs = work.settle(text, most)
        schedules.append(work.schedule(paths, proofs, objective))
    alone, best = schedules
    # Sums that are equal may be rounded otherwise.
    if best is not None and lower >= best.loss * (1 - 1e-12):
        lower = best.loss
    return ChainProof(work.programs, work.problem, work.home, text, lower, best, alone, work.every)


class _Lines(LineSearch):
    """Lines of a chain: each the least of a weighted sum of its energy and latency."""

    def __init__(self, work: _Work, objective: Objective, room: int) -> None:
        super().__init__(objective)
        self.work, self.room = work, room

    def draw(self, energy: float, latency: float) -> bool:
        """See LineSearch. The first three, which all others lie between, are drawn in any case."""
        if len(self.lines) >= 3 and self.work.over():
            return False
        bound, paths, proofs = self.work.settle(sum_of(energy, latency), self.room)
        schedule = self.work.schedule(paths, proofs, self.objective)
        if schedule is None:
            return False
        choice = Choice((schedule,), schedule.seconds, schedule.joules)
        self.lines.append(Line(energy, latency, bound, choice, ()))
        return True


def _product(work: _Work, objective: Objective) -> ChainProof:
    """The proof of a product of totals."""
    found: list[Closed | None] = []
    lines: dict[tuple[float, float], float] = {}
    for room in (0, work.home.room if work.home else 0):
        search = _Lines(work, objective, room)
        _, paths, proofs = work.settle("energy", room)
        first = work.schedule(paths, proofs, objective)
        closed = search.close(Choice((first,), first.seconds, first.joules)) if first else None
        found.append(closed)
        lines = {(line.energy, line.latency): line.least for line in search.lines}
    alone, best = (one.best.mappings[0] if one else None for one in found)
    lower = found[-1].lower_bound if found[-1] else inf
    return ChainProof(
        work.programs, work.problem, work.home, objective.name, lower, best, alone, work.every, lines
    )
