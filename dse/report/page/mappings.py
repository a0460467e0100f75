"""The best mapping of every problem as the page shows it: its loops, its price, its finder, its gap."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping as Table
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.analysis.study import OPTIMAL, Made, Study, Triple
from dse.campaign.summary import Summary
from dse.core.cost_model import Detail
from dse.core.cost_models import models_with
from dse.core.evaluation import Evaluation
from dse.core.objective import names_several
from dse.core.problem import AnyProblem, Design
from dse.report.page.commands import check_command, search_command
from dse.report.page.markup import NONE, compared_ratio, energy_markup, percent_markup, quantity_markup
from dse.support.errors import InputError

NOTHING_FOUND = "No run has found a feasible mapping."
SAME = 1e-9
"""Two losses that differ by less than this share of them are the same."""


@dataclass(frozen=True)
class Gap:
    """How far a loss is from the optimum, in words, and its kind: optimal, above, bound, beaten or unknown.

    `ratio` is to the optimum, or to a lower bound of it; NaN where none is known.
    """

    kind: str
    text: str
    ratio: float


@dataclass(frozen=True)
class Priced:
    """A mapping in every form that the page offers, and what it costs now; `again` finds it once more.

    `hardware` are the figures that it is for, where the search had a choice.

    `agrees` says whether its loss is what the record says.
    """

    hardware: str
    nest: str
    json: str
    maestro: str
    file: str
    check: str
    again: str
    evaluation: Evaluation
    agrees: bool
    breakdown: Breakdown | None


@dataclass(frozen=True)
class BestMapping:
    """A problem's best cell (None where nothing feasible was found) and its mapping, or `why_not`.

    `equals` counts the runs, by searcher, that have found as low a loss, of `runs`. `dataflow` is the
    best of the fixed dataflows, compared with it.
    """

    problem: Triple
    label: str
    cell: Summary | None
    sample: int
    loss: float
    unit: str
    shown: str
    runs: int
    equals: dict[str, int]
    gap: Gap
    dataflow: str
    priced: Priced | None
    why_not: str


def best_mappings(study: Study, problems: Table[Triple, Made]) -> tuple[BestMapping, ...]:
    """The best mapping of each of the study's problems, in their order."""
    return tuple(_best(study, triple, problems[triple]) for triple in study.problems)


def gap_to_optimum(study: Study, problem: Triple, loss: float) -> Gap:
    """How far `loss` is from what is proven about the problem's optimum."""
    optimum = study.about.get("optima", {}).get(study.label(problem))
    if optimum is None or not math.isfinite(loss):
        known = "optimum not proven yet" if study.proofs_to_come else "optimum not known"
        return Gap("unknown", known, math.nan)
    if not optimum["lower_bound"]:
        ratio, base = loss / optimum["loss"], "the best of perfect factors"
        words = compared_ratio(ratio, base) if ratio >= 1 else f"{percent_markup(1 - ratio)} below {base}"
        return Gap("unknown", f"{words}; no bound is known", ratio)
    ratio = loss / optimum["lower_bound"]
    if ratio < 1 - SAME:
        return Gap("beaten", "below what was proven to be the least", ratio)
    if ratio < 1 + SAME:
        return Gap("optimal", "proven optimum", ratio)
    if optimum["status"] == OPTIMAL:
        return Gap("above", compared_ratio(ratio, "the proven optimum"), ratio)
    return Gap("bound", f"at most {compared_ratio(ratio, 'the optimum')}", ratio)


def _best(study: Study, problem: Triple, made: Made) -> BestMapping:
    runs = [cell for name in study.searchers for cell in study.cells(problem, name)]
    found = [cell for cell in runs if cell.genes and math.isfinite(cell.best)]
    # Of equals, the one that needed the fewest samples.
    cell = min(found, key=lambda cell: (cell.best, cell.steps["index"][-1]), default=None)
    loss = cell.best if cell else math.inf
    priced, why_not = _priced(study, cell, made) if cell else (None, NOTHING_FOUND)
    return BestMapping(
        problem=problem,
        label=study.label(problem),
        cell=cell,
        sample=int(cell.steps["index"][-1]) + 1 if cell else 0,
        loss=loss,
        unit=study.unit(problem[2]),
        shown=quantity_markup(loss, study.unit(problem[2])),
        runs=len(runs),
        equals=dict(Counter(one.searcher for one in found if one.best <= loss * (1 + SAME))),
        gap=gap_to_optimum(study, problem, loss),
        dataflow=_against_dataflows(study, problem, loss),
        priced=priced,
        why_not=why_not,
    )


def _priced(study: Study, cell: Summary, made: Made) -> tuple[Priced | None, str]:
    """The cell's best mapping, or why it cannot be had: a folder may be damaged or hand-made."""
    if names_several(cell.objective):
        return None, "It is a front: its mappings are in the picture of fronts."
    if made.problem is None:
        return None, made.why_not
    try:
        return _price(study, cell, made.problem), ""
    except (InputError, ValueError) as error:
        return None, f"The mapping cannot be read from this folder: {error}"


