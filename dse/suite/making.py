"""Making suites: problems are proven, and what is proven is written down; hidden ones are drawn.

And checking them: certificates, by code that shares nothing with the solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count as counted
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dse.core.certificate import OPTIMAL
from dse.core.domains import definition_of, make_problem
from dse.core.problem import AnyProblem
from dse.optimum import certify, verify
from dse.suite.drawing import draw_problem
from dse.suite.problem import Entry
from dse.support.errors import InputError
from dse.support.hashing import digest, plain_data
from dse.support.telling import Tell, tell_nobody

if TYPE_CHECKING:
    from dse.core.proofs import Check
    from dse.suite.problem import SuiteProblem
    from dse.suite.suites import Suite

RANDOM_POINTS = 5
SAMPLES = 2000
"""Points of which one has to fit for a drawn problem to be kept."""
SECONDS = 30.0
"""How long the proof of a drawn problem may take; one that takes longer is left for another."""


def entry_of(
    problem: AnyProblem, name: str, seconds: float | None = None, *, cache: bool | Path = True
) -> Entry:
    """The problem with its proof, which may take so many seconds. InputError if nothing is found."""
    found = certify(problem, seconds, cache=cache)
    if found.best is None:
        raise InputError(f"{name}: there is no mapping that fits")
    rng = np.random.Generator(np.random.PCG64(int(problem.fingerprint, 16)))
    return Entry(
        name,
        problem.model_spec,
        plain_data(definition_of(problem)),
        problem.fingerprint,
        found.status,
        float(found.lower_bound),
        found.best.loss,
        list(found.best.genes),
        _templates(problem),
        problem.space.sample(rng, RANDOM_POINTS).tolist(),
    )


def _templates(problem: AnyProblem) -> dict[str, list[int]]:
    """The points of the templates that lie in the space."""
    found = {}
    for name in problem.templates:
        try:
            found[name] = problem.vectors([problem.template(name)])[0].tolist()
        except InputError:
            continue
    return found


def draw_problems(
    seed: int, count: int, cost_model: str, *, cache: bool | Path = True, tell: Tell = tell_nobody
) -> Iterator[Entry]:
    """So many hidden problems of layers, chains or networks on machines, by the seed, all proven."""
    name = {"suite": "drawn", "seed": seed, "cost_model": cost_model}
    rng = np.random.Generator(np.random.PCG64(int(digest(name), 16)))
    kept = 0
    for attempt in counted(1):
        drawn = draw_problem(rng, kept, cost_model)
        problem = make_problem(drawn.layer, drawn.hardware, drawn.objective, cost_model, drawn.tiles)
        if attempt > 20 * count:
            raise InputError(f"under cost model {cost_model!r} hardly any problem drawn is proven")
        losses = problem.price(problem.space.sample(rng, SAMPLES)).loss
        if not np.isfinite(losses).any():
            continue
        tell(f"proving problem {kept + 1} of {count}")
        entry = entry_of(
            problem, f"{drawn.kind}{kept + 1} on machine{kept + 1}, {drawn.objective}", SECONDS, cache=cache
        )
        if entry.status != OPTIMAL:
            continue
        kept += 1
        yield entry
        if kept == count:
            return


def check_suite(
    suite: Suite, sample: int | None = None, seed: int = 0
) -> Iterator[tuple[SuiteProblem, tuple[Check, ...]]]:
    """Each problem of the suite, or of a sample of so many, with what was checked of it.

    Samples of points and problems are drawn by `seed`.
    """
    chosen = np.arange(len(suite))
    if sample is not None:
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(len(suite), size=min(sample, len(suite)), replace=False))
    for place in chosen.tolist():
        entry = suite[place]
        yield entry, verify(entry.problem, entry.entry.certificate, seed)
