"""What `dse certify` shows: certificates in words, and a network's optima as a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.cli.best_view import DIGITS, best_figures, show_best, show_folder, show_totals
from dse.cost import unit_of
from dse.support.quantities import quantity

if TYPE_CHECKING:
    from dse.optimum.certificate import Certificate
    from dse.problem.problem import Problem


class LayerBar:
    """A bar on the terminal over a network's layers; nothing where there is no terminal."""

    def __init__(self, label: str, layers: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task(label, total=layers)

    def __enter__(self) -> LayerBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, layer: str) -> None:
        """Note that a layer is done."""
        self._progress.update(self._task, advance=1, description=layer)


def show_layer(
    problem: Problem,
    certificate: Certificate,
    entry: Mapping[str, Any],
    out: Path | None,
    *,
    detail: bool,
) -> None:
    """Print one certificate, its best mapping as a nest of loops."""
    console, unit = output.make_console(), unit_of(problem.objective, problem.model.name)
    machine = problem.accelerator.called(entry["accelerator"])
    title = f"{entry['layer']} ({problem.layer}), {machine}, cost model {problem.model_spec}"
    output.print_heading(console, title)
    best = certificate.best
    if best is None:
        words = {
            "infeasible": "no mapping is feasible: that is proven",
            "bounded": "nothing was found in time",
        }
        console.print(words[certificate.status], style="red")
    else:
        claim = f"{_claim(certificate)} {problem.objective} {quantity(best.loss, unit, DIGITS)}"
        show_best(console, problem.on_machine_of(best.genes), claim, best, detail=detail)
    if certificate.status == "bounded":
        bound = f"no mapping is below {quantity(certificate.lower_bound, unit, DIGITS)}"
        more = "; the time ran out, --time-limit gives more" if certificate.counts.groups else ""
        console.print(bound + more, soft_wrap=True)
    console.print(_proof(certificate, problem), soft_wrap=True)
    for check in entry.get("verified", []):
        sign, style = ("verified", "green") if check["passed"] else ("NOT VERIFIED", "red")
        console.print(f"{sign}: {check['name']} ({check['seen']})", style=style, soft_wrap=True)
    show_folder(console, out)


def show_network(data: Mapping[str, Any], out: Path | None) -> None:
    """Print a network's optima: a row a layer, and the totals."""
    console, objective = output.make_console(), data["objective"]
    unit = unit_of(objective, data["cost_model"])
    rows = []
    for entry in data["layers"]:
        best, proof = entry["best"] or {}, entry["certificate"]
        figures = best_figures(best, unit)
        rows.append((entry["layer"], entry["repeats"], entry["status"], *figures, proof["seconds"]))
    heads = ("layer", "repeats", "status", f"least {objective}", "cycles", "energy", "seconds")
    title = f"{data['network']}, {data['accelerator']}, least {objective}, cost model {data['cost_model']}"
    output.print_table(console, title, heads, rows, figures=heads[3:])
    show_totals(console, data)
    if data["lower_bound"] is not None:
        bound = quantity(data["lower_bound"], unit, DIGITS)
        console.print(
            f"no mappings of its layers have a lower total {objective} than {bound}", soft_wrap=True
        )
    if any("verified" in entry for entry in data["layers"]):
        passed = sum(all(check["passed"] for check in entry["verified"]) for entry in data["layers"])
        console.print(f"verified: {passed} of {len(data['layers'])} layers")
    show_folder(console, out)


def _claim(certificate: Certificate) -> str:
    if certificate.status == "optimal":
        return "optimal"
    return f"best found, at most {certificate.gap:.2%} above the optimum:"


def _proof(certificate: Certificate, problem: Problem) -> str:
    """What was enumerated and what was bounded, in a sentence."""
    from dse.optimum.models import certifier_of

    counts, seconds = certificate.counts, output.short(certificate.seconds)
    if not counts.groups:
        return (
            f"the bound is what every one of {counts.mappings:,} mappings must do at least, not one of them "
            f"gone through: that is for space 'default', but for objective area ({seconds} s)"
        )
    kept = ", kept from an earlier run" if certificate.cached else ""
    left = f", {counts.open:,} left" if counts.open else ""
    return (
        f"proof over {counts.mappings:,} mappings in {seconds} s{kept}: "
        f"{counts.groups:,} choices of {certifier_of(problem).GROUP}, {counts.too_large:,} too large for the "
        f"buffers, {counts.bounded:,} ruled out by their bound, {counts.solved:,} solved{left}"
    )
