"""`dse calibrate`: the figures of a machine, fitted to what was measured of mappings."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.options import CostModelName, Json, chosen_model

if TYPE_CHECKING:
    from dse.core.problem import AnyProblem

NAME = "calibration"
MOST = 1000
"""Mappings of a plan."""
COLUMNS, ENERGY, COUNTERS = ("layer", "mapping", "cycles"), "energy_nj", "counters"


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
    samples that it has not seen. Each of the machine's own counters is matched with the term of the model
    that it follows. Counters of time are fitted too.
    """
    from dataclasses import replace

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
    for place in samples:
        if Path(place).is_dir():
            measured, machine, judge, refused = _of_folder(kind, Path(place), model)
            left_out += refused
            _say_left_out(refused, len(measured.cycles) + sum(refused.values()), place)
            found.append(measured)
            judges.setdefault(judge, place)
            machines += [machine] if accelerator is None else []
        elif accelerator is None:
            raise InputError("files of samples need --accelerator A, the machine as it is said to be")
        else:
            found += _of_file(kind, place, accelerator, model)
    if any(machine != machines[0] for machine in machines):
        raise InputError("these folders are of several machines; calibrate one, or name it by --accelerator")
    if len(judges) > 1:
        said = "; ".join(f"{place}: {judge}" for judge, place in judges.items())
        typer.echo(f"dse: warning: one machine is fitted to the samples of several judges: {said}", err=True)
    if out is not None:
        make_folder(out)
    fitted = kind.calibrate_machine(machines[0], found, model)
    _say_left_out(fitted.left_out, sum(len(each.cycles) for each in found), f"cost model {model!r}")
    fitted = replace(fitted, left_out=dict(left_out + Counter(fitted.left_out)))
    if out is not None:
        _write(fitted, out)
    for what, each in (("machine", fitted), ("energies", fitted.energies)):
        if each is not None:
            _warn(what, each)
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
    """Say that a fit is of no use, or orders mappings poorly."""
    from dse.core.calibration import USELESS, order_in_words, rank_in_words

    if not fitted.useful:
        typer.echo(f"dse: warning: {what}: {fitted.reason}: {USELESS}", err=True)
    elif poorly := order_in_words(fitted.rank_after):
        rank = rank_in_words(fitted.rank_after)
        typer.echo(f"dse: warning: {what}: {rank}: {poorly}", err=True)


def _print_plan(kind: Any, count: int, layers: list[str], accelerator: str, model: str) -> None:
    """The mappings to measure, as a file of samples whose cycles are to be filled in."""
    import sys

    import numpy as np

    from dse.cli.networks import problem_asked
    from dse.support.validation import whole_number

    whole_number(count, "--plan", most=MOST)
    problems = [problem_asked(name, accelerator, "latency", model) for name in layers]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, mappings in zip(
        layers, kind.plan_samples(problems, count, np.random.default_rng(0)), strict=True
    ):
        writer.writerows([name, mapping.to_json(), ""] for mapping in mappings)


def _of_folder(kind: Any, folder: Path, model: str) -> tuple[Any, Any, str, Counter[str]]:
    """The samples of a search that have cycles, their machine, what judged them, and why others have none."""
    import numpy as np

    from dse.core.domains import problem_from_identity
    from dse.core.reasons import Reason
    from dse.search.counters import read_counters
    from dse.search.record import RECORD, read_parquet
    from dse.support.errors import InputError

    if not (folder / RECORD).is_file():
        raise InputError(f"folder {str(folder)!r} has no {RECORD}: name one that `dse search --out` has made")
    record, about = read_parquet(folder / RECORD)
    asked = about["identity"]["problem"]["cost_model"]
    problem = problem_from_identity({**about["identity"]["problem"], "cost_model": model})
    evaluations = record.evaluations()
    usable = (evaluations.reason == 0) & (evaluations.cycles > 0)
    good = np.flatnonzero(usable)
    refused = Counter(Reason(int(code)).text for code in evaluations.reason[~usable])
    designs = problem.space.decode(record.genes()[good])
    counters = read_counters(folder, len(evaluations.cycles))
    measured = kind.Measured.of(
        folder.name,
        problem.layer,
        designs,
        evaluations.cycles[good],
        evaluations.energy_nj[good],
        [counters[place] for place in good],
    )
    versions = about["identity"]["versions"]
    judged = [name for name in versions if name.startswith("model ")]
    return measured, problem.accelerator, " ".join([asked, *(versions[name] for name in judged)]), refused


