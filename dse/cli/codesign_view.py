"""What `dse codesign` shows: the machine, what the network costs on it, and what is proven; and its files."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.cli.best_view import DIGITS, show_checks, show_folder, totals_in_words
from dse.core.cost_models import unit_of
from dse.search.network import MAPPINGS, layer_file
from dse.support.files import write_json, write_whole
from dse.support.quantities import counted_noun, energy_in_words, quantity_in_words
from dse.support.strict_json import plain
from dse.support.toml import toml_lines

if TYPE_CHECKING:
    from rich.console import Console

    from dse.domains.codesign.space import HardwareSpace
    from dse.optimum.codesign.fronts import MachineFront
    from dse.optimum.codesign.result import Codesign
    from dse.optimum.codesign.searched import SearchedCodesign

RESULT, CERTIFICATE, MACHINE = "codesign.json", "certificate.json", "machine.toml"
NAMES = {"area_mm2": ("", "mm2"), "leakage_mw": ("leakage ", "mW")}
MAX_ROWS = 40
"""Of a front that is printed whole."""


def show_codesign(found: Codesign, entry: dict[str, Any], out: Path | None, *, kept: bool) -> None:
    """Print it; `kept` says that the next run goes on from here."""
    console, unit = output.make_console(), unit_of(found.objective, found.space.model.name)
    title = f"{found.network}, least {found.objective}, {_machines(found.space)}"
    title += f"{_caps(found)}, cost model {found.space.model.spec}, perfect factors"
    best = found.best
    if best is None:
        output.print_heading(console, title)
        console.print(_no_machine(found) if found.status == "infeasible" else _none_found(found), style="red")
    else:
        claim = "optimal" if found.status == "optimal" else f"best found, gap {found.gap:.3%}:"
        _show_best(console, title, claim, found, best)
    if found.status == "bounded":
        more = "; the same command goes on from here" if kept else ""
        if found.ended:
            more = "; between are more sums of mappings than are gone through"
        if found.ended and "max_power" in found.caps:
            below = "below the best, " if best else ""
            more = f"; {below}slower mappings alone may keep the caps: these are not looked for"
        bound = quantity_in_words(found.lower_bound, unit, DIGITS)
        console.print(f"no machine and mappings are below {bound}{more}")
    earlier = f" ({found.proofs_kept:,} of earlier runs)" if found.proofs_kept else ""
    boxes = "box" if found.boxes == 1 else "boxes"
    console.print(
        f"proof: {found.boxes:,} {boxes} of machines bounded, "
        f"{found.machines_excluded:,} machines excluded by a limit, "
        f"{counted_noun(found.proofs, 'proof')} of layers{earlier}, "
        f"{output.short_number(found.cpu_seconds)} CPU s, "
        f"{output.short_number(found.seconds)} s"
    )
    show_checks(console, entry.get("verified", []))
    show_folder(console, out)


def show_searched(found: SearchedCodesign, out: Path | None) -> None:
    """Print what a searcher has found, and what it was charged."""
    console, best = output.make_console(), found.best
    title = f"{found.network}, {found.objective}, {found.searcher} on {_machines(found.space)}"
    title += f", cost model {found.space.model.spec}"
    if best is None:
        output.print_heading(console, title)
        console.print("nothing feasible was found", style="red")
    else:
        _show_best(console, title, f"best found, evaluation {best['evaluation']:,}:", found, best)
    inner = f"; {found.inner} inside" if found.inner else ""
    proofs = f" and {found.proofs:,} proofs, no samples" if found.proofs else ""
    console.print(
        f"{found.evaluations:,} network evaluations, {found.pricings:,} pricings of layers{proofs}{inner}. "
        "Nothing is proven; without --searcher it is"
    )
    show_folder(console, out)


def show_front(found: MachineFront, out: Path | None) -> None:
    """Print the front over machines: a row a chip."""
    console = output.make_console()
    rows = []
    for best in found.points if len(found.points) <= MAX_ROWS else _one_a_machine(found.points):
        area = best.get("area_mm2")
        rows.append(
            (
                *totals_in_words(best["totals"]),
                "-" if area is None else f"{area:.4g} mm2",
                ", ".join(f"{name} {value:,.10g}" for name, value in best["parameters"].items()),
            )
        )
    none = "no machine runs it, " if found.status == "infeasible" else "no point was proven in time, "
    title = f"{found.network}, front of {' and '.join(found.objectives)}, {'' if rows else none}"
    title += f"{_machines(found.space)}, cost model {found.space.model.spec}"
    heads = ("latency", "energy", "EDP", "area", "machine")
    output.print_table(console, title, heads, rows, figures=heads[:4])
    part = "the convex part of the front" if found.convex else "the exact front"
    part += ", under every limit of area," if found.convex and len(found.objectives) > 2 else ""
    part += f", within {found.epsilon:.1e} of each figure," if found.epsilon else ""
    whole = found.status != "bounded"
    claim = f"{part} of all machines and mappings" if whole else "the time ran out"
    few = " (above, of each machine the one of least EDP; all by --json, --out)" * (
        len(rows) < len(found.points)
    )
    console.print(
        f"{len(found.points):,} points{few}, each with its proof: {claim}; {found.proofs:,} proofs of "
        f"layers, {output.short_number(found.seconds)} s"
    )
    show_folder(console, out)


def _one_a_machine(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each machine's points that of least EDP, in the order of its first."""
    least: dict[str, dict[str, Any]] = {}
    for point in points:
        one = least.setdefault(str(point["parameters"]), point)
        if point["totals"]["edp"] < one["totals"]["edp"]:
            least[str(point["parameters"])] = point
    return list(least.values())


