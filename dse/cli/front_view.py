"""What is shown of fronts: a layer's, a network's, that of a search, and a picture of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.cli.best_view import DIGITS, held_to, show_checks, show_folder, show_nests
from dse.core.objective import parse_objectives
from dse.optimum.beside import nests_of
from dse.support.errors import InputError
from dse.support.quantities import quantity_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.problem import AnyProblem
    from dse.search.api import Result

PROOF_SECONDS = 5.0
"""How long a proof may take to set a search's front beside it."""
PICTURE, PAGE = "front.png", "front.html"
MAX_SHOWN = 20
"""Points of a network's front that are shown, its ends among them."""


def show_front(problem: AnyProblem, entry: Mapping[str, Any], out: Path | None) -> None:
    """Print a layer's front: a row a point."""
    console = output.make_console()
    machine = problem.accelerator.called(entry["accelerator"])
    title = (
        f"{entry['layer']} ({problem.layer}), {machine}, front of latency and energy, {problem.model_spec}"
    )
    title += held_to(problem, problem.options.get("tiles", ""))
    rows = []
    for point in entry["points"]:
        buffers = problem.needs(problem.read_mapping(point["mapping"]))
        rows.append((point["cycles"], *_figures(point), buffers))
    if rows:
        heads = ("cycles", "latency", "energy", "EDP", "needs")
        output.print_table(console, title, heads, rows, figures=heads[:4])
    else:
        output.print_heading(console, title)
    console.print(_claim(entry))
    show_nests(console, [nests_of(problem)])
    _show_checks(console, [entry])
    show_folder(console, out)


def show_network_front(problem: AnyProblem, data: Mapping[str, Any], out: Path | None) -> None:
    """Print a network's front, and what its layers' are; the problem is that of one of them."""
    console, points = output.make_console(), data["points"]
    title = f"{data['network']}, {data['accelerator']}, fronts of latency and energy, {data['cost_model']}"
    title += held_to(problem, problem.options.get("tiles", ""))
    rows = [
        (one["layer"], one["repeats"], one["status"], len(one["points"]), output.short_number(one["seconds"]))
        for one in data["layers"]
    ]
    heads = ("layer", "repeats", "status", "points", "seconds")
    output.print_table(console, title, heads, rows, figures=("repeats", "points", "seconds"))
    if points:
        shown, names = _some(points), ("latency", "energy", "EDP")
        figures = [_figures(point) for point in shown]
        output.print_table(console, "whole network", names, figures, figures=names)
        least = min(point["latency"] * point["energy"] for point in points)
        epsilon = data["epsilon"]
        near = f", within {epsilon:.2g} of the exact front" if epsilon else ""
        console.print(
            f"{len(points):,} points{near}; {len(shown)} shown; least EDP "
            f"{quantity_in_words(least, 'J s', DIGITS)}. "
            "Every layer has one mapping, however often it repeats"
        )
    if data["status"] != "optimal":
        why = (
            "no mapping of some layer is feasible"
            if data["status"] == "infeasible"
            else ("the time ran out: there may be more points; the same command goes on from here")
        )
        console.print(why, style="red")
    show_nests(console, [nests_of(problem)])
    _show_checks(console, data["layers"])
    show_folder(console, out)


def show_found(console: Console, result: Result, layer: str, accelerator: str) -> None:
    """Print the front that a search has found, beside the exact one if that is soon had."""
    from dse.core.cost_models import unit_of

    entry, problem = result.to_dict(layer, accelerator), result.cell.problem
    names = [one.name for one in parse_objectives(problem.objective)]
    units = [unit_of(name, problem.model.name) for name in names]
    rows = [
        (
            point["index"] + 1,
            *(quantity_in_words(point[name], unit, DIGITS) for name, unit in zip(names, units, strict=True)),
        )
        for point in entry["front"]
    ]
    heads = ("sample", *names)
    output.print_table(console, f"front of {len(rows)} points", heads, rows, figures=heads)
    console.print(_missing(result))


