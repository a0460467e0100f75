"""The proof of a chain: what stays on chip, what it costs, and what nothing is below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.core.certificate import BOUNDED, OPTIMAL, Certificate, Incumbent, gap_between
from dse.core.problem import AnyProblem
from dse.core.residence import Home, Phase
from dse.optimum.chains.program import Program
from dse.optimum.chains.tilings import Group, Tiling, is_product


@dataclass(frozen=True)
class Run:
    """One layer of the best schedule: the phase it is run as, its mapping, and how often."""

    name: str
    phase: Phase
    count: int
    best: Incumbent


@dataclass(frozen=True)
class Shared:
    """Layers that share tiles: how, each part's run, and what one run of the group costs."""

    group: Group
    tiling: Tiling
    count: int
    runs: tuple[Run, ...]
    joules: float
    cycles: float


@dataclass(frozen=True)
class Schedule:
    """Which tensors stay (by the layers that make them), and each layer's run; totals of all runs."""

    staying: tuple[str, ...]
    runs: tuple[Run, ...]
    joules: float
    seconds: float
    loss: float
    shared: tuple[Shared, ...] = ()

    def totals(self) -> dict[str, float]:
        """The totals as plain data."""
        return {"latency": self.seconds, "energy": self.joules, "edp": self.seconds * self.joules}


@dataclass(frozen=True)
class ChainProof:
    """The least cost of chains, one after another: no schedule of those considered is below `lower_bound`.

    `alone` is the least where nothing stays. `known` are the proofs that it stands on, by objective and
    phase; None of one for which there is no room. `lines` are what sums are not below, of a
    product, by their weights of energy and latency.
    """

    programs: tuple[Program, ...]
    problem: AnyProblem
    home: Home | None
    objective: str
    lower_bound: float
    best: Schedule | None
    alone: Schedule | None
    known: Mapping[str, Mapping[Phase, Certificate | None]]
    lines: Mapping[tuple[float, float], float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """As of a certificate."""
        return OPTIMAL if self.best is not None and self.lower_bound >= self.best.loss else BOUNDED

    @property
    def gap(self) -> float | None:
        """How far the best is above the bound, as a share."""
        return None if self.best is None else gap_between(self.best.loss, self.lower_bound)

    def to_dict(self) -> dict[str, Any]:
        """The proof as plain data."""
        home = self.home
        return {
            "chains": [self._chain(program) for program in self.programs if len(program.chain.layers) > 1],
            "home": None if home is None else home.to_dict(),
            "objective": self.objective,
            "status": self.status,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "turns": [turn for program in self.programs for turn in _turns(program)],
            "stays": list(self.best.staying) if self.best else None,
            "totals": self.best.totals() if self.best else None,
            "layer_by_layer": self.alone.totals() if self.alone else None,
            "gain": gain(self.alone, self.best, self.objective),
            "runs": [_run(run) for run in self.best.runs] if self.best else None,
            "shared": [_shared(one) for one in self.best.shared] if self.best else None,
            "proofs": sum(map(len, self.known.values())),
            "seconds": self.seconds,
        }

    def _chain(self, program: Program) -> dict[str, Any]:
        chain = program.chain
        tensors = program.tensors.values() if self.home else ()
        return {
            "layers": list(chain.names),
            "times": chain.times,
            "also_read": dict(chain.also_read),
            "could_stay": {chain.names[one.maker]: one.words for one in tensors},
        }


def gain(alone: Schedule | None, best: Schedule | None, objective: str) -> dict[str, float] | None:
    """How many times less each figure is than layer by layer."""
    if alone is None or best is None:
        return None
    before, after = alone.totals(), best.totals()
    found = {name: before[name] / after[name] for name in before}
    return found | {"objective": alone.loss / best.loss}


def _turns(program: Program) -> list[list[str]]:
    """The layers that are run turn by turn."""
    names = program.chain.names
    blocks = sorted({(start, end) for start, end in program.turns if start < end})
    return [list(names[start : end + 1]) for start, end in blocks]


def _shared(one: Shared) -> dict[str, Any]:
    tiling = one.tiling
    names = [layer.name for layer in one.group.layers]
    moves = [
        {"layer": names[move.place], "tensor": move.tensor, "words": move.words, "count": move.count}
        for move in tiling.moves
    ]
    return {
        "layers": names,
        "kind": "tiles" if all(map(is_product, one.group.layers)) else "lines",
        "moves": moves,
        "count": one.count,
        "rows": tiling.rows,
        "columns": list(tiling.columns),
        "columns_outside": tiling.columns_outside,
        "held": list(tiling.held),
        "energy_nj": one.joules * 1e9,
        "cycles": one.cycles,
        "runs": [_run(run) | {"part": run.phase.layer.to_dict()} for run in one.runs],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "layer": run.name,
        "count": run.count,
        "held": list(run.phase.held),
        "taken": run.phase.taken,
        "energy_nj": run.best.energy_nj,
        "cycles": run.best.cycles,
        "mapping": run.best.mapping.to_dict(),
    }