def draw_front(found: MachineFront, folder: Path) -> None:
    """Write the picture of a front over machines into the folder, if it has points."""
    from dse.report.plots.files import png_bytes
    from dse.report.plots.front import Chip, machines_figure

    order = ("area", "latency", "energy")
    names = sorted(found.objectives, key=lambda name: order.index(name) if name in order else len(order))
    shown = names[-2:]
    units = {name: "mm2" if name == "area" else unit_of(name, found.space.model.name) for name in names}
    chips = []
    for best in found.points:
        figures = {names[-1]: best["value"], **best["totals"], "area": best.get("area_mm2")}
        values = ", ".join(f"{value:,.10g}" for value in best["parameters"].values())
        area = figures["area"] if len(names) > len(shown) else None
        chips.append(Chip(figures[shown[0]], figures[shown[1]], area, values))
    if chips:
        title = f"{found.network} on {found.space.machines:,} machines of {found.space.name}"
        how = "no machine and mappings are below and left of it"
        how += f"; at the dots {', '.join(found.space.names)}" * (len(names) == len(shown))
        figure = machines_figure(
            title, how, ((shown[0], units[shown[0]]), (shown[1], units[shown[1]])), chips
        )
        write_whole(folder / "front.png", png_bytes(figure), "figure")


def write_found(entry: dict[str, Any], out: Path, certificate: dict[str, Any] | None = None) -> None:
    """Write the result with its certificate, if it has one, a file for each layer's mapping, and the machine
    as `--accelerator` reads it, with the cost model that it is priced by.
    """
    if certificate is not None:
        write_json(out / CERTIFICATE, plain(certificate))
    write_json(out / RESULT, plain(entry))
    best = plain(entry["best"])
    if not best:
        (out / MACHINE).unlink(missing_ok=True)
        return
    model = " ".join(shlex.quote(best["cost_model"]).split())
    lines = [f"# By dse codesign. Priced with --cost-model {model}", *toml_lines(best["hardware"])]
    write_whole(out / MACHINE, "\n".join(lines) + "\n")
    for place, layer in enumerate(best["layers"]):
        write_json(out / MAPPINGS / layer_file(place, layer["layer"]), layer["mapping"])


