"""A campaign's TOML file, read strictly: which searchers meet which problems, how often, with what budget."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dse.cost import COST_MODELS, cost_model, model_with, spec_of
from dse.problem.problem import Problem
from dse.search.run import Cell
from dse.search.searcher import Searcher, make_searcher, searcher_class
from dse.spec.accelerator import load_accelerator
from dse.spec.layer import Layer
from dse.spec.objective import OBJECTIVES
from dse.support.errors import InputError, shorten, unknown
from dse.support.hashing import digest
from dse.support.toml import is_toml, read_toml
from dse.support.validation import keys, table, whole_number

FindLayers = Callable[[str], Mapping[str, Layer]]
"""From a layer's or a network's name to the layers it stands for, by their full names."""

REQUIRED = ("name", "budget", "seeds", "cost_model", "searchers")
OPTIONAL = (
    "seed",
    "reference",
    "constants",
    "tiles",
    "fixed",
    "objectives",
    "accelerators",
    "layers",
    "problems",
)
LIMITS = ("seeds", "budget")
"""What a searcher may have less of than the campaign."""
LISTS = ("layers", "accelerators", "objectives")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class NamedProblem:
    """A problem and what the campaign calls its parts, as in `vgg16:conv1_2`, `edge`, `edp`."""

    layer: str
    accelerator: str
    problem: Problem

    @property
    def network(self) -> str:
        """The part of the layer's name before the colon."""
        return self.layer.rpartition(":")[0] or self.layer

    @property
    def objective(self) -> str:
        """What is minimised."""
        return self.problem.objective

    @property
    def label(self) -> str:
        """The problem in a few words."""
        return f"{self.layer} on {self.accelerator}, {self.objective}"


@dataclass(frozen=True)
class Variant:
    """A searcher under the name that the campaign gives it; `type` is its registered name.

    `seeds` and `budget`, where they are not None, are what it has of the campaign's.
    """

    name: str
    type: str
    searcher: Searcher
    seeds: int | None = None
    budget: int | None = None


@dataclass(frozen=True)
class NamedCell:
    """A cell of the campaign and what the campaign calls it."""

    problem: NamedProblem
    variant: Variant
    cell: Cell

    @property
    def label(self) -> str:
        """The cell in a few words."""
        return f"{self.variant.name} on {self.problem.label}, seed {self.cell.seed}"

    @cached_property
    def key(self) -> str:
        """The cell's name in file names and tables: readable, and distinct within a campaign."""
        problem = self.problem
        parts = (problem.layer, problem.accelerator, problem.objective, self.variant.name)
        safe = [safe_name(part) for part in parts]
        if any(re.search(r"[^A-Za-z0-9._:-]", part) for part in parts):
            # Two names that differ in such characters only must not become one.
            safe.append(digest(parts)[:8])
        return "--".join([*safe, f"s{self.cell.seed}"])


def safe_name(name: str) -> str:
    """A name as the keys of cells have it."""
    return re.sub(r"[^A-Za-z0-9._:-]+", "_", name).replace(":", "_")


@dataclass(frozen=True)
class Campaign:
    """Problems x searchers x seeds; `reference` names the searcher that reports compare the others with."""

    name: str
    budget: int
    seeds: tuple[int, ...]
    problems: tuple[NamedProblem, ...]
    variants: tuple[Variant, ...]
    reference: str | None = None

    @property
    def cost_model(self) -> str:
        """The cost model of all its problems."""
        return self.problems[0].problem.model_spec

    @property
    def limits(self) -> dict[str, dict[str, int]]:
        """By name, how many seeds and samples a run those searchers have that have fewer than the others."""
        found = {variant.name: self._has(variant) for variant in self.variants}
        whole = {"seeds": len(self.seeds), "budget": self.budget}
        return {name: has for name, has in found.items() if has != whole}

    def cells(self) -> Iterator[NamedCell]:
        """Every cell, seed by seed, so that an unfinished campaign has a little of everything."""
        has = {variant.name: self._has(variant) for variant in self.variants}
        for place, seed in enumerate(self.seeds):
            for problem in self.problems:
                for variant in self.variants:
                    seeds, budget = has[variant.name].values()
                    if place < seeds:
                        cell = Cell(problem.problem, variant.type, variant.searcher, seed, budget)
                        yield NamedCell(problem, variant, cell)

    def _has(self, variant: Variant) -> dict[str, int]:
        return {
            "seeds": len(self.seeds) if variant.seeds is None else variant.seeds,
            "budget": self.budget if variant.budget is None else variant.budget,
        }


def load_campaign(path: str, find_layers: FindLayers) -> Campaign:
    """The campaign in the TOML file at `path`. Whatever is wrong with it is an InputError that says where."""
    where = f"campaign {path!r}"
    data = read_toml(path, where)
    keys(data, where, required=REQUIRED, optional=OPTIONAL)
    name = data["name"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"{where}: name must be letters, digits, '.', '-' or '_', got {shorten(name)}")
    first = whole_number(data.get("seed", 0), f"{where}: seed", least=0)
    count = whole_number(data["seeds"], f"{where}: seeds", most=100_000)
    budget = whole_number(data["budget"], f"{where}: budget", most=10**9)
    whole = {"seeds": count, "budget": budget}
    variants = _variants(table(data["searchers"], f"{where}: searchers"), whole, where)
    return Campaign(
        name=name,
        budget=budget,
        seeds=tuple(range(first, first + count)),
        problems=_problems(data, where, Path(path).parent, find_layers),
        variants=variants,
        reference=_reference(data, [variant.name for variant in variants], where),
    )


