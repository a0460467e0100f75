"""Where cycles, energy and words of a mapping go, as tables with bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.support.quantities import energy

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.cost_model import Detail
    from dse.core.problem import AnyProblem

WIDTH = 40
EIGHTHS = " ▏▎▍▌▋▊▉"
ACCESSES = ("reads", "fills", "updates")


def show_detail(console: Console, detail: Detail, *, tensors: bool = False) -> None:
    """Print where the cycles and the energy go, each with a bar, and the words moved by store and kind.

    Of a machine of levels with `tensors` also what each tensor does at each level.
    """
    cycles, spent = detail.cycles, detail.energy_nj
    if not detail.overlapping:
        title, whole = "where the cycles go", sum(cycles.values())
    else:
        title, whole = "cycles of each by itself, all at the same time", max(cycles.values())
    # What limits the layer is another question: an optimum takes no more PEs than can be fed.
    _print_parts(console, f"{title}: most on {detail.bound}", "cycles", cycles, whole)
    _print_parts(console, "where the energy goes", "energy", spent, sum(spent.values()), energy)
    kinds = list(dict.fromkeys(kind for words in detail.words.values() for kind in words))
    rows = [(store, *(words.get(kind) for kind in kinds)) for store, words in detail.words.items()]
    store = "level" if detail.tensors else "to and from"
    output.print_table(console, f"{detail.unit} moved", (store, *kinds), rows)
    if tensors and detail.tensors:
        _print_tensors(console, detail)


def with_breakdown(problem: AnyProblem, entry: Mapping[str, Any], *, detail: bool) -> dict[str, Any]:
    """A layer's result as plain data whose best mapping has its `breakdown`: of levels always."""
    best = entry["best"]
    if best is None or not (detail or problem.shows_detail):
        return dict(entry)
    problem = problem.on_machine_of(best["genes"])
    parts = problem.judge(problem.read_mapping(best["mapping"])).to_dict()["breakdown"]
    return {**entry, "best": {**best, "breakdown": parts}}


def bar(share: float, width: int = WIDTH) -> str:
    """A bar of a share from 0 to 1, to an eighth of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _print_parts(
    console: Console,
    title: str,
    unit: str,
    parts: Mapping[str, float],
    total: float,
    shown: Callable[[Any], object] = lambda part: part,
) -> None:
    """Parts with their shares of the total, which need not be their sum."""
    rows = [
        (name, shown(part), f"{part / (total or 1):.1%}", bar(part / (total or 1)))
        for name, part in parts.items()
    ]
    output.print_table(console, title, ("part", unit, "share", ""), rows, figures=(unit, "share"))


def _print_tensors(console: Console, detail: Detail) -> None:
    rows: list[tuple[object, ...]] = []
    for level, kept in detail.tensors.items():
        for number, (tensor, words) in enumerate(kept.items()):
            counts = (int(words[kind]) for kind in ("instances", "tile", *ACCESSES))
            rows.append(("" if number else level, tensor, *counts, energy(words["energy_nj"])))
        if level in detail.leakage_nj:
            rows.append(("", "leakage", *[None] * 5, energy(detail.leakage_nj[level])))
    heads = ("level", "tensor", "instances", "words in each", *ACCESSES, "energy")
    title = "tensors: words moved by all instances of a level"
    output.print_table(console, title, heads, rows, figures=heads[2:])
