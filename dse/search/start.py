"""Where a search begins: where its searcher likes, at random points, at the dataflow templates, at mappings.

Templates and mappings are the first samples of a search, charged like any. The searcher finds them under
`known`. To begin at random points a searcher may need settings of its own, which it declares (see Abilities).
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Mapping as Table
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.core.cost_models import unit_of
from dse.core.objective import known_objective
from dse.core.problem import AnyProblem
from dse.core.reasons import FIRST_RULE
from dse.search.abilities import abilities_of, current_settings
from dse.search.record import RECORD, read_parquet
from dse.search.searcher import Searcher, searcher_class
from dse.support.arrays import IntArray
from dse.support.errors import InputError, errors_within, first_difference, shorten, unknown_name
from dse.support.files import read_text
from dse.support.quantities import quantity_in_words
from dse.support.strict_json import parse_json

if TYPE_CHECKING:
    from dse.core.space import Space

ROWS = 256
SAME = 1e-6
"""Relative, as MAESTRO prints six digits."""
OWN, RANDOM, TEMPLATES = "own", "random", "templates"
"""What asks for the searcher's own start, random points and the templates, in place of a file's name."""

BEST = 3
"""Of a search's folder, the points that another search begins at: the best, each of another loss."""

Start = str | Path | Sequence[Any]
"""One of these words; a JSON file of a mapping, as `dse search --out` writes it, or a list; the folder of a
search in the same space, under any cost model; or mappings."""

Points = tuple[tuple[int, ...], ...]


def random_settings(kind: str, settings: Table[str, Any] | None) -> dict[str, Any]:
    """The settings of the searcher of that name where it is to begin at random points: those given stay."""
    made = searcher_class(kind)
    return {**(abilities_of(made).random_start or {}), **current_settings(made, settings)}


def start_in_words(searcher: Searcher, space: Space) -> str:
    """With what a searcher begins by itself, in a few words: `random`, what it says, or `own` if nothing."""
    able = abilities_of(searcher)
    plain = able.random_start
    if plain is not None and all(getattr(searcher, name) == value for name, value in plain.items()):
        return RANDOM
    return OWN if able.begins is None else str(able.begins(space))


def start_words(searcher: Searcher, space: Space, start: str) -> str:
    """The same of a searcher that a campaign has begin at `start`: `templates`, `mine.json, expectations`."""
    known = start_in_words(searcher, space)
    if start in (OWN, RANDOM):
        return known
    given = Path(start).name
    more = [word for word in known.split(", ") if word not in (OWN, RANDOM, given)]
    return ", ".join([given, *more])


def start_points(problem: AnyProblem, start: Start) -> Points:
    """The gene vectors, each design once, at which a search of the problem is to begin.

    None where it begins at its searcher's own start or at random. Of the templates those that lie in the
    space; InputError if none does. Of what is given all have to.
    """
    if start in (OWN, RANDOM):
        return ()
    if start == TEMPLATES:
        return _points(_templates_within(problem))
    if isinstance(start, str | Path) and os.path.isdir(start):
        return _points([_best_found(problem, Path(start))])
    if isinstance(start, str) and not Path(start).suffix and not os.path.isfile(start):
        raise unknown_name("start", start, (RANDOM, TEMPLATES, OWN, "FILE.json", "DIR"))
    where = f"start {str(start)!r}" if isinstance(start, str | Path) else "start"
    mappings = _read(problem, start, where) if isinstance(start, str | Path) else start
    if not isinstance(mappings, Sequence) or not mappings:
        raise InputError(f"{where} must be {TEMPLATES!r}, a file, or mappings, got {shorten(start)}")
    with errors_within(where):
        try:
            return _points([problem.vectors(mappings)])
        except InputError as error:
            said = str(error)
            more = "" if "--tiles any" in said else _other_tiles(problem, mappings)
            raise InputError(f"{said}{more}") from None


def _other_tiles(problem: AnyProblem, mappings: Sequence[Any]) -> str:
    """What would take mappings that the space has not: tiles of any size, or nothing."""
    if problem.options.get("tiles") != "factors":
        return ""
    try:
        problem.with_changes(tiles="any").vectors(mappings)
    except InputError:
        return ""
    return "; with tiles of any size (--tiles any) the search can begin there"


def _best_found(problem: AnyProblem, folder: Path) -> IntArray:
    """The BEST points of a search that was kept: of a fast judge's, say, for a slow one."""
    where = f"start {str(folder)!r}"
    if not (folder / RECORD).is_file():
        raise InputError(f"{where} has no {RECORD}: name a folder that `dse search --out` has made")
    record, about = read_parquet(folder / RECORD)
    there, here = about["identity"]["problem"]["space"], json.loads(json.dumps(problem.identity["space"]))
    if there != here:
        raise InputError(f"{where} is of another space: {first_difference(there, here, ('there', 'now'))}")
    losses, first = np.unique(record.evaluations().loss, return_index=True)
    best = first[np.isfinite(losses)][:BEST]
    if not len(best):
        raise InputError(f"{where} has nothing feasible to begin with")
    return record.genes()[best]


def _templates_within(problem: AnyProblem) -> list[IntArray]:
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


def _read(problem: AnyProblem, path: str | Path, where: str) -> list[Any]:
    data = parse_json(read_text(path, where), where)
    if not isinstance(data, list):
        return [problem.read_mapping(data, where)]
    if not data:
        raise InputError(f"{where} must hold a mapping or a list of them, got an empty list")
    return [problem.read_mapping(entry, f"{where}: mapping {place}") for place, entry in enumerate(data)]


def flat_objective(problem: AnyProblem) -> str | None:
    """A sentence, if the objective is the same for random mappings of the space; None if it varies.

    Only areas and powers are looked at: run time and energy follow the mapping under any model. They are
    priced outside of any budget, and nothing is learned from them. A model from outside, whose prices may
    take minutes, is not asked.
    """
    if problem.model.outside:
        return None
    objective = known_objective(problem.objective)
    if objective is None or any(figure.adds_up for figure in objective.figures.values()):
        return None
    if problem.space.vectors == 1:
        return None
    priced = problem.price(problem.space.sample(np.random.default_rng(0), ROWS))
    values = priced.objective_value[priced.reason < FIRST_RULE]
    values = values[values > 0]
    if len(values) < 2 or np.ptp(values) > SAME * values.max():
        return None
    unit = unit_of(problem.objective, problem.model.name)
    return (
        f"objective {problem.objective} is {quantity_in_words(values[0], unit, 6)} for "
        f"all of {len(values)} random "
        f"mappings that the cost model prices: there is nothing to search"
    )