def _show_best(
    console: Console, title: str, claim: str, found: Codesign | SearchedCodesign, best: dict[str, Any]
) -> None:
    """Print a machine, the network's mappings and what they cost."""
    unit = unit_of(found.objective, found.space.model.name)
    rows = [
        (
            layer["layer"],
            layer["repeats"],
            layer["cycles"],
            energy_in_words(layer["energy_nj"]),
            power_in_words(layer),
        )
        for layer in best["layers"]
    ]
    heads = ("layer", "repeats", "cycles", "energy", "mean power")
    output.print_table(console, title, heads, rows, figures=heads[3:])
    _show_networks(console, best.get("networks", ()))
    machine = ", ".join(f"{name} {value:,.10g}" for name, value in best["parameters"].items())
    for name, (front, of) in NAMES.items():
        machine += f", {front}{best[name]:.4g} {of}" if name in best else ""
    console.print(
        f"{claim} {found.objective} {quantity_in_words(best['value'], unit, DIGITS)}, on {machine}",
        style="green",
    )
    totals, networks = best["totals"], best.get("networks", ())
    of = "whole network" if not networks else "weighted sum" if "share" in networks[0] else "all runs"
    latency, energy, edp = totals_in_words(totals)
    console.print(
        f"{of}: {best['cycles']:,.10g} cycles, {latency}, {energy}, EDP {edp}, "
        f"mean power {power_in_words(totals)}"
    )


def _show_networks(console: Console, networks: Sequence[dict[str, Any]]) -> None:
    """Print what a run of each of several networks costs."""
    rows = [
        (
            one["network"],
            f"{one['share']:.4g}" if "share" in one else f"{one['runs']:,}",
            f"{one['cycles']:,.10g}",
            *totals_in_words(one),
            power_in_words(one),
        )
        for one in networks
    ]
    if rows:
        heads = ("network", "share" if "share" in networks[0] else "runs", "cycles", "latency", "energy")
        title = "a run of each network"
        output.print_table(console, title, (*heads, "EDP", "mean power"), rows, figures=heads[1:])


def power_in_words(figures: dict[str, Any]) -> str:
    """The mean power of a network or layer in words."""
    return quantity_in_words(figures["mean_power_mw"], "mW")


def _no_machine(found: Codesign) -> str:
    """Why there is none, of which the proof is complete."""
    boxes = found.certificate["boxes"]
    # In words: area 0.2 of 0.1 mm2.
    broken = [box["limit"].split() for box in boxes if "limit" in box]
    if found.machines_excluded == found.space.machines:
        least = min(broken, key=lambda words: (words[0], float(words[1])))
        return f"no machine keeps the limits: that is proven; even the least has {' '.join(least)}"
    if found.caps and (fastest := found.least_latency) < math.inf:
        words = "no run on any of the machines keeps the caps, that is proven"
        takes = f": every run takes at least {quantity_in_words(fastest, 's')}"
        return words + takes * ("max_latency" in found.caps)
    return (
        f"no machine is feasible, that is proven: {found.machines_excluded:,} are excluded by a limit, "
        "and on each of the others some layer has no mapping that fits"
    )


def _none_found(found: Codesign) -> str:
    """What is to be said where nothing is found, and nothing proven of that."""
    words = f"no {'run that keeps the caps' if found.caps else 'machine'} was found"
    words += "" if found.ended else " in time"
    if "max_power" in found.caps and (least := found.least_power) < math.inf:
        words += f": the least mean power of the runs looked at is {quantity_in_words(least, 'W')}"
    return words


def _machines(space: HardwareSpace) -> str:
    """How many machines of which space, and what limits leave out."""
    units = {name: (front or "area ", unit) for name, (front, unit) in NAMES.items()}
    limits = [f"{units[name][0]}at most {limit:g} {units[name][1]}" for name, limit in space.limits.items()]
    return ", ".join([f"{space.machines:,} machines of {space.name}", *limits])


def _caps(found: Codesign) -> str:
    """The caps on the network's run in words."""
    units = {"max_latency": ("latency", "s"), "max_power": ("mean power", "W")}
    words = [(*units[name], cap) for name, cap in found.caps.items()]
    return "".join(f", {figure} at most {quantity_in_words(cap, unit)}" for figure, unit, cap in words)
