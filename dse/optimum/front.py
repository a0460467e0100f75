"""A layer's exact front: every pair of latency and energy that no mapping has better in both.

The first proof is that of the least energy. Each further one is of the least energy of all mappings that are
faster, by a cycle at least, than the point before; the last one proves that there are none. So there is no
point between two. Where a point takes as much energy as the one before, which happens where proofs break no
ties, the next proof is of the fastest with that energy. Every proof is kept like any other: a front whose
time ran out goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.core.certificate import BOUNDED, INFEASIBLE, OPTIMAL, Certificate, Incumbent
from dse.core.domains import prover_of
from dse.core.objective import parse_objectives
from dse.core.problem import AnyProblem
from dse.core.proofs import Check
from dse.optimum import certify, verify
from dse.search.fronts import dominated_volume, feasible_values, volumes_after
from dse.search.record import Record
from dse.support.arrays import FloatArray
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.core.clock import Now

BEYOND = 1.1
"""The reference point, as a factor of the worst of each figure on the exact front."""
FIGURES = ("energy", "latency")
LEAST_TIME = 0.01
"""Seconds of a proof that begins when the time is over: some bound is there all the same."""
RANDOM_MAPPINGS = 20_000


@dataclass(frozen=True)
class Step:
    """One proof of a front: of the least energy where latency is capped, or the reverse; its certificate."""

    objective: str
    certificate: Certificate


@dataclass(frozen=True)
class Front:
    """A layer's front: `optimal`, `bounded` where the time ran out, or `infeasible`."""

    problem: AnyProblem
    steps: tuple[Step, ...]

    @property
    def status(self) -> str:
        """As of a certificate: that of the last step, which has nothing left if it is proven."""
        if self.steps[0].certificate.status == INFEASIBLE:
            return INFEASIBLE
        return OPTIMAL if self.steps[-1].certificate.status == INFEASIBLE else BOUNDED

    @property
    def points(self) -> tuple[Incumbent, ...]:
        """The points that are proven, the fastest first."""
        proven = [
            one.certificate.best
            for one in self.steps
            if one.certificate.status == OPTIMAL and one.certificate.best
        ]
        kept: list[Incumbent] = []
        for point in reversed(proven):
            # Where a model's proofs break no ties, a slower one may take as much energy.
            if not kept or point.energy_nj < kept[-1].energy_nj:
                kept.append(point)
        return tuple(kept)

    @property
    def open(self) -> dict[str, Any] | None:
        """What is left of a bounded front: up to this latency no mapping takes less than this energy.

        `best` is the mapping of least energy that is known there, `gap` how far it is above, as a share.
        """
        if self.status != BOUNDED:
            return None
        last = self.steps[-1]
        if _is_of_latency(last):
            # Of what is as cheap as the point before, the fastest is not known: faster ones are no cheaper.
            before = self.steps[-2].certificate
            assert before.best is not None
            caps = parse_objectives(_below(self.problem, before.best))[0].caps
            return {"latency": caps[0][1], "energy": before.lower_bound, "gap": None, "best": None}
        caps = parse_objectives(last.objective)[0].caps
        return {
            "latency": caps[0][1] if caps else None,
            "energy": last.certificate.lower_bound,
            "gap": None if last.certificate.best is None else last.certificate.gap,
            "best": None if last.certificate.best is None else self._point(last.certificate.best),
        }

    @property
    def own_seconds(self) -> float:
        """Seconds that its proofs took in this run."""
        return sum(one.certificate.own_seconds for one in self.steps)

    def to_dict(self, layer: str, accelerator: str) -> dict[str, Any]:
        """The front as plain data, under the names that the user gave."""
        return {
            "layer": layer,
            "accelerator": accelerator,
            "objective": self.problem.objective,
            "cost_model": self.problem.model_spec,
            "tiles": self.problem.options["tiles"],
            "status": self.status,
            "points": [self._point(point) for point in self.points],
            "open": self.open,
            "proofs": [
                {
                    "objective": one.objective,
                    "status": one.certificate.status,
                    "fingerprint": one.certificate.fingerprint,
                }
                for one in self.steps
            ],
            "seconds": self.own_seconds,
            "earlier_seconds": sum(one.certificate.all_seconds for one in self.steps) - self.own_seconds,
        }

    def _point(self, point: Incumbent) -> dict[str, Any]:
        seconds, joules = figures_of(self.problem, point)
        return {
            "latency": seconds,
            "energy": joules,
            "cycles": point.cycles,
            "energy_nj": point.energy_nj,
            "l1_size": point.l1_size,
            "l2_size": point.l2_size,
            "genes": list(point.genes),
            "mapping": point.mapping.to_dict(),
        }


def figures_of(problem: AnyProblem, point: Incumbent) -> tuple[float, float]:
    """Its seconds and joules."""
    return point.cycles / float(problem.criteria.hertz), point.energy_nj * 1e-9


def refuse_front(problem: AnyProblem) -> None:
    """InputError unless the problem's front can be proven."""
    names = tuple(sorted(one.name for one in parse_objectives(problem.objective)))
    if names != FIGURES:
        raise InputError(
            "of several objectives, the front of 'latency, energy' can be certified, got "
            f"{problem.objective!r}"
        )
    prover = prover_of(problem.with_changes(objective="energy"))
    prover.refuse()
    if prover.floor_only or problem.hardware_genes:
        raise InputError("a front can be certified of space 'default' and one accelerator only")


