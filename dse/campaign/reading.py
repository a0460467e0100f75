"""A campaign's TOML file, read strictly: what is wrong with it is said in one line, with its place."""

from __future__ import annotations

import dataclasses
import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from dse.campaign.config import LIMITS, Campaign, NamedProblem, Variant
from dse.campaign.showing import read_showing
from dse.campaign.stored import MAX_CELLS, MAX_SEEDS
from dse.core.cost_models import DEFAULT_COST_MODEL, class_of_spec, cost_model, model_with, other_model
from dse.core.domains import load_hardware, make_problem, read_space
from dse.core.edges import WholeNetwork
from dse.core.layer import Layer
from dse.core.names import is_network_file, name_beside, split_name, without_folders
from dse.core.objective import canonical_objective, names_several
from dse.core.problem import AnyProblem
from dse.search.run import MAX_SAMPLES
from dse.search.searcher import make_searcher, searcher_class
from dse.search.start import OWN, RANDOM, TEMPLATES, random_settings
from dse.support.errors import InputError, errors_within, shorten, unknown_name
from dse.support.schema import Limits, Schema, read_schema
from dse.support.toml import is_toml, read_toml
from dse.support.validation import INT64_MAX, whole_number

FindLayers = Callable[[str], Mapping[str, Layer]]
"""From a layer's or a network's name to the layers it stands for, by their full names."""

