"""Spaces of hardware from TOML, read strictly.

name = "small chips"                # optional
base = "edge"                       # a preset, or a file beside this one: what is not said below is as there
cost_model = "loopnest"             # optional; --cost-model has the last word
area_mm2 = "loopnest"               # optional: a known formula, or one of your own; leakage_mw likewise

[parameters]                        # optional: numbers that figures follow from
side = [4, 8, 16]

[hardware]                          # figures: a number, a list, a range, a formula, or "by size"
num_pes = "side * side"
l1_size = [64, 128, 256]
l2_size = {from = 4096, to = 65536, step = 4096}

[constraints]
area_mm2 = 0.2
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dse.core.cost_model import AnyCostModel
from dse.core.cost_models import DEFAULT_COST_MODEL, cost_model
from dse.core.domains import domain_of
from dse.core.hardware import read_choices
from dse.core.hardware_figures import HardwareFigure
from dse.domains.codesign.formulas import FUNCTIONS, Formula
from dse.domains.codesign.space import LIMITED, OLD_NAMES, HardwareSpace
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.toml import is_toml, read_toml
from dse.support.validation import check_keys, check_table, positive_number, whole_number

BY_SIZE = "by size"
MACHINE_FILES = (".yaml", ".yml")
"""What a base that is a file's name may end in, besides TOML's ending."""
WORD_BITS = 16
KEYS = ("name", "cost_model", "word_bits", "parameters", "hardware", "constraints", *LIMITED)


def read_space(
    path: str, model: str | AnyCostModel | None = None, limits: Mapping[str, float] | None = None
) -> HardwareSpace:
    """The space in the TOML file at `path`; InputError in one line where it is not right.

    `model` goes before the file's cost model, and `limits`, by the names of LIMITED, before its constraints.
    A `base` that is a file is beside it.
    """
    where = f"hardware space {path!r}"
    folder = os.path.dirname(os.path.abspath(path))
    space = space_from_dict(read_toml(path, where), where, model, limits, folder)
    used = {
        name for formula in (*space.formulas.values(), *space.measures.values()) for name in formula.names
    }
    for name in space.names:
        if name not in used:
            raise InputError(
                f"{where}: parameters.{name}: nothing follows from it; name it in a formula, or leave it out"
            )
    return space


def space_from_dict(
    data: object,
    where: str = "hardware space",
    model: str | AnyCostModel | None = None,
    limits: Mapping[str, float] | None = None,
    folder: str = "",
) -> HardwareSpace:
    """The space that parsed TOML describes; `where` names the place in messages, `folder` that of a base."""
    data = check_table(data, where)
    _refuse_old(data, where)
    check_keys(data, where, required=("base",), optional=KEYS)
    for key in ("base", "name", "cost_model"):
        if not isinstance(data.get(key, ""), str):
            raise InputError(f"{where}: {key} must be text, got {shorten(data[key])}")
    given = model or data.get("cost_model", DEFAULT_COST_MODEL)
    made = cost_model(given) if isinstance(given, str) else given
    kind = domain_of(made)
    base = kind.load_hardware(_base_in(folder, data["base"], where), made)
    domain = kind.hardware_figures
    if domain is None:
        raise InputError(f"{where}: cost model {made.name!r} is of hardware whose figures are not known")
    figures = domain.figures(base, made)
    parameters = {
        name: read_choices(values, f"{where}: parameters.{name}", _number)
        for name, values in check_table(data.get("parameters", {}), f"{where}: parameters").items()
    }
    for name in parameters:
        if not name.isidentifier() or name in FUNCTIONS or name in figures:
            raise InputError(f"{where}: parameters.{name}: the name is taken, or no name; choose another")
    formulas = {}
    for name, value in _flat(data.get("hardware", {}), figures, f"{where}: hardware").items():
        place = f"{where}: hardware.{name}"
        if isinstance(value, list | Mapping):
            parameters[name] = read_choices(value, place, _check_of(figures[name]))
            formulas[name] = Formula(name, place, is_name=True)
        else:
            formulas[name] = _formula(value, figures[name], place)
    if not parameters:
        raise InputError(f"{where} opens nothing: give a figure under [hardware] a list or a range")
    bits = whole_number(data.get("word_bits", WORD_BITS), f"{where}: word_bits", most=1024)
    measures = _measures(data, domain.formulas(made, bits), made.name, where)
    found = {
        name: positive_number(limit, f"{where}: constraints.{name}")
        for name, limit in _limits(data.get("constraints", {}), f"{where}: constraints").items()
    }
    found.update(limits or {})
    for name in found:
        if name not in measures:
            raise InputError(
                f"{where}: {name} is limited, and nothing says what it is under cost model {made.name!r}: "
                f'give {name} = "a formula"'
            )
    name = data.get("name", "codesign")
    formulas = {name: formulas[name] for name in sorted(formulas, key=list(figures).index)}
    return HardwareSpace(name, base, made, domain, parameters, formulas, measures, found)


def space_from_plain(data: object) -> HardwareSpace:
    """The space in the plain data of `HardwareSpace.to_dict` or `written`."""
    where = "hardware space"
    data = check_table(data, where)
    made = cost_model(data["cost_model"])
    domain = domain_of(made).hardware_figures
    if domain is None:
        raise InputError(f"{where}: cost model {made.name!r} is of hardware whose figures are not known")
    base = domain_of(made).hardware_from_dict(data["base"])
    parameters = {name: tuple(values) for name, values in data["parameters"].items()}
    formulas = {
        name: Formula(text, f"{where}: {name}", is_name=text == name)
        for name, text in data["formulas"].items()
    }
    measures = {
        OLD_NAMES.get(name, name): Formula(text, f"{where}: {name}")
        for name, text in data["measures"].items()
    }
    limits = {OLD_NAMES.get(name, name): limit for name, limit in data["limits"].items()}
    # Names are no part of what is kept.
    name = base.name or "codesign"
    return HardwareSpace(name, base, made, domain, parameters, formulas, measures, limits)


def _base_in(folder: str, name: str, where: str) -> str:
    """The base as cost models load it: a file from its folder, a preset as it is."""
    if not (is_toml(name) or name.lower().endswith(MACHINE_FILES)):
        return name
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        there = os.path.abspath(folder)
        raise InputError(f"{where}: base: there is no file {name!r} in {there!r}, where it is looked for")
    return path


def _flat(data: object, figures: Mapping[str, HardwareFigure], where: str) -> dict[str, Any]:
    """The figures of nested tables by their full names; `{from = 1, to = 2, step = 1}` is a value."""
    found: dict[str, Any] = {}

    def walk(entry: Mapping[str, Any], front: str) -> None:
        for key, value in entry.items():
            name = f"{front}{key}"
            if name in figures:
                found[name] = value
            elif isinstance(value, Mapping) and any(known.startswith(f"{name}.") for known in figures):
                walk(value, f"{name}.")
            else:
                raise unknown_name("figure", name, figures, where)

    walk(check_table(data, where), "")
    return found


def _formula(value: object, figure: HardwareFigure, where: str) -> Formula:
    if value == BY_SIZE:
        if figure.by_size is None:
            raise InputError(f"{where}: nothing is known of it by size; give a number or a formula")
        return Formula(figure.by_size, where)
    if isinstance(value, str):
        return Formula(value, where)
    return Formula(repr(_check_of(figure)(value, where)), where)


def _measures(
    data: Mapping[str, Any], known: Mapping[str, Mapping[str, str]], model: str, where: str
) -> dict[str, Formula]:
    """The formulas of LIMITED: as given, by name or in words, else the cost model's own."""
    found = {}
    for name in LIMITED:
        given = data.get(name)
        if given is None:
            own = known[name].get(model)
            if own is not None:
                found[name] = Formula(own, f"{where}: {name}")
            continue
        if not isinstance(given, str):
            raise InputError(f"{where}: {name} must be a formula, or one of {', '.join(known[name])}")
        found[name] = Formula(known[name].get(given, given), f"{where}: {name}")
    return found


def _limits(data: object, where: str) -> Mapping[str, Any]:
    given = check_table(data, where)
    _refuse_old(given, where)
    check_keys(given, where, required=(), optional=LIMITED)
    return given


def _refuse_old(given: Mapping[str, Any], where: str) -> None:
    """Refuse a name of before, in a line that has the new one."""
    for old, new in OLD_NAMES.items():
        if old in given:
            raise InputError(f"{where}: {old} is called {new} now, as leakage is all that it was of")


def _check_of(figure: HardwareFigure) -> Any:
    def check(value: object, what: str) -> float:
        if figure.whole:
            return whole_number(value, what, least=int(figure.least), most=int(figure.most))
        number = _number(value, what)
        if not figure.least <= number <= figure.most:
            raise InputError(f"{what} must be from {figure.least:g} to {figure.most:g}, got {shorten(value)}")
        return number

    return check


def _number(value: object, what: str) -> float:
    number = positive_number(value, what)
    return value if isinstance(value, int) else number
