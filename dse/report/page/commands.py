"""What to type to see for oneself: the campaign, one of its cells, the price of a mapping."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Iterator
from collections.abc import Mapping as Table
from typing import Any

from dse.analysis.study import Study
from dse.campaign.summary import Summary
from dse.core.problem import AnyProblem, Design
from dse.search.searcher import searcher_class, shown_settings
from dse.search.start import OWN, RANDOM
from dse.support.errors import InputError
from dse.support.toml import toml_value

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
        yield f"{gene}={''.join(value) if isinstance(value, list | tuple) else value}"
