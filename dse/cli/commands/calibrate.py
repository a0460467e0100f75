"""`dse calibrate`: the figures of a machine, fitted to what was measured of mappings."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from dse.cli import output
from dse.cli.options import CostModelName, Json, chosen_model

NAME = "calibration"
MOST = 1000
"""Mappings of a plan."""


def command(
    samples: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders of `dse search --out`, or files with layer, mapping and cycles.",
            metavar="SAMPLES...",
        ),
    ] = None,
    accelerator: Annotated[
        str | None,
        typer.Option(help="The machine as it is said to be; by default that of the folders.", metavar="A"),
    ] = None,
    cost_model: CostModelName = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for machine.toml, constants.toml, the picture and calibration.json.", metavar="DIR"
        ),
    ] = None,
    plan: Annotated[
        int | None,
        typer.Option(
            help="Print so many mappings of --layer to measure, as a CSV to fill in.",
            metavar="N",
        ),
    ] = None,
    layer: Annotated[
        list[str] | None, typer.Option(help="Of a plan: a layer; repeatable.", metavar="L")
    ] = None,
    json: Json = False,
) -> None:
    """Fit a machine's file to measured cycles.

    The fit has bandwidths, latency and clock, for several layers together. Where energies are measured, the
    cost model's are fitted too, for `--constants`. Each figure gets an interval. The fit's error is shown on
    samples left out of it. Each of the machine's own counters is matched with the term of the model
    that it follows. Counters of time are fitted too.
    """
    from dataclasses import replace

    from dse.cli.samples import of_file, of_folder
    from dse.core.domains import calibration_of, domain_of
    from dse.support.errors import InputError
    from dse.support.files import make_folder

    model = chosen_model(cost_model, None)
    kind = calibration_of(model)
    if plan is not None or layer:
        if plan is None or not layer or accelerator is None or samples or out is not None or json:
            raise InputError("a plan takes --plan N, --layer L and --accelerator A, and no samples")
        _print_plan(kind, plan, layer, accelerator, model)
        return
    if not samples:
        raise InputError("to calibrate takes samples; --plan N says which mappings to measure")
    found: list[Any] = []
    machines = [] if accelerator is None else [domain_of(model).load_hardware(accelerator, model)]
    judges: dict[str, str] = {}
    left_out: Counter[str] = Counter()
    answers: list[Any] = []
    for place in samples:
        if Path(place).is_dir():
            searched = of_folder(kind, Path(place), model)
            left_out += searched.left_out
            _say_left_out(searched.left_out, searched.drawn, place)
            found.append(searched.measured)
            answers.append(searched.answers)
            judges.setdefault(searched.judge, place)
            machines += [searched.machine] if accelerator is None else []
        elif not Path(place).exists():
            raise InputError(f"samples {place!r}: there is no such file or folder")
        elif accelerator is None:
            raise InputError("files of samples need --accelerator A, the machine as it is said to be")
        else:
            found += of_file(kind, place, accelerator, model)
    if any(machine != machines[0] for machine in machines):
        raise InputError("these folders are of several machines; calibrate one, or name it by --accelerator")
    if len(judges) > 1:
        said = "; ".join(f"{place}: {judge}" for judge, place in judges.items())
        typer.echo(f"dse: warning: one machine is fitted to the samples of several judges: {said}", err=True)
    if out is not None:
        make_folder(out)
    fitted = kind.calibrate_machine(machines[0], found, model)
    _say_left_out(fitted.left_out, sum(len(each.cycles) for each in found), f"cost model {model!r}")
    refused = kind.refused_in_words(answers)
    fitted = replace(fitted, left_out=dict(left_out + Counter(fitted.left_out)), refused=refused)
    if out is not None:
        _write(fitted, out)
    for what, each in (("the fitted machine", fitted), ("the fitted energies", fitted.energies)):
        if each is not None:
            _warn(what, each)
    if refused:
        typer.echo(f"dse: warning: {refused}", err=True)
    if json:
        output.print_json(fitted.to_dict())
    else:
        _show(fitted, out)


def _say_left_out(reasons: dict[str, int], count: int, place: str) -> None:
    """How many samples a fit does not see, and why."""
    if reasons:
        why = "; ".join(f"{many} because {reason}" for reason, many in reasons.items())
        total = sum(reasons.values())
        typer.echo(f"dse: {place}: {total} of {count} samples are left out: {why}", err=True)


def _warn(what: str, fitted: Any) -> None:
    """Say that a fit is of no use, that its error is large, or that it orders mappings poorly."""
    from dse.core.calibration import USELESS, large_error_in_words, order_in_words, rank_in_words

    if not fitted.useful:
        typer.echo(f"dse: warning: {what}: {fitted.reason}: {USELESS}", err=True)
        return
    if large := large_error_in_words(fitted.error_after):
        typer.echo(f"dse: warning: {what}: {large}", err=True)
    if poorly := order_in_words(fitted.rank_after):
        rank = rank_in_words(fitted.rank_after)
        typer.echo(f"dse: warning: {what}: {rank}: {poorly}", err=True)


def _print_plan(kind: Any, count: int, layers: list[str], accelerator: str, model: str) -> None:
    """The mappings to measure, as a file of samples whose cycles are to be filled in."""
    import sys

    import numpy as np

    from dse.cli.networks import problem_asked
    from dse.cli.samples import COLUMNS
    from dse.support.validation import whole_number

    whole_number(count, "--plan", most=MOST)
    problems = [problem_asked(name, accelerator, "latency", model) for name in layers]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, mappings in zip(
        layers, kind.plan_samples(problems, count, np.random.default_rng(0)), strict=True
    ):
        writer.writerows([name, mapping.to_json(), ""] for mapping in mappings)


def _error(found: Any) -> str:
    from dse.core.calibration import rank_in_words

    before, after = f"{found.error_before:.1%}", f"{found.error_after:.1%}"
    ranks = f"{rank_in_words(found.rank_after)} (by the old file: {found.rank_before:.2f})"
    return f"error on samples left out of the fit {after} (by the old file, cycles scaled: {before}), {ranks}"


def _remark(constant: Any) -> str:
    words = f"  # {constant.low:.4g} to {constant.high:.4g}; was {constant.said:g}"
    return f"{words}; {constant.remark}" if constant.remark else words


def _write(found: Any, folder: Path) -> None:
    from dse.core.calibration import FitNote
    from dse.report.plots.calibration import calibration_figure
    from dse.report.plots.drawing import Drawing
    from dse.report.plots.files import write_drawing
    from dse.support.files import write_json, write_whole
    from dse.support.toml import toml_value

    lines = [f"# By dse calibrate, {found.samples} samples, cost model {found.cost_model}:"]
    lines.append(f"# {_error(found)}.")
    for name, value in found.machine.to_dict().items():
        constant = found.constants.get(name)
        lines.append(f"{name} = {toml_value(value)}{_remark(constant) if constant else ''}")
    note = FitNote(
        found.samples,
        found.error_after,
        found.rank_after,
        found.best,
        found.useful,
        found.reason,
        found.refused,
        found.constants["clock_ghz"].said,
    )
    lines += note.lines
    write_whole(folder / "machine.toml", "\n".join(lines) + "\n")
    if (energies := found.energies) is not None:
        lines = [f"{name} = {each.fitted:.6g}{_remark(each)}" for name, each in energies.constants.items()]
        if not found.useful:
            lines.insert(0, "# Of these energies alone: the machine that was fitted with them is of no use.")
        lines += FitNote(
            energies.samples,
            energies.error_after,
            energies.rank_after,
            useful=energies.useful,
            reason=energies.reason,
        ).lines
        write_whole(folder / "constants.toml", "\n".join(lines) + "\n")
    write_json(folder / f"{NAME}.json", found.to_dict())
    title = f"Predicted against measured, {found.samples} samples"
    cycles = found.measured, found.predicted, found.before
    drawing = Drawing(NAME, title, "", lambda _: calibration_figure(*cycles, title, found.cost_model))
    write_drawing(drawing, folder)


def _show(found: Any, out: Path | None) -> None:
    from dse.cli.best_view import show_folder
    from dse.core.calibration import ERROR, rank_in_words

    console = output.make_console()
    energies = found.energies
    figures = found.constants if energies is None else found.constants | energies.constants
    rows = [
        (name, f"{each.said:g}", f"{each.fitted:.4g}", f"{each.low:.4g} to {each.high:.4g}", each.remark)
        for name, each in figures.items()
    ]
    layers = f"{len(found.layers)} layer" + "s" * (len(found.layers) != 1)
    title = f"{found.samples} samples of {layers}, cost model {found.cost_model}"
    output.print_table(console, title, ("figure", "said", "fitted", "95 % interval", "remark"), rows)
    console.print(_error(found))
    console.print(ERROR)
    if energies is not None:
        before, after = f"{energies.error_before:.1%}", f"{energies.error_after:.1%}"
        unseen = f"error on samples left out of the fit {after} (by the old file: {before})"
        ranks = rank_in_words(energies.rank_after)
        console.print(f"energies of {energies.samples} samples: {unseen}, {ranks}")
    if found.counters:
        lines = [
            (
                each.counter,
                each.term or "nothing",
                "" if each.times is None else f"{each.times:.4g}",
                f"{each.error:.1%}",
                str(each.samples),
                "yes" if each.fitted else "",
            )
            for each in found.counters
        ]
        heads = ("counter", "follows", "times", "error", "samples", "fitted")
        output.print_table(console, "The machine's counters beside the model's terms", heads, lines)
    show_folder(console, out)
