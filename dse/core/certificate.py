"""What a proof says: the best mapping, the bound below which there is none, and what was looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dse.core.evaluations import Evaluations
from dse.core.listed import Listed
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError
from dse.support.strict_json import plain
from dse.support.validation import check_table

OPTIMAL, BOUNDED, INFEASIBLE = "optimal", "bounded", "infeasible"
STATUSES = (OPTIMAL, BOUNDED, INFEASIBLE)


@dataclass(frozen=True)
class Incumbent:
    """The best mapping that a proof has found, as the cost model prices it.

    A search's `Best` has the sample that found it too; here nothing is sampled.
    """

    loss: float
    genes: tuple[int, ...]
    cycles: int
    energy_nj: float
    macs: int
    l1_size: int
    l2_size: int
    mapping: Any

    def tie_break(self, objective: str) -> float:
        """What decides between it and another of the same loss."""
        return float(self.cycles) if objective_named(objective).of_energy_alone else self.energy_nj


@dataclass(frozen=True)
class Counts:
    """What was bounded and what was priced: boxes of mappings, as the engine of proofs divides them.

    `groups` are those that were not divided further: `too_large` of them have no mapping that fits or keeps
    the limits, `bounded` cannot beat the best by their bound, `solved` had their mappings priced, and `open`
    were left when the time ran out. `inner_levels` are all boxes that were bounded. `mappings` is how many
    mappings the space holds.
    """

    groups: int
    too_large: int
    bounded: int
    solved: int
    open: int
    inner_levels: int
    mappings: int


@dataclass(frozen=True)
class Ties:
    """The proof about mappings as good as the best: of `objective`, as in `energy where latency <= 0.001`."""

    objective: str
    proof: Certificate

    def to_dict(self) -> dict[str, Any]:
        """What is proven, as plain data; the bound is in the other figure's unit."""
        return {"objective": self.objective} | self.proof.in_short


@dataclass(frozen=True)
class Beside:
    """The proof over other nests of loops than those of a certificate, `even` or `uneven`: none is better."""

    nests: str
    proof: Certificate

    def to_dict(self) -> dict[str, Any]:
        """What is proven, as plain data."""
        return {"nests": self.nests} | self.proof.in_short


@dataclass(frozen=True)
class Certificate:
    """The optimum of a problem, with what is needed to check it.

    `status` is `optimal` (no mapping of the space is better than `best`), `bounded` (the time ran out, or
    there is no more than a floor: none is below `lower_bound`) or `infeasible` (the space has no feasible
    mapping; `best` is None and `lower_bound` inf). Losses are in the objective's unit. Where there are
    `ties`, `best` has, of the mappings with the least latency, the least energy, or the reverse, as far as
    their proof got (`proof.status`, `proof.lower_bound`).

    `seconds` are those of this run, `earlier_seconds` those of the runs that it went on from. `unsettled` are
    the boxes that a later run goes on with. `tiles` are those that `dse.certify` proved over, perfect
    "factors" or "any", and `nests` on machines of levels "even" or "uneven"; `beside` is what was proven over
    the others, if that was tried. `within` are mappings near the optimum, where they were asked for.
    """

    fingerprint: str
    status: str
    lower_bound: float
    best: Incumbent | None
    counts: Counts
    seconds: float
    cached: bool = False
    earlier_seconds: float = 0.0
    unsettled: bytes = field(default=b"", repr=False, compare=False)
    tiles: str = field(default="factors", compare=False)
    nests: str = field(default="", compare=False)
    ties: Ties | None = field(default=None, compare=False)
    beside: Beside | None = field(default=None, compare=False)
    within: Listed | None = field(default=None, compare=False, repr=False)

    @property
    def in_short(self) -> dict[str, Any]:
        """How it ended, as plain data."""
        names = ("status", "lower_bound", "fingerprint", "seconds", "cached")
        return {name: plain(getattr(self, name)) for name in names}

    @property
    def own_seconds(self) -> float:
        """Seconds of this run: none of a certificate that was kept."""
        return 0.0 if self.cached else self.seconds

    @property
    def all_seconds(self) -> float:
        """Seconds of this run and of those before it."""
        return self.earlier_seconds + self.seconds

    @property
    def gap(self) -> float:
        """How far `best` is above `lower_bound`, as a share of it: 0 if optimal, inf without a best."""
        return math.inf if self.best is None else gap_between(self.best.loss, self.lower_bound)

    def regret(self, losses: ArrayLike) -> FloatArray:
        """How far losses of the same problem are above the lower bound, as shares of it.

        An infinite loss has infinite regret. Nothing may be below 0: see `beaten_by`.
        """
        found = np.asarray(losses, dtype=np.float64)
        if self.status == INFEASIBLE:
            return np.full(found.shape, np.inf)
        return found / self.lower_bound - 1.0

    def beaten_by(self, losses: ArrayLike) -> str | None:
        """A sentence that says so if some loss of the same problem refutes the certificate, else None."""
        least = float(np.min(np.asarray(losses, dtype=np.float64), initial=np.inf))
        if not least < self.lower_bound:
            return None
        return (
            f"CERTIFICATE BEATEN: a feasible mapping has loss {least!r}, below {self.lower_bound!r}, which "
            f"was proven to be the least of problem {self.fingerprint[:12]}; please report it"
        )

    def to_dict(self, problem: AnyProblem, layer: str, accelerator: str) -> dict[str, Any]:
        """The certificate as plain data, under the names that the user gave the layer and the accelerator."""
        return {
            "layer": layer,
            "accelerator": accelerator,
            "objective": problem.objective,
            "cost_model": problem.model_spec,
            "tiles": problem.options["tiles"],
            **({"nests": nests} if (nests := getattr(problem.accelerator, "nests", "")) else {}),
            "fixed": problem.space.fixed,
            **{name: value for name, value in problem.options.items() if name == "limits"},
            "status": self.status,
            "lower_bound": plain(self.lower_bound),
            "gap": plain(self.gap),
            "best": self._best_dict(problem),
            **({} if self.ties is None else {"ties": self.ties.to_dict()}),
            **({} if self.beside is None else {"beside": self.beside.to_dict()}),
            **({} if self.within is None else {"within": self.within.to_dict()}),
            "certificate": {
                "fingerprint": self.fingerprint,
                **asdict(self.counts),
                "seconds": self.seconds,
                "earlier_seconds": self.earlier_seconds,
                "cached": self.cached,
            },
        }

    def _best_dict(self, problem: AnyProblem) -> dict[str, Any] | None:
        best = self.best
        if best is None:
            return None
        there = problem.on_machine_of(best.genes)
        figures = {item.name: getattr(best, item.name) for item in fields(best) if item.name != "mapping"}
        return {
            **figures,
            "genes": list(best.genes),
            # As in a search's result, where it says which sample it was.
            "index": None,
            "mapping": best.mapping.to_dict(),
            **({"use": used} if (used := there.limited(best.mapping)) else {}),
            **({"accelerator": there.accelerator.to_dict()} if problem.hardware_of(best.genes) else {}),
            "case": there.case(best.mapping),
        }


