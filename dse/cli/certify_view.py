"""What `dse certify` shows: certificates in words, a network's optima as a table, and their roofline."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.cli.best_view import (
    DIGITS,
    best_figures,
    held_to,
    show_best,
    show_checks,
    show_folder,
    show_near,
    show_nests,
    show_totals,
)
from dse.core.cost_models import unit_of
from dse.support.quantities import energy_in_words, quantity_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.certificate import Certificate
    from dse.core.problem import AnyProblem

PICTURE = "roofline.png"
UNITS = ("bit", "word")


class LayerBar:
    """A bar on the terminal over a network's layers; nothing where there is no terminal."""

    def __init__(self, label: str, layers: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=output.error_console(),
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

    def total(self, gap: float) -> None:
        """Note how far the network's total may be from its least."""
        left = f"proving the total: at most {_percent(gap)} above the least"
        self._progress.update(self._task, description=left)


def show_layer(
    problem: AnyProblem,
    certificate: Certificate,
    entry: Mapping[str, Any],
    out: Path | None,
    *,
    detail: bool,
    kept: bool,
) -> None:
    """Print one certificate, its best mapping as a nest of loops; `kept` says that the next run goes on."""
    console, unit = output.make_console(), unit_of(problem.objective, problem.model.name)
    machine = problem.accelerator.called(entry["accelerator"])
    title = f"{entry['layer']} ({problem.layer}), {machine}, cost model {problem.model_spec}"
    output.print_heading(console, title + held_to(problem, entry["tiles"]))
    best, reach = certificate.best, _of_nests(certificate, problem, unit)
    if best is None:
        words = {
            "infeasible": "no mapping is feasible: that is proven",
            "bounded": "no mapping was found in time",
        }
        console.print(words[certificate.status], style="red")
        if reach:
            console.print(reach)
    else:
        claim = f"{_claim(certificate)} {problem.objective} {quantity_in_words(best.loss, unit, DIGITS)}"
        if hardware := problem.hardware_of(best.genes):
            claim += f", on {hardware}"
        show_best(console, problem.on_machine_of(best.genes), claim, best, detail=detail, reach=reach)
    if certificate.status == "bounded":
        bound = f"no mapping is below {quantity_in_words(certificate.lower_bound, unit, DIGITS)}"
        next_run = "the same command goes on from here" if kept else "--time-limit gives more"
        more = f"; the time ran out, {next_run}" if certificate.counts.open else ""
        console.print(bound + more)
    if certificate.ties is not None:
        console.print(_of_ties(certificate, kept=kept))
    console.print(_proof(certificate, problem))
    if certificate.within is not None:
        show_near(console, problem, certificate.within, unit)
    if "roofline" in entry:
        console.print(roofline_line(entry))
    show_checks(console, entry.get("verified", []))
    show_folder(console, out)


def show_network(
    problem: AnyProblem, data: Mapping[str, Any], out: Path | None, *, kept: bool, roofline: bool
) -> None:
    """Print a network's optima: a row a layer, and the totals; `kept` says that the next run goes on.

    `problem` is any of its layers'.
    """
    console, objective = output.make_console(), data["objective"]
    unit = unit_of(objective, data["cost_model"])
    open_ = [entry for entry in data["layers"] if entry["status"] == "bounded"]
    rows = []
    for entry in data["layers"]:
        best, proof = entry.get("own") or entry["best"] or {}, entry["certificate"]
        gap = (_percent(entry["gap"]),) if open_ else ()
        figures = (*gap, *best_figures(best, unit))
        rows.append((entry["layer"], entry["repeats"], entry["status"], *figures, proof["seconds"]))
    gap = ("gap",) if open_ else ()
    heads = ("layer", "repeats", "status", *gap, f"least {objective}", "cycles", "energy", "seconds")
    title = f"{data['network']}, {data['accelerator']}, least {objective}, cost model {data['cost_model']}"
    kinds = {entry["tiles"] for entry in data["layers"]}
    title += held_to(problem, "any" if "any" in kinds else "factors")
    output.print_table(console, title, heads, rows, figures=heads[3:])
    show_nests(console, [entry.get("nests", "") for entry in data["layers"]])
    for source in dict.fromkeys(said for entry in data["layers"] for said in entry.get("energies", ())):
        console.print(f"energy: {source}")
    if roofline:
        show_rooflines(console, data)
    show_totals(console, data)
    if "total" in data:
        console.print(_of_total(data))
    if data["time_limit"] is not None:
        console.print(
            f"all proofs took {output.short_number(data['seconds'])} of "
            f"{output.short_number(data['time_limit'])} s"
        )
    if open_:
        layers = len(data["layers"])
        # A floor is all that there is to know; it leaves nothing open.
        goes_on = kept and any(entry["certificate"]["open"] for entry in open_)
        next_run = ": the same command goes on from here" if goes_on else ""
        console.print(f"proven: {layers - len(open_)} of {layers} layers{next_run}")
    if data["lower_bound"] is not None:
        bound = quantity_in_words(data["lower_bound"], unit, DIGITS)
        above = f"; what was found is at most {_percent(data['gap'])} above it" if data["gap"] else ""
        console.print(f"no mappings of its layers have a lower total {objective} than {bound}{above}")
        if data["gap"] and data["gap"] <= data["within"] and not open_:
            console.print(f"that is within --gap {data['within']:.2%}; --gap 0 proves the least total")
    if any("verified" in entry for entry in data["layers"]):
        passed = sum(all(check["passed"] for check in entry["verified"]) for entry in data["layers"])
        console.print(f"verified: {passed} of {len(data['layers'])} layers")
    show_checks(console, data.get("total", {}).get("verified", []))
    show_folder(console, out)


def _of_total(data: Mapping[str, Any]) -> str:
    """How the least total was proven, and how far the layers' own optima together are from it."""
    total, objective = data["total"], data["objective"]
    name = "EDP" if objective == "edp" else objective
    missed = data["layer_by_layer"][objective] / data["totals"][objective] - 1
    others = [entry["layer"].rpartition(":")[2] for entry in data["layers"] if "own" in entry]
    claim = "optimal" if total["status"] == "optimal" else "best found"
    own = "the layers' own optima together are that too"
    if others:
        own = (
            f"each layer's own best together has {_percent(missed)} more: another mapping than in the table "
            f"is better for {', '.join(others)}"
        )
    return (
        f"{claim} total {name}, by {total['proofs']:,} proofs of least energy + m x latency in "
        f"{output.short_number(total['seconds'])} s; {own}"
    )


def _percent(gap: float | None) -> str | None:
    """A gap as people read it; None where there is no mapping, or only a bound of 0, to set it beside."""
    if gap is None:
        return None
    return "<0.01%" if 0 < gap < 0.0001 else f"{gap:.2%}"


def _claim(certificate: Certificate) -> str:
    if certificate.status == "optimal":
        return "optimal"
    above = f", at most {_percent(certificate.gap)} above the optimum" if isfinite(certificate.gap) else ""
    return f"best found{above}:"


def _of_ties(certificate: Certificate, *, kept: bool) -> str:
    """What is proven of the mappings that are as good."""
    ties = certificate.ties
    assert ties is not None
    fast = ties.objective.startswith("energy")
    as_good, less = ("as fast", "takes less energy") if fast else ("as cheap", "is faster")
    proof, seconds = ties.proof, output.short_number(ties.proof.own_seconds)
    if proof.status == "optimal":
        return f"of the mappings that are {as_good} none {less}: that is proven too ({seconds} s)"
    other, unit = ("energy", "J") if fast else ("latency", "s")
    bound = quantity_in_words(proof.lower_bound, unit, DIGITS)
    next_run = "; the same command goes on" if kept else ""
    return (
        f"of the mappings that are {as_good} none has {other} below {bound}: whether one {less} than this is "
        f"not settled ({seconds} s{next_run})"
    )


def _of_nests(certificate: Certificate, problem: AnyProblem, unit: str) -> str:
    """Over which nests the answer is, where there are several kinds, and what is proven of the others."""
    from dse.core.domains import prover_of

    beside = certificate.beside
    if beside is None:
        reach = str(getattr(prover_of(problem), "reach", ""))
        uneven = getattr(problem.accelerator, "nests", "") == "uneven"
        alone = "; a proof over even nests alone may end: --nests even"
        return reach + alone if uneven and certificate.status == "bounded" else reach
    proof, seconds = beside.proof, output.short_number(beside.proof.own_seconds)
    bound = quantity_in_words(proof.lower_bound, unit, DIGITS)
    if beside.nests == "even":
        return f"no even nest is below {bound}: that is proven too ({seconds} s)"
    if proof.status == "optimal":
        return f"no uneven nest is better: that is proven too ({seconds} s)"
    none = (
        f"of uneven nests none is below {bound}: whether"
        if proof.lower_bound > 0
        else "whether among uneven nests"
    )
    return f"{none} one is better is not settled ({seconds} s; --nests uneven takes more)"


def _proof(certificate: Certificate, problem: AnyProblem) -> str:
    """What was bounded and what was priced, in a sentence."""
    from dse.core.domains import prover_of

    counts, seconds = certificate.counts, output.short_number(certificate.seconds)
    if not counts.groups:
        return (
            f"the bound is what every one of {counts.mappings:,} mappings must do at least, not one of them "
            f"gone through: that is for space 'default', but for objective area ({seconds} s)"
        )
    kept = ", kept from an earlier run" if certificate.cached else ""
    if certificate.earlier_seconds:
        kept = f" after {output.short_number(certificate.earlier_seconds)} s of earlier runs{kept}"
    left = f", {counts.open:,} left" if counts.open else ""
    beyond = " or beyond the limits" if problem.options.get("limits") else ""
    boxes = "box" if counts.groups == 1 else "boxes"
    priced = f"{counts.solved:,} priced"
    priced += " beside the best mapping" if certificate.best is not None and not counts.solved else ""
    return (
        f"proof over {counts.mappings:,} mappings in {seconds} s{kept}: "
        f"{counts.groups:,} {boxes} of {prover_of(problem).groups}, {counts.too_large:,} too large for the "
        f"buffers{beyond}, {counts.bounded:,} ruled out by their bound, {priced}{left}"
    )


def roofline_line(entry: Mapping[str, Any]) -> str:
    """What no mapping of a layer does better than, and how far its best one is from it."""
    bounds = entry["roofline"]
    least = f"roofline: at least {bounds['cycles']:,} cycles ({bounds['bound_by']}) and "
    least += energy_in_words(bounds["energy_nj"], DIGITS)
    if bounds["cycles_above"] is None:
        return least
    return f"{least}; this takes {_times(bounds['cycles_above'])} and {_times(bounds['energy_above'])} that"


def show_rooflines(console: Console, data: Mapping[str, Any]) -> None:
    """Print a network's rooflines, a row a layer; a line that says so where the cost model has none."""
    if any("roofline" not in entry for entry in data["layers"]):
        console.print(f"cost model {data['cost_model']} has no roofline")
        return
    units = {unit for entry in data["layers"] for unit in UNITS if f"macs_per_{unit}" in entry["roofline"]}
    rows = []
    for entry in data["layers"]:
        bounds = entry["roofline"]
        above = (_times(bounds["cycles_above"]), _times(bounds["energy_above"]))
        name = entry["layer"].rpartition(":")[2]
        work = bounds.get("macs_per_word") or bounds["macs_per_bit"]
        figures = (f"{work:.4g}", bounds["bound_by"], bounds["cycles"])
        rows.append((name, *figures, above[0], energy_in_words(bounds["energy_nj"]), above[1]))
    heads = (
        "layer",
        f"MACs a {' or '.join(sorted(units))}",
        "bound by",
        "cycles",
        "taken",
        "energy",
        "spent",
    )
    title = (
        "Roofline: cycles and energy if each word moved once; what the mappings take and spend, over these"
    )
    output.print_table(console, title, heads, rows, figures=[*heads[1:2], *heads[3:]])


def draw_rooflines(data: Mapping[str, Any], folder: Path) -> None:
    """Write the picture into the folder, where the cost model has rooflines and layers have mappings."""
    from dse.report.plots.files import png_bytes
    from dse.report.plots.roofline import roofline_figure
    from dse.support.files import write_whole

    layers = [
        {
            "name": entry["layer"].rpartition(":")[2],
            "work": entry["repeats"] * entry["best"]["cycles"],
            "macs_per_cycle": entry["roofline"]["macs"] / entry["best"]["cycles"],
            **entry["roofline"],
        }
        for entry in data["layers"]
        if "roofline" in entry and entry["best"]
    ]
    units = [unit for unit in UNITS if any(f"macs_per_{unit}" in layer for layer in layers)]
    if len(units) > 1:  # One axis cannot count both.
        layers = [layer for layer in layers if "macs_per_bit" in layer]
    if layers:
        how = f"least {data['objective']}, {data['cost_model']}; areas are shares of the network's cycles"
        figure = roofline_figure(f"{data['network']} on {data['accelerator']}", how, layers, units[0])
        write_whole(folder / PICTURE, png_bytes(figure), "figure")


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f} x"