def _price(study: Study, cell: Summary, problem: AnyProblem) -> Priced:
    mapping = problem.space.decode(np.array([cell.genes], dtype=np.int64))[0]
    hardware = problem.hardware_of(cell.genes)
    again, problem = search_command(study, cell, problem), problem.on_machine_of(cell.genes)
    evaluation = problem.judge(mapping)
    loss = evaluation.loss[problem.objective]
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{cell.layer}--{cell.accelerator}--{cell.objective}")
    return Priced(
        hardware=hardware,
        nest=problem.nest(mapping),
        json=_json(mapping),
        maestro=problem.notations(mapping).get("maestro", ""),
        file=f"{name}.json",
        check=check_command(study, cell, problem, mapping),
        again=again,
        evaluation=evaluation,
        agrees=loss is not None and math.isclose(loss, cell.best, rel_tol=SAME),
        breakdown=break_down(problem, mapping, evaluation, study.reprice),
    )


def _json(mapping: Design) -> str:
    """The mapping as JSON, an entry of a level a line."""
    parts = []
    for name, value in mapping.to_dict().items():
        if isinstance(value, dict):
            entries = ",\n".join(
                f"    {json.dumps(key)}: {json.dumps(entry)}" for key, entry in value.items()
            )
            parts.append(f"  {json.dumps(name)}: {{\n{entries}\n  }}")
        else:
            parts.append(f"  {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _against_dataflows(study: Study, problem: Triple, loss: float) -> str:
    """The best of the fixed dataflows, and its loss over this one; empty where none of them fits."""
    label = study.label(problem)
    templates = study.about.get("templates", {})
    fits = {name: figures[label]["loss"] for name, figures in templates.items() if label in figures}
    if not fits or not math.isfinite(loss):
        return ""
    name = min(fits, key=lambda name: fits[name])
    ratio = fits[name] / loss
    return f"{name}, whose loss is {ratio:.3g} times this one's"


@dataclass(frozen=True)
class Part:
    """A part of a sum: its figure and its share in words, and how long its bar is, in per cent."""

    name: str
    figure: str
    share: str
    width: float


@dataclass(frozen=True)
class Breakdown:
    """Where a mapping's cycles and energy go by the model `by`, which `own` says is the campaign's.

    `infeasible` says why that model does not take the mapping, if it does not. `against` compares the
    figures with the campaign's model's, where that is another. Parts of the cycles that `overlap` are shares
    of the most of them. `words` has a row for each store: its name
    and the words of each of `kinds`.
    """

    by: str
    own: bool
    infeasible: str
    against: str
    bound: str
    utilisation: str
    overlap: bool
    cycles: tuple[Part, ...]
    energy: tuple[Part, ...]
    kinds: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]


def break_down(
    problem: AnyProblem, mapping: Design, evaluation: Evaluation, others: Sequence[str] = ()
) -> Breakdown | None:
    """The breakdown by the campaign's model, or else by the first of `others` that explains itself.

    None where neither has figures.
    """
    found, own, by = evaluation, evaluation.detail is not None, problem.model.name
    if not own:
        if not problem.templates:
            return None
        by = next((name for name in others if name in models_with("explains")), by)
        found = problem.with_changes(cost_model=by).judge(mapping)
    if found.detail is None or found.breakdown is None:
        return None
    detail = found.detail
    overlap, (cycles, whole) = detail.overlapping, detail.shares
    kinds = tuple(dict.fromkeys(kind for words in detail.words.values() for kind in words))
    return Breakdown(
        by=by,
        own=own,
        infeasible=found.reason or "",
        against="" if own else _against(found, evaluation, problem.model.name),
        bound=detail.bound,
        utilisation=percent_markup(found.breakdown.utilisation),
        overlap=overlap,
        cycles=_parts({name: (count, f"{count:,}") for name, count in cycles.items()}, whole),
        energy=_parts({name: (part, energy_markup(part)) for name, part in detail.energy_nj.items()}),
        kinds=kinds,
        words=tuple(_row(store, kinds, detail) for store in detail.words),
    )


def _parts(figures: Table[str, tuple[float, str]], total: float | None = None) -> tuple[Part, ...]:
    total = total or sum(value for value, _ in figures.values()) or 1.0
    return tuple(
        Part(name, text, percent_markup(value / total), round(100 * value / total, 2))
        for name, (value, text) in figures.items()
    )


def _row(store: str, kinds: tuple[str, ...], detail: Detail) -> tuple[str, ...]:
    words = detail.words[store]
    return (store, *(f"{words[kind]:,}" if kind in words else NONE for kind in kinds))


def _against(found: Evaluation, evaluation: Evaluation, model: str) -> str:
    """`526,358 cycles, 31.6 times those by maestro; 2.1 µJ, 14 times that by maestro`."""
    cycles, spent = found.figures["cycles"], found.figures["energy_nj"]
    other = evaluation.figures
    return (
        f"{cycles:,} cycles, {cycles / other['cycles']:.3g} times those by {model}; "
        f"{energy_markup(spent)}, {spent / other['energy_nj']:.3g} times that by {model}"
    )
