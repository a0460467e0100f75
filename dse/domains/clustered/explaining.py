"""Why a mapping, or every mapping of a problem, is not feasible, and the smallest change that would help.

What a buffer must hold grows with the tiles. So if any mapping of a problem fits, one with the smallest tiles
does: those are tried, with every parallel dim, cluster size and loop order (under a cost model that asks
something outside, without the orders), beside random ones. Whatever change is named has been tried: a
mapping is feasible with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from dse.core.evaluation import Change, Explanation
from dse.core.limits import AT_MOST
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping as DataflowMapping
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.pricing import PricedProblem
from dse.support.arrays import IntArray

RANDOM, RANDOM_OUTSIDE = 2_000, 100
"""How many random mappings are tried; fewer under a model that may be slow."""
CAPACITY = (Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL)
MAX_GENES = 2
"""How many fixed genes at once are tried with other values."""


def explain_mapping(problem: PricedProblem, mapping: DataflowMapping) -> Explanation:
    """Why one mapping is not feasible, and what would make it so: buffers or PEs, or one gene of its own."""
    found = problem.evaluate(mapping)
    reason = Reason(int(found.reason[0]))
    if reason is Reason.FEASIBLE:
        return Explanation(True, "feasible", 1, {})
    needs: dict[str, int] = {}
    if reason in CAPACITY:
        needs = {"l1_size": int(found.l1_size[0]), "l2_size": int(found.l2_size[0])}
    elif reason is Reason.CLUSTER_TOO_LARGE and mapping.cluster_size > 0:
        needs = {"num_pes": mapping.cluster_size}
    hardware = [change for change in (_with_hardware(problem, mapping, needs),) if change]
    genes = tuple(_other_genes(problem, mapping))
    limits = tuple(_looser_limits(problem, MappingBatch.of([mapping])))
    return Explanation(False, problem.explain(mapping), 1, {reason.text: 1}, tuple(hardware), genes, limits)


def explain_space(problem: PricedProblem) -> Explanation:
    """Why no mapping of a problem is feasible, if none is, and what would make one so."""
    tried = RANDOM_OUTSIDE if problem.model.outside else RANDOM
    genes = problem.space.sample(np.random.default_rng(0), tried)
    if problem.price(genes).reason.all():
        genes = np.concatenate([genes, _smallest(problem, orders=not problem.model.outside)])
    counts = Counter(problem.price(genes).reason.tolist())
    refused = {Reason(code).text: count for code, count in counts.most_common() if code}
    if counts[0]:
        share = counts[0] / len(genes)
        return Explanation(True, f"{counts[0]:,} of {len(genes):,} mappings tried are feasible ({share:.0%})",
                           len(genes), refused)  # fmt: skip
    return Explanation(
        False,
        f"none of {len(genes):,} mappings tried is feasible",
        len(genes),
        refused,
        tuple(_larger_buffers(problem, genes)),
        tuple(_freed(problem)),
        tuple(_looser_limits(problem, problem.space.decode(genes))),
    )


# Hardware


def _larger_buffers(problem: PricedProblem, genes: IntArray) -> Iterator[Change]:
    """The least L1 alone, the least L2 alone, or, where neither does, the least of both."""
    found = problem.price(genes)
    fit = np.isin(found.reason, CAPACITY)
    l1, l2 = found.l1_size[fit], found.l2_size[fit]
    mappings = problem.space.decode(genes[fit])
    machine = problem.accelerator
    changes = []
    for name, sizes, others, room in (
        ("l1_size", l1, l2, machine.l2_size),
        ("l2_size", l2, l1, machine.l1_size),
    ):
        alone = np.flatnonzero(others <= room)
        if len(alone):
            row = int(alone[np.argmin(sizes[alone])])
            changes.append(_with_hardware(problem, mappings[row], {name: int(sizes[row])}))
    if not any(changes) and len(l1):
        growth = np.maximum(l1 / machine.l1_size, 1) * np.maximum(l2 / machine.l2_size, 1)
        row = int(np.argmin(growth))
        needs = {"l1_size": int(l1[row]), "l2_size": int(l2[row])}
        changes.append(_with_hardware(problem, mappings[row], needs))
    yield from sorted(
        filter(None, changes),
        key=lambda change: float(np.prod([new / old for old, new in change.values.values()])),
    )


def _with_hardware(
    problem: PricedProblem, mapping: DataflowMapping, needs: Mapping[str, int]
) -> Change | None:
    """The change of those figures that are too small, if the mapping is feasible with it."""
    machine = problem.accelerator
    values = {
        name: (getattr(machine, name), need) for name, need in needs.items() if need > getattr(machine, name)
    }
    if not values:
        return None
    in_file = {name: machine.in_elements(name, need) for name, (_, need) in values.items()}
    larger = Accelerator.from_dict(machine.to_dict() | in_file)
    with_it = replace(problem, accelerator=larger, fixed={})
    values = {name: (machine.in_elements(name, old), in_file[name]) for name, (old, _) in values.items()}
    return Change(values, mapping) if not with_it.evaluate(mapping).reason[0] else None


# Limits


def _looser_limits(problem: PricedProblem, mappings: MappingBatch) -> Iterator[Change]:
    """Each limit with the nearest share that one of the mappings keeps, if they keep all others."""
    for figure, limit in problem.use.limits.items():
        others = [str(other) for other in problem.use.limits.values() if other != limit]
        costs = replace(problem, limits=others).evaluate(mappings)
        places = np.flatnonzero(costs.reason == 0)
        if not len(places):
            continue
        uses = problem.use.shares(mappings, costs)[figure]
        place = int(places[np.argmin(uses[places] if limit.sign == AT_MOST else -uses[places])])
        looser = limit.loosened(float(uses[place]))
        if not replace(problem, limits=[*others, str(looser)]).evaluate(mappings[place]).reason[0]:
            values = {figure: (f"{limit.sign} {limit.share:f}", f"{looser.share:f}")}
            yield Change(values, mappings[place])


# Genes


def _freed(problem: PricedProblem) -> Iterator[Change]:
    """The fewest fixed genes that make a mapping feasible with other values, each as near as can be."""
    for count in range(1, MAX_GENES + 1):
        changes = [_nearest(problem, names) for names in combinations(problem.fixed, count)]
        found = [change for change in changes if change is not None]
        if found:
            yield from sorted(found, key=_distance)
            return


def _nearest(problem: PricedProblem, names: Sequence[str]) -> Change | None:
    """The mapping that is feasible with other values of these genes, whose values are the nearest."""
    free = replace(problem, fixed={name: value for name, value in problem.fixed.items() if name not in names})
    genes = _smallest(free, orders=False, vary=names)
    feasible = genes[free.price(genes).reason == 0]
    if not len(feasible):
        return None
    mappings = free.space.decode(feasible)
    columns = mappings.named()
    changes = [
        {name: (_shown_fixed(name, problem.fixed[name]), _shown(columns[name][row])) for name in names}
        for row in range(len(feasible))
    ]
    best = min(range(len(feasible)), key=lambda row: _values_distance(changes[row]))
    return Change(changes[best], mappings[best])


def _other_genes(problem: PricedProblem, mapping: DataflowMapping) -> Iterator[Change]:
    """The single genes of a mapping that make it feasible with another value, the nearest value of each."""
    try:
        [start] = problem.space.encode(MappingBatch.of([mapping])).tolist()
    except ValueError:
        # It is none of the space's: a tile that divides nothing, say.
        return
    rows, places = [], []
    for place, gene in enumerate(problem.space.genes):
        for value in range(gene.size):
            if value != start[place]:
                rows.append([*start[:place], value, *start[place + 1 :]])
                places.append(place)
    if not rows:
        return
    genes = np.array(rows, np.int64)
    feasible = np.flatnonzero(problem.price(genes).reason == 0)
    mappings = problem.space.decode(genes)
    now, then = problem.space.decode(np.array([start], np.int64)).named(), mappings.named()
    best: dict[str, Change] = {}
    for row in feasible.tolist():
        values = {
            name: (_shown(now[name][0]), _shown(then[name][row]))
            for name in (gene.name for gene in problem.space.genes)
            if now[name][0] != then[name][row]
        }
        change, name = Change(values, mappings[row]), problem.space.genes[places[row]].name
        if values and (name not in best or _distance(change) < _distance(best[name])):
            best[name] = change
    yield from sorted(best.values(), key=_distance)


def _distance(change: Change) -> float:
    return _values_distance(change.values)


def _values_distance(values: Mapping[str, tuple[Any, Any]]) -> float:
    """How far values are from those they replace: sizes by their ratio, all else counts as one doubling."""
    steps = [
        abs(float(np.log2(new / old))) if isinstance(old, int) and isinstance(new, int) else float(old != new)
        for old, new in values.values()
    ]
    return sum(steps)


def _shown_fixed(name: str, value: Any) -> Any:
    """What a gene is fixed at, as a user writes it: of several values all."""
    if isinstance(value, list | tuple) and not (
        name.endswith("order") and all(len(dim) == 1 for dim in value)
    ):
        return ",".join(str(_shown(each)) for each in value)
    return _shown(value)


def _shown(value: Any) -> Any:
    """A gene's value as a user writes it."""
    if isinstance(value, list | tuple):
        return "".join(value)
    return int(value) if isinstance(value, int | np.integer) else str(value)


# Points


def _smallest(problem: PricedProblem, *, orders: bool, vary: Sequence[str] = ()) -> IntArray:
    """Gene vectors of the smallest tiles: all parallel dims and clusters, and of some genes all values."""
    # An inner tile has other values where its outer tile has.
    varied = {"cluster", *vary, *(name.replace("inner.tile", "outer.tile") for name in vary)}
    ranges = []
    for gene in problem.space.genes:
        every = gene.kind == "categorical" or gene.name in varied or (orders and gene.kind == "permutation")
        ranges.append(np.arange(gene.size if every else 1))
    grid = np.meshgrid(*ranges, indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1).astype(np.int64)