def _missing(result: Result) -> str:
    """How much the found front lacks of the exact one, if that is known within a few seconds."""
    from dse.optimum.front import certify_front, front_regret

    problem = result.cell.problem
    try:
        exact = certify_front(problem, PROOF_SECONDS)
        if exact.status == "bounded":
            return "the exact front takes longer: dse certify with the same objectives"
        lacks = front_regret(exact, problem, result.record, [len(result.record)])[0]
    except InputError as error:
        return f"no exact front to set it beside: {error}"
    return f"{lacks:.2%} of the hypervolume of the exact front is missing ({len(exact.points)} points)"


def draw_front(problem: AnyProblem | None, data: Mapping[str, Any], folder: Path) -> None:
    """Write the picture of a front, and of a layer's the page, into the folder, if it has points."""
    from dse.report.plots.files import png_bytes
    from dse.report.plots.front import front_figure
    from dse.support.files import write_whole

    if data["points"]:
        title = f"{data.get('network') or data['layer']} on {data['accelerator']}"
        how = f"front of latency and energy, {data['cost_model']}: no mapping is below and left of it"
        points = [(point["latency"], point["energy"]) for point in data["points"]]
        write_whole(folder / PICTURE, png_bytes(front_figure(title, how, {"exact front": points})), "figure")
        if problem is not None:
            write_page(problem, title, how, data["points"], folder)


def write_page(
    problem: AnyProblem, title: str, how: str, points: Sequence[Mapping[str, Any]], folder: Path
) -> None:
    """Write the page of a layer's front, with its mappings, into the folder, if it has points."""
    from dse.report.page.front import Shown, front_page
    from dse.support.files import write_whole

    if points:
        shown = [
            Shown(point["latency"], point["energy"], problem.nest(problem.read_mapping(point["mapping"])))
            for point in points
        ]
        write_whole(folder / PAGE, front_page(title, how, shown), "page")


def _claim(entry: Mapping[str, Any]) -> str:
    """What is proven of a layer's front."""
    proofs, seconds = f"{len(entry['proofs'])} proofs", output.short_number(entry["seconds"])
    before = (
        f" after {output.short_number(entry['earlier_seconds'])} s of earlier runs"
        if entry["earlier_seconds"]
        else ""
    )
    if entry["status"] == "infeasible":
        return "no mapping is feasible: that is proven"
    if entry["status"] == "optimal":
        return f"exact front by {proofs} in {seconds} s{before}"
    left = entry["open"]
    where = f" at {quantity_in_words(left['latency'], 's', DIGITS)} or less" if left["latency"] else ""
    known, best = left["best"], ""
    if known:
        best = f", the best known {quantity_in_words(known['energy'], 'J', DIGITS)} (gap {left['gap']:.2%})"
    return (
        f"{len(entry['points'])} points of the front are proven; the time ran out ({seconds} s{before}): no "
        f"mapping{where} takes less than "
        f"{quantity_in_words(left['energy'], 'J', DIGITS)}{best}. The same command "
        "goes on from here"
    )


def _figures(point: Mapping[str, Any]) -> tuple[str, str, str]:
    latency, energy = point["latency"], point["energy"]
    return (
        quantity_in_words(latency, "s", DIGITS),
        quantity_in_words(energy, "J", DIGITS),
        quantity_in_words(latency * energy, "J s"),
    )


def _some(points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """At most so many of the points, evenly chosen."""
    count = min(len(points), MAX_SHOWN)
    return [points[place * (len(points) - 1) // max(count - 1, 1)] for place in range(count)]


def _show_checks(console: Console, layers: Sequence[Mapping[str, Any]]) -> None:
    checks = [check for entry in layers for check in entry.get("verified", [])]
    if len(layers) == 1:
        show_checks(console, checks)
    elif checks:
        passed = sum(all(check["passed"] for check in entry["verified"]) for entry in layers)
        console.print(f"verified: {passed} of {len(layers)} layers")
