"""Nevergrad (Rapin and Teytaud, 2018): a run as a function of a parametrization."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from searchers.adapters.common import Values, import_library

if TYPE_CHECKING:
    from dse.search.session import Session


def function_of(study: Session) -> tuple[Any, Callable[[Any], float]]:
    """The parametrization, and the function that `optimizer.minimize` takes: of integers and choices."""
    kinds, values = import_library("nevergrad").p, Values(study)
    ranges = {
        name: kinds.Scalar(init=most / 2, lower=0, upper=most).set_integer_casting()
        for name, most in values.ranges().items()
    }
    choices = {name: kinds.Choice(every) for name, every in values.choices().items()}
    return kinds.Dict(**ranges, **choices), values
