"""The rules on prices: each looks at a candidate, and says what it tried or raises Broken."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np

from dse.core.figures import CostBatch
from dse.core.reasons import FIRST_RULE, Reason
from dse.domains.clustered.feasibility import FeasibilityRules
from dse.domains.clustered.mapping import MappingBatch
from dse.support.errors import format_exception
from dse.testing.cost_models.candidate import ModelCandidate, Setting, difference
from dse.testing.verdict import Broken

UNITS = ("area", "power")
POSITIVE = ("cycles", "energy_nj", "l1_size", "l2_size", "macs")
SIZES = ("l1_size", "l2_size")
FEW = 40
"""Mappings that are priced one by one in each setting, of the ordinary and of the odd ones."""
MANY_TIMES = 10
"""So many times the mappings of a kind are enough for a model that shares rows out to do so."""


def configuration(candidate: ModelCandidate) -> str:
    """Its name, version and units are as a record and a table need them, and it pickles."""
    model = candidate.model
    for what in ("name", "version", "spec"):
        text = getattr(model, what, None)
        if not isinstance(text, str) or not text:
            raise Broken(f"expected {what} to be text, got {text!r}")
    if model.spec.partition("(")[0] != model.name:
        raise Broken(f"expected a spec that begins with the name {model.name!r}, got {model.spec!r}")
    strange = [name for name in model.units if name not in UNITS]
    if strange:
        raise Broken(f"expected units of {' and '.join(UNITS)}, got one of {strange[0]!r}")
    try:
        again = pickle.loads(pickle.dumps(model))
    except Exception as error:
        raise Broken(
            f"expected to pickle, for campaigns send problems to workers; {format_exception(error)}"
        ) from error
    if again.spec != model.spec:
        raise Broken(f"expected {model.spec!r} again after pickling, got {again.spec!r}")
    return f"{model.spec}, version {model.version}"


def never_raises(candidate: ModelCandidate) -> str:
    """No batch makes it raise: not a large one, one of one mapping or of none, nor any odd mapping."""
    for setting in candidate.settings:
        for mappings in (setting.ordinary, setting.odd):
            with np.errstate(all="ignore"):
                candidate.price(setting, mappings)
                candidate.price(setting, MappingBatch(mappings.rows[:1]))
                candidate.price(setting, MappingBatch(mappings.rows[:0]))
    return f"{_count(candidate):,} mappings, half of them with zero, negative or huge sizes"


def columns(candidate: ModelCandidate) -> str:
    """A CostBatch of as many rows as mappings, each column of its type."""
    for setting in candidate.settings:
        for count in (0, 1, len(setting.all)):
            _check_columns(candidate.price(setting, MappingBatch(setting.all.rows[:count])), count)
    return f"batches of 0, 1 and {len(candidate.settings[0].all)} mappings"


def _check_columns(costs: object, count: int) -> None:
    if not isinstance(costs, CostBatch):
        raise Broken(f"expected a dse.CostBatch, got {type(costs).__name__}")
    for name, dtype in CostBatch.types().items():
        column = getattr(costs, name)
        if not isinstance(column, np.ndarray) or column.shape != (count,) or column.dtype != dtype:
            found = f"{column.dtype} of shape {column.shape}" if isinstance(column, np.ndarray) else column
            raise Broken(
                f"expected {name} to be {np.dtype(dtype)} of shape ({count},) for {count} mappings, "
                f"got {found}"
            )


def input_kept(candidate: ModelCandidate) -> str:
    """The rows that it is given are as they were."""
    for setting in candidate.settings:
        rows = setting.all.rows.copy()
        candidate.model.evaluate(candidate.layer(setting), setting.accelerator, MappingBatch(rows))
        changed = np.flatnonzero((rows != setting.all.rows).any(axis=1))
        if len(changed):
            raise Broken(
                f"expected the mappings as they were, mapping {changed[0]} of {setting.name} was changed"
            )
    return f"{_count(candidate):,} mappings"


def deterministic(candidate: ModelCandidate) -> str:
    """The same again, whatever the global random states and what was priced between."""
    state = np.random.get_state()  # noqa: NPY002
    try:
        for seed, (setting, costs) in enumerate(zip(candidate.settings, candidate.costs, strict=True)):
            np.random.seed(seed)  # noqa: NPY002
            _same(costs, candidate.price(setting, setting.all), setting, "the same again")
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return f"{_count(candidate):,} mappings, twice"


def vectorised(candidate: ModelCandidate) -> str:
    """A mapping costs the same alone, and among others."""
    for setting, costs in zip(candidate.settings, candidate.costs, strict=True):
        rows = setting.all.rows
        backwards = candidate.price(setting, MappingBatch(rows[::-1].copy()))
        _same(costs, backwards.take(slice(None, None, -1)), setting, "the same in another order")
        few = min(FEW, len(rows) // 2)
        for row in (*range(few), *range(len(rows) - few, len(rows))):
            alone = candidate.price(setting, MappingBatch(rows[row : row + 1]))
            seen = difference(costs.take(slice(row, row + 1)), alone)
            if seen:
                what = seen.replace("of mapping 0 ", "")
                raise Broken(
                    f"expected the same alone as among others; mapping {row} of {setting.name}: {what}"
                )
    one_by_one = 2 * min(FEW, candidate.mappings) * len(candidate.settings)
    return f"{one_by_one} mappings alone, {_count(candidate):,} in another order"


def prepared(candidate: ModelCandidate) -> str:
    """What `prepared` returns prices as `evaluate` does, also rows that bring a machine each."""
    for setting, costs in zip(candidate.settings, candidate.costs, strict=True):
        layer, accelerator, rows = candidate.layer(setting), setting.accelerator, setting.all.rows
        price = candidate.model.prepared(layer, accelerator)
        _same(costs, price(rows.copy()), setting, "the same as by evaluate")
        smaller = replace(accelerator, num_pes=max(1, accelerator.num_pes // 2))
        machines = np.array([accelerator.machine_row, smaller.machine_row], np.int64)
        own = price(rows.copy(), machines[np.arange(len(rows)) % 2])
        there = candidate.model.evaluate(layer, smaller, MappingBatch(rows.copy()))
        for found, expected, first in ((own, costs, 0), (own, there, 1)):
            every = slice(first, None, 2)
            _same(expected.take(every), found.take(every), setting, "the same on a machine of its own")
    return f"{_count(candidate):,} mappings"


def threads(candidate: ModelCandidate) -> str:
    """One thread, two and three give the same."""
    for setting, costs in zip(candidate.settings, candidate.costs, strict=True):
        copies = -(-MANY_TIMES * candidate.mappings // len(setting.all))
        many = MappingBatch(np.tile(setting.all.rows, (copies, 1)))
        for count in (1, 2, 3):
            found = candidate.price(setting, many, threads=count).take(slice(len(costs)))
            _same(costs, found, setting, f"the same on {count} threads")
    return f"{MANY_TIMES * candidate.mappings:,} mappings a setting on 1, 2 and 3 threads"


def reasons(candidate: ModelCandidate) -> str:
    """A reason wherever a mapping is refused, no figures there, and no reason where there are figures."""
    refused = 0
    # What does not fit is refused before somebody outside is asked, and says what it would need.
    misfits = [Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL] if candidate.model.outside else []
    allowed = [*(reason for reason in Reason if 0 < reason < FIRST_RULE), *misfits]
    for setting, costs in zip(candidate.settings, candidate.costs, strict=True):
        known, misfit = np.isin(costs.reason, allowed), np.isin(costs.reason, misfits)
        refused += int((~costs.valid).sum())
        nothing = np.all(
            [(column == 0) | (misfit & (name in SIZES)) for name, column in costs.figures().items()], axis=0
        )
        for wrong, why in (
            (~costs.valid & ~known, "expected a dse.core.reasons.Reason of a model for a refused mapping"),
            (costs.valid & (costs.reason != 0), "expected reason 0 for an accepted mapping"),
            (~costs.valid & ~nothing, "expected figures of 0 for a refused mapping"),
        ):
            if wrong.any():
                row = int(np.argmax(wrong))
                raise Broken(
                    f"{why}; mapping {row} of {setting.name} has {_reason(int(costs.reason[row]))}, "
                    f"{costs.cycles[row]} cycles"
                )
    return f"{refused:,} of {_count(candidate):,} mappings refused"


def _reason(code: int) -> str:
    known = code in set(Reason)
    return f"reason {code}" + (f" ({Reason(code).text})" if known else "")


def figures(candidate: ModelCandidate) -> str:
    """What is accepted has figures that a search can go by; area and power may be 0, but not below."""
    for setting, costs in zip(candidate.settings, candidate.costs, strict=True):
        for name, column in costs.figures().items():
            # Who measures time alone says no energy, which is 0 then.
            above = name in POSITIVE and not (candidate.model.outside and name == "energy_nj")
            least = column > 0 if above else column >= 0
            wrong = costs.valid & ~(least & np.isfinite(column))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise Broken(
                    f"expected a finite {name} {'above' if above else 'of at least'} 0; mapping "
                    f"{row} of {setting.name} has {column[row]}"
                )
    return f"{sum(int(costs.valid.sum()) for costs in candidate.costs):,} accepted mappings"


def accepts(candidate: ModelCandidate) -> str:
    """In every setting something ordinary is feasible, or no search could find anything."""
    found = 0
    for setting, costs in zip(candidate.settings, candidate.costs, strict=True):
        rules = FeasibilityRules(setting.layer, setting.accelerator, "latency")
        some = costs.take(slice(len(setting.ordinary)))
        _, why = rules.judge(setting.ordinary.rows, some)
        if not (why == 0).any():
            raise Broken(
                f"expected some of {len(some)} ordinary mappings of {setting.name} to be feasible, none is: "
                f"the best of them, because {Reason(int(why.max())).text}"
            )
        found += int((why == 0).sum())
    return f"{found:,} of {sum(len(setting.ordinary) for setting in candidate.settings):,} are feasible"


def _same(one: CostBatch, other: CostBatch, setting: Setting, what: str) -> None:
    seen = difference(one, other)
    if seen:
        raise Broken(f"expected {what} for {setting.name}; {seen}")


def _count(candidate: ModelCandidate) -> int:
    return sum(len(setting.all) for setting in candidate.settings)
