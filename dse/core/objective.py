"""What a search minimises: figures of a cost, products of their powers, sums, and several of those at once.

In words an objective is a figure (`latency`), a product of powers (`energy * latency^2`), a weighted sum of
figures (`energy + 0.25 * latency`), one of these with caps (`energy where latency <= 0.001`), or several
with commas between (`latency, energy`). Its canonical form has figures and objectives in the order of the
alphabet, each once, and the names of NAMED: `latency*energy**1` is `edp`. Exponents are decimal numbers above
0, as a figure that is to be large is nothing to minimise; weights and caps are numbers above 0, in the
figures' units.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np

from dse.core.objective_terms import FIGURES, MODEL_UNITS, NAMED, Figure, Objective, name_of
from dse.support.errors import InputError, shorten, unknown_name

__all__ = [
    "FIGURES", "MODEL_UNITS", "NAMED", "OBJECTIVES", "Figure", "Objective", "canonical_objective",
    "known_objective", "meaning_of", "objective_named", "objectives_of", "objectives_under",
    "parse_objectives", "refuse_several", "names_several",
]  # fmt: skip

LEAST, MAX, DECIMALS = Decimal("0.01"), Decimal(10), 4
"""Exponents: smaller ones change nothing, larger ones leave the range of a float."""
LONGEST = 200

_PLUS = re.compile(r"(?<![0-9.][eE])\+")
_NUMBER = re.compile(r"(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)


def parse_objectives(text: str) -> tuple[Objective, ...]:
    """The objectives that a text names, in their canonical order; InputError for a text that names none."""
    if not isinstance(text, str):
        raise InputError(f"objective must be text such as 'edp' or 'energy * latency^2', got {shorten(text)}")
    return _parsed(text)


def canonical_objective(text: str) -> str:
    """The canonical form of an objective, or of several."""
    return ", ".join(objective.name for objective in parse_objectives(text))


def objective_named(text: str) -> Objective:
    """The objective that a text names. InputError for an unknown one, or for several."""
    found = parse_objectives(text)
    refuse_several(text)
    return found[0]


def names_several(text: str) -> bool:
    """Whether a text names several objectives."""
    return "," in text


def refuse_several(text: str) -> None:
    """InputError for several objectives, where points have to have one loss."""
    if names_several(text):
        names = [name.strip() for name in text.split(",")]
        raise InputError(
            f"objective {shorten(text)} is {len(names)} objectives, and one is minimised here: take one of "
            f"them, or a product of their powers such as {shorten(' * '.join(names))}"
        )


def objectives_under(text: str, model: str) -> tuple[Objective, ...]:
    """The objectives that a text names. InputError where one is of another cost model than this."""
    found = parse_objectives(text)
    for one in found:
        if one.only_of not in (None, model):
            raise InputError(f"objective {one.name!r} is of cost model {one.only_of!r} only")
    return found


def known_objective(text: str) -> Objective | None:
    """The objective that a text names, or None for one that is a domain's own."""
    try:
        return objective_named(text)
    except InputError:
        return None


@cache
def _parsed(text: str) -> tuple[Objective, ...]:
    if len(text) > LONGEST:
        raise InputError(f"objective must be at most {LONGEST} letters long, got {len(text):,}")
    found = {one.name: one for one in map(_one, text.split(","))}
    if len(found) <= text.count(","):
        raise InputError(f"objective {shorten(text)} has an objective twice")
    _refuse_two_of_a_column(text, (figure for one in found.values() for figure in one.figures.values()))
    if len(found) > 1 and any(one.caps for one in found.values()):
        raise InputError(
            f"objective {shorten(text)}: a cap goes with one objective, and here are {len(found)}"
        )
    return tuple(found[name] for name in sorted(found))


def _one(text: str) -> Objective:
    """The objective in one product or sum, with its caps."""
    written, capped, caps = text.partition(" where ")
    found = _sum(written) if len(_PLUS.split(written)) > 1 else _product(written)
    if not capped:
        return found
    limits = dict(_cap(one, text) for one in caps.split(" and "))
    if len(limits) <= caps.count(" and "):
        raise InputError(f"objective {shorten(text)} has a cap twice")
    name = " and ".join(f"{figure} <= {limits[figure]!r}" for figure in sorted(limits))
    of = tuple((FIGURES[figure], limits[figure]) for figure in sorted(limits))
    return replace(found, name=f"{found.name} where {name}", caps=of)


def _cap(text: str, whole: str) -> tuple[str, float]:
    """The figure and the number in `latency <= 0.001`."""
    name, sign, number = (part.strip() for part in text.partition("<="))
    if not sign:
        raise InputError(
            f"objective {shorten(whole)}: a cap is written 'latency <= 0.001', got {shorten(text)}"
        )
    return _figure(name, whole), _number(number, f"the cap of {name}", whole)