FRONT = "energy, latency"
"""Of several objectives, those that a campaign may have: of these there are exact fronts."""
LISTS = ("layers", "accelerators", "objectives")
NAME = Limits("letters, digits, '.', '-' or '_'", pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")
PRINTABLE = r"^[^\p{C}\p{Zl}\p{Zp}]+$"
Name = Annotated[str, Limits("a line of text", pattern=PRINTABLE)]
Names = Annotated[list[Name], Limits("a list of one or more names", min_length=1)]


@dataclass(frozen=True)
class _ProblemEntry(Schema):
    layer: Name
    accelerator: Name
    objective: str
    tiles: Annotated[str | None, Limits("factors or any", min_length=1)] = None
    hardware: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _CampaignFile(Schema):
    """The keys of a campaign's file. An empty list stands for one that is not there."""

    name: Annotated[str, NAME]
    budget: Annotated[int, Limits(ge=1, le=MAX_SAMPLES)]
    seeds: Annotated[int, Limits(ge=1, le=MAX_SEEDS)]
    searchers: Annotated[
        dict[str, dict[str, Any]], Limits("one or more tables such as [searchers.random]", min_length=1)
    ]
    cost_model: Any = DEFAULT_COST_MODEL
    seed: Annotated[int, Limits(ge=0, le=INT64_MAX)] = 0
    reference: str | None = None
    baseline: str | None = None
    reprice: Names = field(default_factory=list)
    published: Any = None
    looks: Any = None
    constants: Annotated[str | None, Limits("the name of a TOML file", min_length=1)] = None
    start: str = RANDOM
    tiles: str = "factors"
    space: Any = "default"
    area_budget: Annotated[float | None, Limits(gt=0)] = None
    limits: Names = field(default_factory=list)
    fixed: dict[str, Any] = field(default_factory=dict)
    hardware: dict[str, Any] = field(default_factory=dict)
    objectives: Names = field(default_factory=list)
    accelerators: Names = field(default_factory=list)
    layers: Names = field(default_factory=list)
    problems: Annotated[list[_ProblemEntry], Limits("one or more [[problems]] tables", min_length=1)] = field(
        default_factory=list
    )


def named_campaigns() -> dict[str, str]:
    """The campaigns that come along, by name: the paths of their files."""
    found = [Path(str(item)) for item in (resources.files("dse.campaign") / "named").iterdir()]
    return {path.stem: str(path) for path in sorted(found) if is_toml(path.name)}


def campaign_path(name: str) -> str:
    """The file of a campaign that is named by its path, or by its name if it comes along."""
    if os.path.isfile(name):
        return name
    named = named_campaigns()
    if name in named:
        return named[name]
    if is_toml(name) or os.path.exists(name) or Path(name).name != name:
        return name
    raise unknown_name("campaign", name, [*named, "FILE.toml"])


def load_campaign(path: str, find_layers: FindLayers) -> Campaign:
    """The campaign in the TOML file at `path`. Whatever is wrong with it is an InputError that says where."""
    where = f"campaign {path!r}"
    file = read_schema(_CampaignFile, read_toml(path, where), where)
    variants = tuple(_variant(name, file, where, Path(path).parent) for name in file.searchers)
    runs = sum(file.seeds if variant.seeds is None else variant.seeds for variant in variants)
    problems = _problems(file, runs, where, Path(path).parent, find_layers)
    groups = {(one.network, one.objective) for one in problems}
    campaign = Campaign(
        name=file.name,
        budget=file.budget,
        seeds=tuple(range(file.seed, file.seed + file.seeds)),
        variants=variants,
        problems=problems,
        showing=read_showing(vars(file), file.searchers, groups, Path(path).parent, where),
        start=_start(file.start, Path(path).parent),
    )
    with errors_within(f"{where}: reprice"):
        for model in campaign.showing.get("reprice", ()):
            other_model(model, campaign.cost_model)
    with errors_within(where):
        # So that a start that a problem cannot have is said now.
        _ = campaign.starts
    return campaign


def _variant(name: str, file: _CampaignFile, where: str, folder: Path) -> Variant:
    place = f"[searchers.{name}] of {where}"
    if not re.fullmatch(NAME.bounds["pattern"], name):
        raise InputError(f"{place}: a searcher's name must be {NAME.words}")
    settings = dict(file.searchers[name])
    kind = settings.pop("type", name)
    if not isinstance(kind, str):
        raise InputError(f"{place}: type must be the name of a searcher, got {shorten(kind)}")
    # A number is the setting of a searcher that begins with so many points.
    own = isinstance(settings.get("start"), str)
    start = _start(settings.pop("start") if own else file.start, folder)
    limits = {key: _limit(settings.pop(key), key, file, place) for key in LIMITS if key in settings}
    kind = name_beside(kind, folder)
    try:
        _no_setting_of(kind, limits, place)
        settings = settings if start == OWN else random_settings(kind, settings)
        made = Variant(name, without_folders(kind), make_searcher(kind, settings, where=place), start=start)
        return replace(made, **limits)  # type: ignore[arg-type]
    except InputError as error:
        text = str(error)
        raise error if place in text else InputError(f"{place}: {text}") from None


def _start(start: str, folder: Path) -> str:
    """Where searchers begin; a file as it is seen from here, and a word as it is: it may be a wrong one."""
    is_file = Path(start).suffix or os.path.isfile(folder / start)
    return str(folder / start) if is_file and start not in (OWN, RANDOM, TEMPLATES) else start


def _limit(value: object, key: str, file: _CampaignFile, place: str) -> int:
    limit, whole = whole_number(value, f"{place}: {key}"), getattr(file, key)
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
    file: _CampaignFile, runs: int, where: str, folder: Path, find_layers: FindLayers
) -> tuple[NamedProblem, ...]:
    """The problems, each of which has so many `runs`."""
    model = _model(file, where, folder)
    with errors_within(where):
        space = read_space(file.space, model, file.hardware)
    named: dict[tuple[str, str, str], NamedProblem] = {}
    asked = len(file.problems) or prod(len(getattr(file, name)) for name in LISTS)
    for place, entry in _combinations(file, where):
        _refuse_too_many(max(asked, len(named)), runs, where)
        with errors_within(place):
            objective = canonical_objective(entry.objective)
            _refuse_other_fronts(objective)
            found: dict[str, Any] = dict(find_layers(_beside(entry.layer, folder)))
            machine = load_hardware(_beside(entry.accelerator, folder), model)
            own = read_space(file.space, model, entry.hardware) if entry.hardware else space
            whole = split_name(entry.layer)[1] is None
            together = any(isinstance(one, WholeNetwork) for one in found.values())
            if class_of_spec(model).prices_networks and not together:
                found, whole = {entry.layer: WholeNetwork(entry.layer, tuple(found.values()))}, False
            for name, layer in found.items():
                problem = make_problem(
                    layer,
                    machine,
                    objective,
                    model,
                    entry.tiles or file.tiles,
                    file.fixed,
                    own,
                    file.area_budget,
                    file.limits,
                )
                _refuse_own_clocks(problem)
                key = (name, entry.accelerator, objective)
                known = named.get(key)
                if known is not None and known.problem != problem:
                    raise InputError(f"{known.label} has another space elsewhere; rename its layer")
                whole_too = whole or (known is not None and known.whole)
                named[key] = NamedProblem(name, entry.accelerator, problem, whole_too)
    _refuse_too_many(len(named), runs, where)
    _refuse_a_mixture([one.problem.objective for one in named.values()], where)
    return tuple(named.values())


