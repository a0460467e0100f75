"""What to type to see for oneself: the campaign, one of its cells, the price of a mapping."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Iterator
from collections.abc import Mapping as Table
from typing import Any

from dse.analysis.reduction import network_of
from dse.analysis.study import Made, Study, Triple
from dse.campaign.showing import SHOWING
from dse.campaign.summary import Summary
from dse.core.problem import AnyProblem, Design
from dse.search.searcher import searcher_class, shown_settings
from dse.search.start import OWN, RANDOM
from dse.support.errors import InputError
from dse.support.toml import toml_key, toml_value

_WORD = re.compile(r"(?!(true|false|inf|nan)$)[A-Za-z][A-Za-z0-9_-]*")


def check_command(study: Study, cell: Summary, problem: AnyProblem, mapping: Design) -> str:
    """A shell line that prices the mapping, which it brings along, by `dse evaluate`.

    `problem` is on the accelerator that the mapping is for: where genes say that, the line brings it too.
    """
    if problem.hardware_genes:
        options = ["--cases", "-", "--cost-model", study.cost_model, "--json"]
        return f"echo {shlex.quote(json.dumps(problem.case(mapping)))} | dse evaluate {shlex.join(options)}"
    options = [*_where(cell), "--cost-model", study.cost_model, "--mapping", "/dev/stdin"]
    options += (word for limit in problem.options.get("limits", ()) for word in ("--limit", limit))
    return f"echo {shlex.quote(mapping.to_json())} | dse evaluate {shlex.join(options)}"


def search_command(study: Study, cell: Summary, problem: AnyProblem) -> str:
    """A shell line that runs the cell again by `dse search`."""
    options = [*_where(cell), "--searcher", cell.type]
    options += (word for text in _changed(study, cell) for word in ("--set", text))
    start = study.about.get("starts", {}).get(cell.searcher, OWN)
    options += ["--start", start] if start not in (OWN, RANDOM) else []
    given = problem.options
    options += ["--tiles", given["tiles"]] if given["tiles"] != "factors" else []
    options += _space_options(problem)
    options += (word for text in _fixed(given["fixed"]) for word in ("--fix", text))
    options += ["--budget-area", f"{given['area_budget']:g}"] if "area_budget" in given else []
    options += (word for limit in given.get("limits", ()) for word in ("--limit", limit))
    options += ["--cost-model", study.cost_model, "--budget", str(cell.budget), "--seed", str(cell.seed)]
    return f"dse search {shlex.join(options)}"


def campaign_toml(study: Study, problems: Table[Triple, Made]) -> str | None:
    """The campaign's file, made anew with every setting in it; None where the folder does not keep them.

    `dse run` of it makes cells of the same fingerprints, wherever the names of layers and accelerators
    mean the same and the versions are the same.
    """
    settings = study.about.get("settings", {})
    spaces = [made.problem.options for made in problems.values() if made.problem]
    known = study.summaries and set(study.searchers) <= set(settings) and len(spaces) == len(problems)
    if not known or any(space != spaces[0] for space in spaces):
        return None
    given = spaces[0]
    first = min(cell.seed for cell in study.summaries)
    start, starts = study.about.get("start", OWN), study.about.get("starts", {})
    lines = [
        f"name = {toml_value(study.name)}",
        f"budget = {study.budget}",
        f"seeds = {study.seeds}",
        *([f"seed = {first}"] if first else []),
        f"start = {toml_value(start)}",
        *(f"{key} = {toml_value(study.about[key])}" for key in SHOWING if key in study.about),
        f"cost_model = {toml_value(study.cost_model)}",
        *([f"tiles = {toml_value(given['tiles'])}"] if given["tiles"] != "factors" else []),
        *([f"fixed = {toml_value(given['fixed'])}"] if given["fixed"] else []),
        *([f"space = {toml_value(given['parts'])}"] if "parts" in given else []),
        *([f"area_budget = {given['area_budget']}"] if "area_budget" in given else []),
        *([f"limits = {toml_value(given['limits'])}"] if "limits" in given else []),
        *_problems(study),
    ]
    for name in study.searchers:
        recorded = dict(settings[name])
        kind = recorded.pop("type", name)
        values = shown_settings(kind, recorded)
        lines += ["", f"[searchers.{toml_key(name)}]"]
        lines += [f"type = {toml_value(kind)}"] if kind != name else []
        lines += [f"seeds = {study.seeds_of(name)}"] if study.seeds_of(name) < study.seeds else []
        lines += [f"budget = {study.budget_of(name)}"] if name in study.cut else []
        if starts.get(name, start) != start:
            # A searcher's own setting of that name is then its default, as it was in the campaign's file.
            values["start"] = starts[name]
        lines += [
            f"{toml_key(key)} = {toml_value(value)}" for key, value in values.items() if value is not None
        ]
    return "\n".join(lines) + "\n"


def _space_options(problem: AnyProblem) -> list[str]:
    """The space, and the figures of the hardware that are open besides; FILE.toml for one of other parts."""
    name, figures = problem.opened
    if name is None:
        return ["--space", "FILE.toml"]
    told = (f"{figure}={','.join(map(str, values))}" for figure, values in figures.items())
    space = [] if name == "default" else ["--space", name]
    return [*space, *(word for text in told for word in ("--hardware", text))]


def _where(cell: Summary) -> list[str]:
    return ["--layer", cell.layer, "--accelerator", cell.accelerator, "--objective", cell.objective]


def _problems(study: Study) -> Iterator[str]:
    """Three lists where they name the problems, else the problems one by one; of a whole network its name."""
    problems = list(
        dict.fromkeys(
            (network_of(problem[0]) if group.whole else problem[0], *problem[1:])
            for problem, group in study.groups.items()
        )
    )
    lists = [list(dict.fromkeys(names)) for names in zip(*problems, strict=True)]
    layers, accelerators, objectives = lists
    product = [(x, y, z) for x in layers for y in accelerators for z in objectives]
    if product == problems:
        for key, names in zip(("objectives", "accelerators", "layers"), lists[::-1], strict=True):
            yield f"{key} = {toml_value(names)}"
        return
    for layer, accelerator, objective in problems:
        yield ""
        yield "[[problems]]"
        yield f"layer = {toml_value(layer)}"
        yield f"accelerator = {toml_value(accelerator)}"
        yield f"objective = {toml_value(objective)}"


def _changed(study: Study, cell: Summary) -> Iterator[str]:
    """The settings that are not the searcher's defaults, as `--set` takes them."""
    settings = dict(study.about.get("settings", {}).get(cell.searcher, {}))
    settings.pop("type", None)
    defaults = _defaults(cell.type)
    for name, value in shown_settings(cell.type, settings).items():
        if value is None or (name in defaults and defaults[name] == value):
            continue
        plain = isinstance(value, str) and _WORD.fullmatch(value)
        yield f"{name}={value if plain else toml_value(value)}"


def _defaults(kind: str) -> dict[str, Any]:
    """A searcher's default settings as JSON gives them back; empty where it is not installed."""
    try:
        made = searcher_class(kind)
    except InputError:
        return {}
    found = {
        item.name: item.default
        for item in dataclasses.fields(made)  # type: ignore[arg-type]
        if item.default is not dataclasses.MISSING
    }
    plain: dict[str, Any] = json.loads(json.dumps(found, default=repr))
    return plain


def _fixed(fixed: Table[str, Any]) -> Iterator[str]:
    for gene, value in fixed.items():
        several = value if isinstance(value, list | tuple) else [value]
        # One order may be a list of its dims.
        if gene.endswith("order") and all(len(each) == 1 for each in several):
            several = [several]
        texts = ("".join(each) if isinstance(each, list | tuple) else str(each) for each in several)
        yield f"{gene}={','.join(texts)}"
