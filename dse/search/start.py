"""Where a search begins, if not where its searcher likes: at the dataflow templates, or at mappings given.

Such points are the first samples of a search, charged like any. The searcher finds them under `known`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dse.problem.problem import Problem
from dse.spec.mapping import Mapping
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten, within
from dse.support.files import read_text
from dse.support.strict_json import parse

TEMPLATES = "templates"
"""What asks for the templates, in place of a file's name."""

Start = str | Path | Sequence[Mapping]
"""`templates`; a JSON file of a mapping, as `dse search --out` writes it, or of a list; or mappings."""

Points = tuple[tuple[int, ...], ...]


def start_points(problem: Problem, start: Start) -> Points:
    """The gene vectors, each design once, at which a search of the problem is to begin.

    Of the templates those that lie in the space; InputError if none does. Of what is given all have to.
    """
    if start == TEMPLATES:
        return _points(_templates_within(problem))
    where = f"start {str(start)!r}" if isinstance(start, str | Path) else "start"
    mappings = _read(problem, start, where) if isinstance(start, str | Path) else start
    if not isinstance(mappings, Sequence) or not mappings:
        raise InputError(f"{where} must be {TEMPLATES!r}, a file, or mappings, got {shorten(start)}")
    with within(where):
        return _points([problem.vectors(mappings)])


def _templates_within(problem: Problem) -> list[IntArray]:
    """The templates that the space can hold, as vectors (1, genes): genes may be fixed at other values."""
    found, why = [], "the problem has none"
    for name in problem.templates:
        try:
            found.append(problem.vectors([problem.template(name)]))
        except InputError as error:
            why = f"{name}: {error}"
    if not found:
        raise InputError(f"start {TEMPLATES!r}: no dataflow template lies in the space ({why})")
    return found


def _points(vectors: list[IntArray]) -> Points:
    return tuple(dict.fromkeys(tuple(vector) for vector in np.concatenate(vectors).tolist()))


def _read(problem: Problem, path: str | Path, where: str) -> list[Mapping]:
    data = parse(read_text(path, where), where)
    if not isinstance(data, list):
        return [problem.read_mapping(data, where)]
    if not data:
        raise InputError(f"{where} must hold a mapping or a list of them, got an empty list")
    return [problem.read_mapping(entry, f"{where}: mapping {place}") for place, entry in enumerate(data)]