def certify_front(
    problem: AnyProblem,
    time_limit: float | None = None,
    *,
    cache: bool | str | Path = True,
    now: Now = perf_counter,
) -> Front:
    """The exact front of latency and energy, or what `time_limit` seconds were enough for.

    `problem` has the objective `latency, energy`, else InputError; `cache` and `now` are as in `dse.certify`.
    """
    refuse_front(problem)
    objective, steps, left = "energy", [], time_limit
    while True:
        limit = None if left is None else max(left, LEAST_TIME)
        found = certify(problem.with_changes(objective=objective), limit, cache=cache, now=now)
        if left is not None:
            left -= found.own_seconds
        steps.append(Step(objective, found))
        if found.status != OPTIMAL or found.best is None:
            return Front(problem, tuple(steps))
        objective = _next(problem, steps)


def verify_front(front: Front, seed: int = 0) -> tuple[Check, ...]:
    """Check a front: its proofs in other code, that they leave nothing out, and random mappings."""
    failed = []
    for step in front.steps:
        checks = verify(front.problem.with_changes(objective=step.objective), step.certificate, seed)
        failed += [f"{step.objective}: {one.name}" for one in checks if not one.passed]
    return (
        Check("the proofs of the front hold", not failed, "; ".join(failed) or f"{len(front.steps)} proofs"),
        _whole(front),
        _undominated(front, np.random.default_rng(seed)),
    )


def as_dict(front: Front, layer: str, accelerator: str, *, check: bool = False) -> dict[str, Any]:
    """The front as plain data; with `check` it is verified, and `verified` says how."""
    verified = {"verified": [asdict(one) for one in verify_front(front)]} if check else {}
    return {**front.to_dict(layer, accelerator), **verified}


def _next(problem: AnyProblem, steps: Sequence[Step]) -> str:
    """The objective of the proof after these, of which the last one has a point."""
    point = steps[-1].certificate.best
    before = steps[-2].certificate.best if len(steps) > 1 else None
    assert point is not None
    if before is not None and before.energy_nj == point.energy_nj and not _is_of_latency(steps[-1]):
        return f"latency where energy <= {figures_of(problem, point)[1]!r}"
    return _below(problem, point)


def _is_of_latency(step: Step) -> bool:
    """Whether a proof is of the least latency."""
    return step.objective.startswith("latency")


def _below(problem: AnyProblem, point: Incumbent) -> str:
    """The objective of the least energy among all mappings that are faster than a point."""
    if point.cycles <= 1:
        # Nothing takes less than a cycle: a cap below it is one that all exceed.
        return f"energy where latency <= {0.5 / float(problem.criteria.hertz)!r}"
    return f"energy where latency <= {(point.cycles - 1) / float(problem.criteria.hertz)!r}"


def _whole(front: Front) -> Check:
    """Whether each proof begins where the one before it ended, and the last one leaves nothing."""
    name, asked = "no latency is left out between the proofs", "energy"
    for count, step in enumerate(front.steps, 1):
        if step.objective != asked:
            return Check(name, False, f"{step.objective} where {asked} follows")
        asked = _next(front.problem, front.steps[:count]) if step.certificate.best is not None else ""
    done = front.status != OPTIMAL or front.steps[-1].certificate.status == INFEASIBLE
    return Check(name, done, f"{len(front.points)} points, {front.status}")


def _undominated(front: Front, rng: np.random.Generator) -> Check:
    """Whether no mapping drawn at random is better in both than the front."""
    name = "random mappings are not beyond the front"
    costs = front.problem.price(front.problem.space.sample(rng, RANDOM_MAPPINGS))
    feasible = costs.reason == 0
    cycles, energy = costs.cycles[feasible], costs.energy_nj[feasible]
    if front.open is not None:
        cap = front.open["latency"]
        known = cycles > (np.inf if cap is None else cap * float(front.problem.criteria.hertz))
        cycles, energy = cycles[known], energy[known]
    beyond = ~pairs_covered(front.points, cycles, energy)
    return Check(name, not beyond.any(), f"{len(cycles):,} feasible ones of {RANDOM_MAPPINGS:,} drawn")


def pairs_covered(points: Sequence[Incumbent], cycles: Any, energy: Any) -> Any:
    """Whether, for each of some pairs, a point is no worse in both."""
    fast = np.array([point.cycles for point in points], dtype=np.float64)
    cheap = np.array([point.energy_nj for point in points] + [np.inf])
    # The slowest point that is no slower takes the least energy of those.
    place = np.searchsorted(fast, cycles, side="right") - 1
    return cheap[place] <= energy


def front_regret(front: Front, problem: AnyProblem, record: Record, after: Sequence[int]) -> FloatArray:
    """The share of the exact front's hypervolume that a record lacks after so many samples, ascending.

    Volumes are those of the figures' logarithms, so that a factor counts the same anywhere, up to a reference
    point of 1.1 times the largest latency and energy of the exact front (Zitzler and Thiele, IEEE TEVC 1999;
    Ishibuchi et al., Evolutionary Computation 2018; moocore).

    1 where nothing is found that dominates the reference point, 0 where the whole front is found. InputError
    where `front` is not proven, or not of the problem's objectives.
    """
    if front.status != OPTIMAL:
        raise InputError(f"regret needs the exact front, and this one is {front.status}")
    names = [one.name for one in parse_objectives(problem.objective)]
    if sorted(names) != sorted(FIGURES):
        raise InputError(f"regret is of latency and energy, got {problem.objective!r}")
    pairs = [figures_of(problem, point)[:: 1 if names[0] == "latency" else -1] for point in front.points]
    exact = np.log(np.array(pairs))
    reference = exact.max(axis=0) + np.log(BEYOND)
    samples, values = feasible_values(problem, record)
    found = volumes_after(samples, np.log(values), reference, after)
    # What is found again is priced to the same bits; sums of volumes may be rounded otherwise.
    return np.maximum(1.0 - found / dominated_volume(exact, reference), 0.0)