def begun_with(problem: AnyProblem, best: Incumbent) -> Certificate:
    """What a proof that is not begun yet may know: a good mapping of fewer nests, or of other tiles."""
    return Certificate(problem.fingerprint, BOUNDED, 0.0, best, Counts(0, 0, 0, 0, 0, 0, 0), 0.0)


class ProofInterrupted(KeyboardInterrupt):
    """Ctrl-C ended the time of a proof: `certificate` is what it has come to, and is kept as any other is."""

    def __init__(self, certificate: Certificate) -> None:
        super().__init__()
        self.certificate = certificate


def gap_between(loss: float, bound: float) -> float:
    """How far a loss is above a bound, as a share of it; inf above a bound of 0."""
    if loss <= bound:
        return 0.0
    return loss / bound - 1.0 if bound > 0 else math.inf


def priced_mapping(problem: AnyProblem, mapping: Any) -> Incumbent | None:
    """The mapping as the problem prices it; None if it is not feasible."""
    figures = problem.evaluate(mapping)
    return None if figures.reason[0] != 0 else _best(figures, problem.vectors([mapping])[0], mapping)


def priced_point(problem: AnyProblem, genes: ArrayLike) -> Incumbent | None:
    """Likewise of a point (genes,) of the problem's space, which may say what the hardware is."""
    points = np.array([genes], dtype=np.int64)
    return _best(problem.price(points), points[0], problem.space.decode(points)[0])


def _best(figures: Evaluations, genes: IntArray, mapping: Any) -> Incumbent | None:
    if figures.reason[0] != 0:
        return None
    return Incumbent(
        loss=float(figures.loss[0]),
        genes=tuple(genes.tolist()),
        cycles=int(figures.cycles[0]),
        energy_nj=float(figures.energy_nj[0]),
        macs=int(figures.macs[0]),
        l1_size=int(figures.l1_size[0]),
        l2_size=int(figures.l2_size[0]),
        mapping=mapping,
    )


def _kept_best(problem: AnyProblem, best: Mapping[str, Any]) -> Incumbent | None:
    """The best mapping of a certificate's plain data, or its point, which may say the machine."""
    if problem.hardware_genes:
        return priced_point(problem, best["genes"])
    return priced_mapping(problem, problem.read_mapping(best["mapping"], "certificate: mapping"))


def from_dict(data: object, problem: AnyProblem) -> Certificate:
    """The certificate of `problem` in the plain data of `to_dict`, its best mapping priced anew.

    InputError if it is another problem's, malformed, or not what the cost model says today.
    """
    try:
        entry = check_table(data, "certificate")
        about: Mapping[str, Any] = entry["certificate"]
        best = _kept_best(problem, entry["best"]) if entry["best"] else None
        found = Certificate(
            fingerprint=about["fingerprint"],
            status=entry["status"],
            lower_bound=math.inf if entry["lower_bound"] is None else entry["lower_bound"],
            best=best,
            counts=Counts(**{item.name: about[item.name] for item in fields(Counts)}),
            seconds=about["seconds"],
            cached=True,
            earlier_seconds=about["earlier_seconds"],
        )
        claimed = entry["best"]["loss"] if entry["best"] else None
    except (KeyError, TypeError) as error:
        raise InputError(f"not a certificate: {error}") from None
    if found.fingerprint != problem.fingerprint or found.status not in STATUSES:
        raise InputError("the certificate is of another problem")
    if claimed != (best.loss if best else None) or (found.status == OPTIMAL and found.lower_bound != claimed):
        raise InputError("the certificate's best mapping is not priced as it says")
    return found
