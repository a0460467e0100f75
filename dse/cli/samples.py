"""Samples that `dse calibrate` takes: the folders of searches, and files with a row for each mapping."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dse.core.problem import AnyProblem

COLUMNS, ENERGY, COUNTERS = ("layer", "mapping", "cycles"), "energy_nj", "counters"


class Searched(NamedTuple):
    """What a search's folder has: samples that have cycles, their machine, and what judged them.

    `left_out` counts the samples that have none, by the reason; `answers` are what its judge refused and ran.
    """

    measured: Any
    machine: Any
    judge: str
    left_out: Counter[str]
    answers: Any

    @property
    def drawn(self) -> int:
        """How many samples there are."""
        return len(self.measured.cycles) + sum(self.left_out.values())


def of_folder(kind: Any, folder: Path, model: str) -> Searched:
    """The samples of a search; `kind` is the module that calibrates. InputError for another folder."""
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
    evaluations, genes = record.evaluations(), record.genes()
    usable = (evaluations.reason == 0) & (evaluations.cycles > 0)
    good = np.flatnonzero(usable)
    counters = read_counters(folder, len(evaluations.cycles))
    measured = kind.Measured.of(
        _layer_of(folder),
        problem.layer,
        problem.space.decode(genes[good]),
        evaluations.cycles[good],
        evaluations.energy_nj[good],
        [counters[place] for place in good],
    )
    versions = about["identity"]["versions"]
    judged = [name for name in versions if name.startswith("model ")]
    return Searched(
        measured,
        problem.accelerator,
        " ".join([asked, *(versions[name] for name in judged)]),
        Counter(Reason(int(code)).text for code in evaluations.reason[~usable]),
        kind.Answers.of(problem.space, genes[evaluations.reason == Reason.REFUSED], genes[good]),
    )


def _layer_of(folder: Path) -> str:
    """What the user called the layer of a search; the folder's name where its result does not say it."""
    from dse.search.api import RESULT
    from dse.support import strict_json
    from dse.support.files import read_text

    path = folder / RESULT
    if not path.is_file():
        return folder.name
    said = strict_json.parse_json(read_text(str(path), f"file {str(path)!r}"), str(path))
    return str(said["layer"]) if isinstance(said, dict) and "layer" in said else folder.name


def of_file(kind: Any, path: str, accelerator: str, model: str) -> Iterator[Any]:
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
