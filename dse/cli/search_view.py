"""What `dse search` shows: a bar while it runs, and the best mappings in words."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.campaign.progress import Pace
from dse.cli import output
from dse.cli.best_view import DIGITS, best_figures, held_to, show_best, show_folder, show_totals
from dse.cli.front_view import show_found
from dse.core.objective import names_several
from dse.support.errors import InputError
from dse.support.quantities import quantity_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.problem import AnyProblem
    from dse.search.api import Result
    from dse.search.evaluator import Progress


PROOF_SECONDS = 5.0
"""How long a proof may take to set a search's best mapping beside it."""
REFUSALS = 3
"""Of a judge's own words for what it refused, those that are shown."""


class Bar:
    """A bar on the terminal for one search; without a terminal, a line now and then if it takes long."""

    def __init__(self, label: str, budget: int, unit: str) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self.samples = 0
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            TextColumn("best {task.fields[best]}"),
        )
        self._progress = Progress(
            *columns, console=output.error_console(), transient=True, disable=not sys.stderr.isatty()
        )
        self._task = self._progress.add_task(label, total=budget, best="-", pace="")
        self._label, self._terminal, self._pace = label, sys.stderr.isatty(), Pace(budget)
        self._unit = unit

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, progress: Progress) -> None:
        """Bring the bar up to date."""
        self.samples = progress.samples
        best = quantity_in_words(progress.best_loss, self._unit) if progress.best_loss < math.inf else "-"
        pace = self._pace.seen(progress.samples, progress.replayed)
        self._progress.update(self._task, completed=progress.samples, best=best, pace=pace)
        if not self._terminal and self._pace.worth_a_line():
            print(
                f"{self._label}: {progress.samples:,} of {progress.budget:,} samples, {pace}, best {best}",
                file=sys.stderr,
                flush=True,
            )


def show_layer(result: Result, layer: str, accelerator: str, out: Path | None, *, detail: bool) -> None:
    """Print one search's result, its best mapping as a nest of loops."""
    from dse.core.cost_models import unit_of

    console, problem = output.make_console(), result.cell.problem
    machine = problem.accelerator.called(accelerator)
    title = f"{result.cell.name} on {layer} ({problem.layer}), {machine}, cost model {problem.model_spec}"
    output.print_heading(console, title + held_to(problem))
    infeasible = sum(result.refusals.values())
    why = "; ".join(f"{reason.text}: {count:,}" for reason, count in result.refusals.items())
    console.print(f"{result.counted}, {infeasible:,} infeasible" + (f" ({why})" if why else ""))
    _show_refusals(console, result)
    best = result.best
    if names_several(problem.objective) and len(result.pareto()):
        show_found(console, result, layer, accelerator)
    elif best is None:
        console.print("nothing feasible was found", style="red")
        console.print(f"sample 1: {_first_refusal(result)}")
    else:
        value = quantity_in_words(best.loss, unit_of(problem.objective, problem.model.name), DIGITS)
        claim = f"best {problem.objective} {value}, found by sample {best.index + 1:,}"
        if hardware := problem.hardware_of(best.genes):
            claim += f", on {hardware}"
        show_best(console, result.best_problem, claim, best, detail=detail)
        console.print(_gap(problem, best.loss))
    show_folder(console, out)


def _show_refusals(console: Console, result: Result) -> None:
    """What a judge said of the mappings that it refused, most frequent first."""
    said = list(result.refusals_in_words.items())
    for (_, words), count in said[:REFUSALS]:
        console.print(f"{count:,} refused, as in: {words}", markup=False)
    if rest := sum(count for _, count in said[REFUSALS:]):
        console.print(f"{rest:,} refused in other words (dse evaluate says why for one mapping)")


def _first_refusal(result: Result) -> str:
    """Why the first sample is not feasible: in the words of what was asked, where that is outside."""
    problem, genes = result.cell.problem, result.record.genes(0, 1)
    return problem.on_machine_of(genes[0]).explain(problem.space.decode(genes)[0])


def _gap(problem: AnyProblem, loss: float) -> str:
    """How far the best mapping found is from the proven optimum of the space that was searched, which may be
    narrower than what `dse certify` proves by default; if that is known within a few seconds.
    """
    from dse.core.certificate import gap_between
    from dse.optimum import certify
    from dse.optimum.beside import kinds_of_mappings

    try:
        certificate = certify(problem, PROOF_SECONDS)
    except InputError as error:
        return f"how far it is from the optimum is not known: {error}"
    kinds = kinds_of_mappings(problem)
    of = f" of {kinds}" if kinds else ""
    above = f"{output.short_number(100 * gap_between(loss, certificate.lower_bound))} %"
    if certificate.status != "optimal":
        if not certificate.counts.groups:
            return f"at most {above} above the optimum{of}, by what every mapping must do"
        limit = f"{PROOF_SECONDS:.0f} s"
        return f"at most {above} above the optimum{of}, as far as proven in {limit} (dse certify goes on)"
    proven = f"the proven optimum{of}"
    return proven if loss == certificate.lower_bound else f"{above} above {proven}"


def show_network(data: Mapping[str, Any], problems: Mapping[str, AnyProblem], out: Path | None) -> None:
    """Print a network's result: a row a layer, with its own hardware where that was searched; the totals."""
    from dse.core.cost_models import unit_of

    console = output.make_console()
    objective, unit = data["objective"], unit_of(data["objective"], data["cost_model"])
    rows = []
    for entry in data["layers"]:
        best = entry["best"] or {}
        name, figures = entry["layer"].rpartition(":")[2], best_figures(best, unit)
        hardware = problems[entry["layer"]].hardware_of(best["genes"]) if best else ""
        rows.append((name, entry["repeats"], *figures, entry.get("infeasible"), hardware))
    heads = ["layer", "repeats", f"best {objective}", "cycles", "energy", "infeasible"]
    each_its_own = any(row[-1] for row in rows)
    rows, heads = (rows, [*heads, "hardware"]) if each_its_own else ([row[:-1] for row in rows], heads)
    title = (
        f"{data['searcher']} on {data['network']}, {data['accelerator']}, cost model {data['cost_model']}, "
        f"{data['budget']:,} samples {'in all' if data.get('shared') else 'a layer'}"
    )
    title += held_to(next(iter(problems.values())))
    output.print_table(console, title, heads, rows, figures=heads[2:6])
    failures = {entry["layer"]: entry["failure"] for entry in data["layers"] if "failure" in entry}
    output.print_failures(console, failures)
    show_totals(console, data)
    if each_its_own:
        console.print("each layer is on hardware of its own; dse codesign finds one machine for all")
    show_folder(console, out)