def _reference(data: Mapping[str, Any], names: list[str], where: str) -> str | None:
    if "reference" not in data:
        return None
    reference = _text(data["reference"], f"{where}: reference")
    if reference not in names:
        raise unknown("reference", reference, names, f"{where}, which must be one of its searchers")
    return reference


def _variants(entries: Mapping[str, Any], whole: Mapping[str, int], where: str) -> tuple[Variant, ...]:
    variants = []
    for name, entry in entries.items():
        place = f"[searchers.{name}] of {where}"
        settings = dict(table(entry, place))
        if not NAME.fullmatch(name):
            raise InputError(f"{place}: a searcher's name must be letters, digits, '.', '-' or '_'")
        kind = settings.pop("type", name)
        if not isinstance(kind, str):
            raise InputError(f"{place}: type must be the name of a searcher, got {shorten(kind)}")
        limits = {key: _limit(settings.pop(key), key, whole[key], place) for key in LIMITS if key in settings}
        try:
            _no_setting_of(kind, limits, place)
            variants.append(Variant(name, kind, make_searcher(kind, settings, where=place), **limits))
        except InputError as error:
            text = str(error)
            raise error if place in text else InputError(f"{place}: {text}") from None
    if not variants:
        raise InputError(f"{where} has no searchers; add a table such as [searchers.random]")
    return tuple(variants)


def _limit(value: object, key: str, whole: int, place: str) -> int:
    limit = whole_number(value, f"{place}: {key}")
    if limit > whole:
        raise InputError(f"{place}: {key} must be at most the campaign's {whole}, got {shorten(limit)}")
    return limit


def _no_setting_of(kind: str, limits: Iterable[str], place: str) -> None:
    """See that what is given as a limit could not be meant as the searcher's own setting of that name."""
    settings = [item.name for item in dataclasses.fields(searcher_class(kind))]  # type: ignore[arg-type]
    for key in limits:
        if key in settings:
            raise InputError(
                f"{place}: {key!r} is a setting of searcher {kind!r}, but in a campaign file it is what a "
                f"searcher has of the campaign's {key}: leave it out, or have the setting renamed"
            )


def _problems(
    data: Mapping[str, Any], where: str, folder: Path, find_layers: FindLayers
) -> tuple[NamedProblem, ...]:
    shared = _shared(data, where, folder)
    named: dict[tuple[str, str, str], NamedProblem] = {}
    for place, layers, accelerator, objective in _combinations(data, where):
        if objective not in OBJECTIVES:
            raise unknown("objective", objective, OBJECTIVES, place)
        try:
            found = find_layers(_beside(layers, folder))
            machine = load_accelerator(_beside(accelerator, folder))
            for layer_name, layer in found.items():
                problem = Problem(layer, machine, objective, **shared)
                named[layer_name, accelerator, objective] = NamedProblem(layer_name, accelerator, problem)
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
    return tuple(named.values())


def _shared(data: Mapping[str, Any], where: str, folder: Path) -> dict[str, Any]:
    """What all problems have in common."""
    return {
        "cost_model": _model(data, where, folder),
        "tiles": data.get("tiles", "factors"),
        "fixed": table(data.get("fixed", {}), f"{where}: fixed"),
    }


def _model(data: Mapping[str, Any], where: str, folder: Path) -> str:
    """The cost model, with the constants of a file if there is one, in words that a Problem reads."""
    model = data["cost_model"]
    if not isinstance(model, str) or model.partition("(")[0] not in COST_MODELS:
        raise unknown("cost_model", model, COST_MODELS, where)
    try:
        if "constants" in data:
            path = _beside(_text(data["constants"], "constants"), folder)
            return spec_of(model_with(model, path))
        return spec_of(cost_model(model))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _combinations(data: Mapping[str, Any], where: str) -> Iterator[tuple[str, str, str, str]]:
    """Place in the file, layers, accelerator and objective of every entry."""
    if "problems" in data:
        for name in LISTS:
            if name in data:
                raise InputError(f"{where} has both 'problems' and {name!r}; keep one of the two forms")
        entries = data["problems"]
        if not isinstance(entries, list) or not entries:
            raise InputError(f"{where}: problems must be one or more [[problems]] tables")
        for index, entry in enumerate(entries):
            place = f"{where}: problems[{index}]"
            keys(table(entry, place), place, required=("layer", "accelerator", "objective"))
            values = (entry["layer"], entry["accelerator"], entry["objective"])
            yield place, *(_text(value, f"{place}: {key}") for key, value in zip(entry, values, strict=True))  # type: ignore[misc]
        return
    missing = [name for name in LISTS if name not in data]
    if missing:
        raise InputError(f"{where} lacks {', '.join(map(repr, missing))} (or a list of [[problems]])")
    lists = [_texts(data[name], f"{where}: {name}") for name in LISTS]
    for layer in lists[0]:
        for accelerator in lists[1]:
            for objective in lists[2]:
                yield where, layer, accelerator, objective


def _texts(value: object, what: str) -> list[str]:
    if not isinstance(value, list) or not value:
        raise InputError(f"{what} must be a list of one or more names, got {shorten(value)}")
    return [_text(item, what) for item in value]


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} must be text, got {shorten(value)}")
    return value


def _beside(name: str, folder: Path) -> str:
    """A file's name as seen from the campaign file; other names as they are."""
    file, colon, rest = name.partition(".toml:")
    path = file + ".toml" if colon else name
    if not is_toml(path) or not (folder / path).is_file():
        return name
    return str(folder / path) + (f":{rest}" if colon else "")