def _sum(text: str) -> Objective:
    """The objective in a weighted sum of figures."""
    weights: dict[str, float] = {}
    for part in _PLUS.split(text):
        before, times, name = (piece.strip() for piece in part.rpartition("*"))
        figure = _figure(name, text)
        if figure in weights:
            raise InputError(f"objective {shorten(text)} has {figure} twice")
        weights[figure] = _number(before, f"the weight of {figure}", text) if times else 1.0
    found = Objective("", (), tuple((FIGURES[name], weights[name]) for name in sorted(weights)))
    return replace(found, name=found.product)


def _figure(name: str, text: str) -> str:
    """The name of a figure, in a sum or a cap."""
    if name not in FIGURES:
        if not re.fullmatch(r"[A-Za-z0-9_]+", name):
            raise InputError(
                f"objective {shorten(text)}: sums and caps are of figures, as "
                "'energy + 0.25 * latency' or 'energy where latency <= 0.001'"
            )
        raise unknown_name("figure", name, FIGURES, f"objective {shorten(text)}")
    return name


def _number(written: str, what: str, text: str) -> float:
    """A weight or a cap."""
    number = float(written) if _NUMBER.fullmatch(written) else 0.0
    if not 0.0 < number < np.inf:
        raise InputError(
            f"objective {shorten(text)}: {what} must be a finite number above 0, got {shorten(written)}"
        )
    return number


def _product(text: str) -> Objective:
    """The objective in one product."""
    powers: dict[str, Decimal] = {}
    for factor in text.replace("**", "^").split("*"):
        name, raised, exponent = (part.strip() for part in factor.partition("^"))
        if not name:
            raise InputError(
                f"objective {shorten(text)} lacks a figure; expected one of {', '.join(OBJECTIVES)}, "
                "or a product such as 'energy * latency^2'"
            )
        power = _exponent(exponent, name, text) if raised else Decimal(1)
        for figure, inner in _figures_of(name, text).items():
            powers[figure] = powers.get(figure, Decimal(0)) + power * inner
    for name, power in powers.items():
        _refuse_beyond(power, name, text, str(power))
    found = Objective("", tuple((FIGURES[name], float(power)) for name, power in sorted(powers.items())))
    return replace(found, name=name_of(found.product))


def _figures_of(name: str, text: str) -> dict[str, Decimal]:
    """The powers of figures that a name stands for."""
    if name in NAMED:
        return {figure: Decimal(1) for figure in NAMED[name][0].split(" * ")}
    if name in FIGURES:
        return {name: Decimal(1)}
    if not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise InputError(
            f"objective {shorten(text)} is no product of powers nor a sum: it needs names with * and ^, or "
            "with + and weights, as in 'energy * latency^2' or 'energy + 0.25 * latency'"
        )
    if name == text.strip():
        raise unknown_name("objective", name, OBJECTIVES)
    raise unknown_name("figure", name, OBJECTIVES, f"objective {shorten(text)}")


def _exponent(written: str, name: str, text: str) -> Decimal:
    if not re.fullmatch(r"[0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20}", written):
        _refuse_beyond(Decimal(0), name, text, written)
    power = Decimal(written)
    _refuse_beyond(power, name, text, written)
    return power


def _refuse_beyond(power: Decimal, name: str, text: str, written: str) -> None:
    if not (LEAST <= power <= MAX and power == round(power, DECIMALS)):
        raise InputError(
            f"objective {shorten(text)}: the exponent of {name} must be a number from {LEAST} to {MAX} with "
            f"at most {DECIMALS} decimals, got {shorten(written)}"
        )


def _refuse_two_of_a_column(text: str, figures: Iterable[Figure]) -> None:
    """See that no two figures are read from one column: a record has each column once."""
    found: dict[str, str] = {}
    for figure in figures:
        if found.setdefault(figure.column, figure.name) != figure.name:
            one, other = sorted((found[figure.column], figure.name))
            raise InputError(f"objective {shorten(text)}: {one} and {other} do not go together; take one")


OBJECTIVES: dict[str, Objective] = {
    one.name: one for one in sorted(map(_product, (*FIGURES, *NAMED)), key=lambda one: not one.adds_up)
}
"""The objectives that have a name, those that every mapping changes first."""


def meaning_of(name: str) -> str:
    """What an objective of OBJECTIVES is, in words."""
    return NAMED[name][1] if name in NAMED else FIGURES[name].meaning


def objectives_of(model: str) -> dict[str, Objective]:
    """The objectives with a name that there are under the cost model of that name."""
    return {name: item for name, item in OBJECTIVES.items() if item.only_of in (None, model)}
