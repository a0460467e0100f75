"""What a machine has counted itself (words of DRAM, misses, stalls), beside the terms of a cost model.

Each counter is set beside the term that it follows best: whose ratio to it differs least from sample to
sample. A counter of words that is 1.3 times a link's says how many the model leaves out, and that a bandwidth
which was fitted to cycles is one of the model's words. What follows a part of the cycles that bandwidths
change is an equation of the fit (`equations.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.energies import FOLDS, LEAST, SEED, Measured
from dse.domains.clustered.equations import FOLLOWS, Timed
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.terms import NARROWER, terms_of
from dse.support.arrays import FloatArray

TENSORS = ("input", "weight", "output")


@dataclass(frozen=True)
class Counted:
    """A counter: the `term` that it follows, how many `times` as large it is, on (geometric) average.

    One that is more than half off whatever it is set beside follows nothing: its term is empty, `times` None.

    `error` is that of the median sample, relative, its ratio taken from others; `samples` those that have it.
    If it is `fitted`, the fit of the machine goes by it: the term is a part of the cycles under that machine,
    and the error a part of the sample's measured cycles.
    """

    counter: str
    term: str
    times: float | None
    error: float
    samples: int
    fitted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def follow_counters(
    machine: Accelerator,
    samples: Sequence[Measured],
    model: str,
    timed: Sequence[Timed] = (),
    chosen: tuple[int, float] = (0, 1.0),
) -> tuple[Counted, ...]:
    """Each counter beside a term, in the order of their names; those of time under a machine and clock.

    Left out are those of which fewer than 8 samples have a value above 0.
    """
    names = sorted({name for each in samples for name in each.counters})
    if not names:
        return ()
    terms = _terms(machine, samples, model)
    fitted = {each.counter: each for each in timed}
    found = []
    for name in names:
        if name in fitted:
            each = fitted[name]
            times, error = each.fitted(*chosen)
            count = int(np.isfinite(each.said).sum())
            found.append(Counted(name, each.term, times, error, count, True))
            continue
        columns = [each.counters.get(name, np.full(len(each.cycles), np.nan)) for each in samples]
        said = np.concatenate(columns)
        known = np.isfinite(said) & (said > 0)
        if known.sum() >= LEAST:
            found.append(_best(name, said[known], {term: column[known] for term, column in terms.items()}))
    return tuple(found)


def fixed_terms(machine: Accelerator, samples: Sequence[Measured], model: str) -> dict[str, FloatArray]:
    """The terms that no bandwidth and no latency changes, by name: (n,) each."""
    other = replace(
        machine,
        noc_bandwidth=NARROWER * machine.noc_bandwidth,
        offchip_bandwidth=NARROWER * machine.offchip_bandwidth,
        noc_latency=machine.noc_latency + 1,
    )
    own, others = (_terms(each, samples, model) for each in (machine, other))
    return {name: column for name, column in own.items() if np.array_equal(column, others[name])}


def _terms(machine: Accelerator, samples: Sequence[Measured], model: str) -> dict[str, FloatArray]:
    """The terms of the model that all layers have, by name: (n,) each; a link's words of all tensors, too."""
    each = [
        terms_of(Problem(one.layer, machine, "latency", model), one.mappings)
        for one in samples
        if len(one.cycles)
    ]
    shared = [name for name in each[0] if all(name in other for other in each)]
    found = {name: np.concatenate([one[name] for one in each]) for name in shared}
    links: dict[str, list[FloatArray]] = {}
    for name, column in found.items():
        link, _, tensor = name.partition("_")
        if tensor.startswith(TENSORS):
            links.setdefault(f"{link}, all tensors", []).append(column)
    return found | {link: np.sum(columns, axis=0) for link, columns in links.items()}


def _best(name: str, said: FloatArray, terms: dict[str, FloatArray]) -> Counted:
    """The term whose ratio to a counter, (n,) and above 0, differs least."""
    logs = {term: np.log(said / column) for term, column in terms.items() if (column > 0).all()}
    # Of terms that are the same in all samples, the first.
    term = min(logs, key=lambda each: logs[each].var())
    ratio = logs[term]
    folds = np.random.default_rng(SEED).permutation(len(ratio)) % FOLDS
    errors = np.concatenate(
        [np.abs(ratio[folds == fold] - ratio[folds != fold].mean()) for fold in range(FOLDS)]
    )
    error = float(np.expm1(np.median(errors)))
    if error > FOLLOWS:
        return Counted(name, "", None, error, len(ratio))
    return Counted(name, term, float(np.exp(ratio.mean())), error, len(ratio))
