"""`dse calibrate`: the figures of a machine, fitted to what was measured of mappings."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.options import CostModelName, Json, chosen_model

if TYPE_CHECKING:
    from dse.analysis.calibration import Calibration, Measured
    from dse.core.layer import Layer
    from dse.domains.clustered.accelerator import Accelerator
    from dse.domains.clustered.mapping import MappingBatch

NAME = "calibration"
COLUMNS = ("layer", "mapping", "cycles")


def command(
    samples: Annotated[
        list[str],
        typer.Argument(
            help="Folders of `dse search --out`, or files (.csv, .jsonl) with layer, mapping and cycles.",
            metavar="SAMPLES...",
        ),
    ],
    accelerator: Annotated[
        str | None,
        typer.Option(help="The machine as it is said to be; by default that of the folders.", metavar="A"),
    ] = None,
    cost_model: CostModelName = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for machine.toml, the picture and calibration.json.", metavar="DIR"),
    ] = None,
    json: Json = False,
) -> None:
    """Fit a machine's bandwidths, latency and clock to measured cycles, of several layers together.

    Says of each figure the interval, and of the fit how far it is off samples that it has not seen.
    """
    from dse.analysis.calibration import calibrate
    from dse.support.errors import InputError
    from dse.support.files import make_folder

    model = chosen_model(cost_model, None)
    found: list[Measured] = []
    machines: list[Accelerator] = [] if accelerator is None else [_machine(accelerator, model)]
    for place in samples:
        if Path(place).is_dir():
            measured, machine = _of_folder(Path(place))
            found.append(measured)
            machines += [machine] if accelerator is None else []
        else:
            found += _of_file(place)
    if not machines:
        raise InputError("files of samples need --accelerator A, the machine as it is said to be")
    if any(machine != machines[0] for machine in machines):
        raise InputError("these folders are of several machines; calibrate one, or name it by --accelerator")
    if out is not None:
        make_folder(out)
    fitted = calibrate(machines[0], found, model)
    if out is not None:
        _write(fitted, out)
    if json:
        output.print_json(fitted.to_dict())
    else:
        _show(fitted, out)


def _machine(name: str, model: str) -> Accelerator:
    from dse.core.domains import domain_of
    from dse.domains.clustered.accelerator import Accelerator
    from dse.support.errors import InputError

    found: Any = domain_of(model).load_hardware(name, model)
    if not isinstance(found, Accelerator):
        raise InputError(f"cost model {model!r} prices no mappings of two levels")
    return found


def _of_folder(folder: Path) -> tuple[Measured, Accelerator]:
    """The feasible samples of a search that was kept, and the machine that they are for."""
    import numpy as np

    from dse.core.domains import layer_of_identity
    from dse.core.layer import Layer
    from dse.domains.clustered.accelerator import Accelerator
    from dse.domains.clustered.space.mapping_space import MappingSpace
    from dse.search.api import RECORD
    from dse.search.record import read_parquet
    from dse.support.errors import InputError

    if not (folder / RECORD).is_file():
        raise InputError(f"folder {str(folder)!r} has no {RECORD}: name one that `dse search --out` has made")
    record, about = read_parquet(folder / RECORD)
    problem = about["identity"]["problem"]
    said, machine = problem["space"], Accelerator.from_dict(problem["accelerator"])
    if "tiles" not in said or "fixed" not in said:
        raise InputError(f"folder {str(folder)!r} is of no mappings of two levels")
    layer = Layer.from_dict(layer_of_identity(problem))
    parts = {"parts": said["parts"]} if "parts" in said else {}
    space = MappingSpace(layer, machine, said["tiles"], said["fixed"], **parts)
    evaluations = record.evaluations()
    good = np.flatnonzero((evaluations.reason == 0) & (evaluations.cycles > 0))
    mappings = space.decode(record.genes()[good])
    return _measured(folder.name, layer, mappings, evaluations.cycles[good]), machine


def _of_file(path: str) -> Iterator[Measured]:
    """The samples in the rows of a file, layer by layer."""
    from dse.core.layer import Layer
    from dse.domains.clustered.mapping import Mapping, MappingBatch
    from dse.support.errors import InputError, shorten
    from workloads import load_layer

    layers: dict[str, Layer] = {}
    found: dict[str, list[tuple[Mapping, float]]] = {}
    for number, row in _rows(path):
        where = f"{path} line {number}"
        missing = [name for name in COLUMNS if row.get(name) in (None, "")]
        if missing:
            raise InputError(f"{where} lacks {', '.join(missing)}; expected {', '.join(COLUMNS)}")
        said, cycles = row["layer"], _cycles(row["cycles"], where)
        name = said if isinstance(said, str) else json.dumps(said, sort_keys=True)
        if name not in layers:
            layers[name] = load_layer(said) if isinstance(said, str) else Layer.from_dict(said, where)
        mapping = row["mapping"]
        made = Mapping.from_json(mapping, where) if isinstance(mapping, str) else None
        found.setdefault(name, []).append((made or Mapping.from_dict(mapping, where), cycles))
    if not found:
        raise InputError(f"{shorten(path)} has no samples")
    for name, pairs in found.items():
        mappings, measured = zip(*pairs, strict=True)
        yield _measured(name, layers[name], MappingBatch.of(list(mappings)), measured)


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
            row = strict_json.parse(line, f"{path} line {number}")
            if not isinstance(row, dict):
                raise InputError(f"{path} line {number} must be a table with {', '.join(COLUMNS)}")
            yield number, row


def _cycles(said: object, where: str) -> float:
    from dse.support.errors import InputError, shorten
    from dse.support.validation import positive_number

    try:
        return positive_number(float(said), f"{where}: cycles")  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{where}: cycles must be a number above 0, got {shorten(said)}") from None


def _measured(name: str, layer: Layer, mappings: MappingBatch, cycles: Any) -> Measured:
    import numpy as np

    from dse.analysis.calibration import Measured

    return Measured(name, layer, mappings, np.asarray(cycles, np.float64))


def _error_line(found: Calibration) -> str:
    before, rank = f"{found.error_before:.1%}", f"{found.rank_before:.2f}"
    return (
        f"error of samples that the fit has not seen {found.error_after:.1%} (as said, scaled: {before}), "
        f"rank correlation {found.rank_after:.2f} (as said: {rank})"
    )


def _write(found: Calibration, folder: Path) -> None:
    from dse.report.plots import Drawing, write_drawing
    from dse.report.plots.calibration import calibration_figure
    from dse.support.files import write_json, write_whole
    from dse.support.toml import toml_value

    lines = [f"# By dse calibrate, {found.samples} samples, cost model {found.cost_model}:"]
    lines += [f"# {part}." for part in _error_line(found).split(", rank")[:1]]
    for name, value in found.machine.to_dict().items():
        constant = found.constants.get(name)
        remark = f"  # {constant.low:.4g} to {constant.high:.4g}; was {constant.said:g}" if constant else ""
        lines.append(f"{name} = {toml_value(value)}{remark}")
    write_whole(folder / "machine.toml", "\n".join(lines) + "\n")
    write_json(folder / f"{NAME}.json", found.to_dict())
    title = f"Predicted against measured, {found.samples} samples"
    drawing = Drawing(NAME, title, "", lambda _: calibration_figure(found, title, found.cost_model))
    write_drawing(drawing, folder)


def _show(found: Calibration, out: Path | None) -> None:
    console = output.make_console()
    rows = [
        (name, f"{each.said:g}", f"{each.fitted:.4g}", f"{each.low:.4g} to {each.high:.4g}")
        for name, each in found.constants.items()
    ]
    title = f"{found.samples} samples of {len(found.layers)} layers, cost model {found.cost_model}"
    output.print_table(console, title, ("figure", "said", "fitted", "95 % interval"), rows)
    console.print(_error_line(found))
    if out is not None:
        console.print(f"written to {out}")
