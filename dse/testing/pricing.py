"""Counting the rows that reach a cost model, by whatever way they come."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import dse.models
from dse.core.cost_models import cost_model_class, cost_models, outside_models
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.problem import Problem
from dse.search.run import make_ready

METHODS = ("evaluate", "price_cases", "prepared", "price")
"""How cost models are called, and problems with a formula of their own; `prepared` returns what is called."""


class Tally(threading.local):
    """Rows priced by this thread, by the class or module through which they reached a model. Its own calls
    among its parts are counted once, at the outermost.
    """

    def __init__(self) -> None:
        self.by: dict[Any, int] = {}
        self.inside = False

    @property
    def rows(self) -> int:
        """All of them."""
        return sum(self.by.values())

    def rows_of(self, *judges: type) -> int:
        """Those that reached models of these classes, or what is in their packages: not an adviser's."""
        packages = tuple(sys.modules[judge.__module__].__package__ or judge.__module__ for judge in judges)
        return sum(
            rows
            for owner, rows in self.by.items()
            if (
                any(issubclass(judge, owner) for judge in judges)
                if isinstance(owner, type)
                else owner.__name__.startswith(packages)
            )
        )


@contextlib.contextmanager
def rows_priced(*models: type) -> Iterator[Tally]:
    """Count the rows that cost models, `models` among them, price meanwhile: for the gate or for anybody.

    Problems must be made inside, for one that is older may hold on to what is not counted.
    """
    _compile()
    tally = Tally()
    with contextlib.ExitStack() as undo:
        for owner, name in _entrances(models):
            original = vars(owner)[name]
            count = _preparing if name == "prepared" else _counted
            setattr(owner, name, count(original, tally, owner))
            undo.callback(setattr, owner, name, original)
        yield tally


@cache
def _compile() -> None:
    """Have every model compiled: what is compiled later would be compiled with the functions that count."""
    for name in cost_models():
        make_ready(Problem(Layer.fc(2, 2), Accelerator(2, 32, 64, 2, 2), cost_model=name))


def _entrances(models: Iterable[type]) -> Iterator[tuple[Any, str]]:
    """Every place through which rows reach a model from Python: its owner, and its name there."""
    for model in {*models, *(cost_model_class(name) for name in cost_models())}:
        yield from ((model, method) for method in METHODS if method in vars(model))
    for module in _model_modules():
        # Only where they are defined: compiled functions that call one keep the one that they know.
        for name, value in vars(module).items():
            if "price" in name and callable(value) and value.__module__ == module.__name__:
                yield module, name


@cache
def _model_modules() -> tuple[ModuleType, ...]:
    # What is outside is entered by its models' methods, and may need libraries that are not there.
    outside = {cost_model_class(name).__module__ for name in outside_models()}
    names = [
        item.name
        for item in pkgutil.walk_packages(dse.models.__path__, f"{dse.models.__name__}.")
        if not any(part in item.name for part in (".proof", ".check"))
        if not any(f"{item.name}.".startswith(f"{home}.") for home in outside)
    ]
    return tuple(importlib.import_module(name) for name in names)


def _counted(function: Any, tally: Tally, owner: Any) -> Callable[..., Any]:
    """`function`, adding the rows that it is called with to those of its owner."""
    signature = inspect.signature(getattr(function, "py_func", function))

    def counting(*arguments: Any, **named: Any) -> Any:
        if tally.inside:
            return function(*arguments, **named)
        rows = _rows(signature.bind(*arguments, **named).arguments)
        tally.by[owner] = tally.by.get(owner, 0) + rows
        tally.inside = True
        try:
            return function(*arguments, **named)
        finally:
            tally.inside = False

    return counting


def _preparing(prepared: Any, tally: Tally, owner: Any) -> Callable[..., Any]:
    """`prepared`, making functions that count."""
    return lambda *arguments, **named: _counted(prepared(*arguments, **named), tally, owner)


def _rows(arguments: dict[str, Any]) -> int:
    """How many rows a call prices, by its arguments' names; one, where they do not say."""
    if "stop" in arguments:
        return int(arguments["stop"] - arguments["start"])
    return len(
        next((arguments[name] for name in ("rows", "mappings", "genes") if name in arguments), (None,))
    )