def _refuse_other_fronts(objective: str) -> None:
    """Of several objectives records are told by latency and energy, of which there are exact fronts."""
    if names_several(objective) and objective != FRONT:
        raise InputError(f"of several objectives a campaign takes 'latency, energy', got {objective!r}")


def _refuse_a_mixture(objectives: Sequence[str], where: str) -> None:
    """What is missing to a front and ratios to an optimum have no mean in common."""
    fronts = list(map(names_several, objectives))
    if any(fronts) and not all(fronts):
        alone = objectives[fronts.index(False)]
        raise InputError(
            f"{where}: a campaign compares fronts or optima: {FRONT!r} and {alone!r} need one campaign each"
        )


def _refuse_own_clocks(problem: AnyProblem) -> None:
    """See that all points of a problem with a front have one clock: a record has cycles."""
    zeros = np.zeros((1, len(problem.space.sizes)), np.int64)
    if names_several(problem.objective) and isinstance(problem.criteria.of_points(zeros).hertz, np.ndarray):
        raise InputError("several objectives need hardware of one clock, and here it is a gene")


def _refuse_too_many(problems: int, runs: int, where: str) -> None:
    if problems * runs > MAX_CELLS:
        raise InputError(
            f"{where} has {problems * runs:,} cells or more ({problems:,} problems, each with {runs:,} runs "
            f"of searchers and seeds); at most {MAX_CELLS:,}, so make it several campaigns"
        )


def _model(file: _CampaignFile, where: str, folder: Path) -> str:
    """The cost model in words that a Problem reads: with settings, from its table or from a file."""
    model = file.cost_model
    settings: Any = file.constants and _beside(file.constants, folder)
    if isinstance(model, dict) and isinstance(model.get("name"), str) and settings is None:
        model, settings = model["name"], {key: value for key, value in model.items() if key != "name"}
    if not isinstance(model, str):
        raise InputError(
            f"{where}: cost_model must be text, or a table with a name and settings, got {shorten(model)}"
        )
    with errors_within(where):
        return (model_with(model, settings, folder) if settings else cost_model(model, folder)).spec


def _combinations(file: _CampaignFile, where: str) -> Iterator[tuple[str, _ProblemEntry]]:
    """Every problem entry, or every combination of the lists, and its place in the file."""
    lists = {name: getattr(file, name) for name in LISTS}
    if file.problems:
        both = [name for name in LISTS if lists[name]]
        if both:
            raise InputError(f"{where} has both 'problems' and {both[0]!r}; keep one of the two forms")
        yield from ((f"{where}: problems[{index}]", entry) for index, entry in enumerate(file.problems))
        return
    missing = [name for name in LISTS if not lists[name]]
    if missing:
        raise InputError(f"{where} lacks {', '.join(map(repr, missing))} (or a list of [[problems]])")
    yield from ((where, _ProblemEntry(*names)) for names in product(*lists.values()))


def _beside(name: str, folder: Path) -> str:
    """A file's name as seen from the campaign file; other names as they are."""
    path, layer = split_name(name)
    if not is_network_file(path) or not os.path.isfile(folder / path):
        return name
    return str(folder / path) + (f":{layer}" if layer is not None else "")