def _of_file(kind: Any, path: str, accelerator: str, model: str) -> Iterator[Any]:
    """The samples in the rows of a file, layer by layer."""
    from dse.cli.networks import problem_asked
    from dse.support import strict_json
    from dse.support.errors import InputError

    problems: dict[str, AnyProblem] = {}
    found: dict[str, list[tuple[Any, float, float, dict[str, float]]]] = {}
    for number, row in _rows(path):
        where = f"{path} line {number}"
        missing = [name for name in COLUMNS if row.get(name) in (None, "")]
        if missing:
            raise InputError(f"{where} lacks {', '.join(missing)}; expected {', '.join(COLUMNS)}")
        name, mapping, cycles = str(row["layer"]), row["mapping"], _positive(row, "cycles", where)
        energy = math.nan if row.get(ENERGY) in (None, "") else _positive(row, ENERGY, where)
        counters = _counters(row, where)
        if name not in problems:
            problems[name] = problem_asked(name, accelerator, "latency", model)
        data = strict_json.parse_json(mapping, where) if isinstance(mapping, str) else mapping
        design = problems[name].read_mapping(data, where)
        found.setdefault(name, []).append((design, cycles, energy, counters))
    if not found:
        raise InputError(f"{path} has no samples")
    for name, rows in found.items():
        yield kind.Measured.of(name, problems[name].layer, *zip(*rows, strict=True))


def _rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    from dse.support import strict_json
    from dse.support.errors import InputError
    from dse.support.files import read_text

    text = read_text(path, f"file {path!r}")
    if path.endswith(".csv"):
        yield from enumerate(csv.DictReader(io.StringIO(text)), 2)
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            row = strict_json.parse_json(line, f"{path} line {number}")
            if not isinstance(row, dict):
                raise InputError(f"{path} line {number} must be a table with {', '.join(COLUMNS)}")
            yield number, row


def _counters(row: dict[str, Any], where: str) -> dict[str, float]:
    """What the machine has counted itself: finite numbers by name; none if nothing is said."""
    from dse.support import strict_json
    from dse.support.errors import InputError, shorten

    said = row.get(COUNTERS)
    if said in (None, ""):
        return {}
    data = strict_json.parse_json(said, f"{where}: {COUNTERS}") if isinstance(said, str) else said
    usable = isinstance(data, dict) and all(
        isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
        for number in data.values()
    )
    if not usable:
        raise InputError(f"{where}: {COUNTERS} must be a table of numbers, got {shorten(said)}")
    return {name: float(number) for name, number in data.items()}


def _positive(row: dict[str, Any], name: str, where: str) -> float:
    from dse.support.errors import InputError, shorten
    from dse.support.validation import positive_number

    try:
        return positive_number(float(row[name]), f"{where}: {name}")
    except (TypeError, ValueError):
        raise InputError(f"{where}: {name} must be a number above 0, got {shorten(row[name])}") from None


def _error(found: Any) -> str:
    from dse.core.calibration import rank_in_words

    before, after = f"{found.error_before:.1%}", f"{found.error_after:.1%}"
    ranks = f"{rank_in_words(found.rank_after)} (as said: {found.rank_before:.2f})"
    return f"error of samples that the fit has not seen {after} (as said, scaled: {before}), {ranks}"


def _remark(constant: Any) -> str:
    words = f"  # {constant.low:.4g} to {constant.high:.4g}; was {constant.said:g}"
    return f"{words}; {constant.remark}" if constant.remark else words


def _write(found: Any, folder: Path) -> None:
    from dse.core.calibration import FitNote
    from dse.report.plots import Drawing, write_drawing
    from dse.report.plots.calibration import calibration_figure
    from dse.support.files import write_json, write_whole
    from dse.support.toml import toml_value

    lines = [f"# By dse calibrate, {found.samples} samples, cost model {found.cost_model}:"]
    lines.append(f"# {_error(found)}.")
    for name, value in found.machine.to_dict().items():
        constant = found.constants.get(name)
        lines.append(f"{name} = {toml_value(value)}{_remark(constant) if constant else ''}")
    note = FitNote(found.samples, found.error_after, found.rank_after, found.best, found.useful, found.reason)
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
    drawing = Drawing(NAME, title, "", lambda _: calibration_figure(found, title, found.cost_model))
    write_drawing(drawing, folder)


def _show(found: Any, out: Path | None) -> None:
    from dse.core.calibration import rank_in_words

    console = output.make_console()
    energies = found.energies
    figures = found.constants if energies is None else found.constants | energies.constants
    rows = [
        (name, f"{each.said:g}", f"{each.fitted:.4g}", f"{each.low:.4g} to {each.high:.4g}", each.remark)
        for name, each in figures.items()
    ]
    layers = f"{found.distinct} layer" + "s" * (found.distinct != 1)
    title = f"{found.samples} samples of {layers}, cost model {found.cost_model}"
    output.print_table(console, title, ("figure", "said", "fitted", "95 % interval", "remark"), rows)
    console.print(_error(found))
    if energies is not None:
        before, after = f"{energies.error_before:.1%}", f"{energies.error_after:.1%}"
        unseen = f"error of samples that the fit has not seen {after} (as said: {before})"
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
    if out is not None:
        console.print(f"written to {out}")
