"""Where the cycles, the energy and the words of a mapping go, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence
from dataclasses import dataclass

from dse.core.cost_model import Detail
from dse.core.cost_models import models_with
from dse.core.evaluation import Evaluation
from dse.core.problem import AnyProblem, Design
from dse.report.page.numbers import NONE, energy, percent


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
    overlap = detail.overlapping
    kinds = tuple(dict.fromkeys(kind for words in detail.words.values() for kind in words))
    return Breakdown(
        by=by,
        own=own,
        infeasible=found.reason or "",
        against="" if own else _against(found, evaluation, problem.model.name),
        bound=detail.bound,
        utilisation=percent(found.breakdown.utilisation),
        overlap=overlap,
        cycles=_parts(
            {name: (count, f"{count:,}") for name, count in detail.cycles.items()},
            max(detail.cycles.values()) if overlap else None,
        ),
        energy=_parts({name: (part, energy(part)) for name, part in detail.energy_nj.items()}),
        kinds=kinds,
        words=tuple(_row(store, kinds, detail) for store in detail.words),
    )


def _parts(figures: Table[str, tuple[float, str]], total: float | None = None) -> tuple[Part, ...]:
    total = total or sum(value for value, _ in figures.values()) or 1.0
    return tuple(
        Part(name, text, percent(value / total), round(100 * value / total, 2))
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
        f"{energy(spent)}, {spent / other['energy_nj']:.3g} times that by {model}"
    )
