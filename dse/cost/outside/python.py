"""`python`: a function of the user's prices, `cost_model = "my_module:my_function"`."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

from dse.cost.figures import CostBatch
from dse.cost.outside.answers import Answer, Refusal, garbled, read_answer
from dse.cost.outside.model import OutsideModel
from dse.cost.settings import ModelSettings
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer
from dse.spec.mapping import Mapping as DataflowMapping
from dse.spec.mapping import MappingBatch
from dse.spec.reasons import Reason
from dse.support.errors import InputError, format_exception, shorten

ONE, MANY = "mapping", "mappings"
"""What a function calls its third parameter: it prices one mapping, or a batch."""


@dataclass(frozen=True)
class FunctionSettings(ModelSettings):
    """`function` is MODULE:NAME; the module is looked for in the current directory too."""

    label: ClassVar[str] = "settings of cost model 'python'"
    main: ClassVar[str] = "function"

    function: str


class Python(OutsideModel):
    """Prices by `function(layer, accelerator, mapping)`, or `(layer, accelerator, mappings)` for a batch.

    For a mapping (`dse.spec.mapping.Mapping`) it returns a table of figures, of which `cycles` and
    `energy_nj` must be there; None, or a text that says why, refuses the mapping. For a batch
    (`MappingBatch`) it returns a list of these, or a table of columns. What it raises is the mapping's
    reason not to be valid.
    """

    name = "python"
    settings_type = FunctionSettings
    settings: FunctionSettings

    def __init__(self, settings: FunctionSettings) -> None:
        """InputError if there is no such function, or its third parameter is called otherwise."""
        self.settings = settings
        self._batches = _takes_batches(settings.function, self._function)
        self.version = _source_digest(self._function)

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return load_function(self.settings.function)

    def answers(
        self, layer: Layer, accelerator: Accelerator, mappings: list[DataflowMapping]
    ) -> Iterator[tuple[int, Answer]]:
        """What the function returns, mapping by mapping or for the batch."""
        if not mappings:
            return
        if not self._batches:
            for place, mapping in enumerate(mappings):
                said = _called(self._function, layer, accelerator, mapping)
                yield place, said if isinstance(said, Refusal) else read_answer(said)
            return
        said = _called(self._function, layer, accelerator, MappingBatch.of(mappings))
        yield from enumerate(_split(said, len(mappings)))


def load_function(name: str) -> Callable[..., Any]:
    """The function MODULE:NAME; InputError where it cannot be imported, or is nothing to be called."""
    module, _, inside = name.partition(":")
    where = f"cost model {name!r}"
    if not module or not inside:
        raise InputError(f"{where}: expected MODULE:FUNCTION, as in my_module:my_function")
    here = os.getcwd()
    if here not in sys.path:
        # As `python -m` has it: one's own module need not be installed.
        sys.path.append(here)
    try:
        found: Any = importlib.import_module(module)
        for part in inside.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        raise InputError(f"{where} cannot be loaded: {format_exception(error)}") from None
    if not callable(found):
        raise InputError(f"{where} must be a function, got {shorten(found)}")
    return found  # type: ignore[no-any-return]


def _takes_batches(name: str, function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if len(parameters) < 3 or parameters[2].name not in (ONE, MANY):
        raise InputError(
            f"cost model {name!r} must be a function (layer, accelerator, {ONE}), or with {MANY} in its "
            "place for one that prices batches"
        )
    return parameters[2].name == MANY


def _called(function: Callable[..., Any], *arguments: object) -> Any:
    """What the function returns, or that it raised."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:  # a script that ends itself ends no search
        return Refusal(Reason.CRASHED, format_exception(error))


def _split(said: Any, count: int) -> list[Answer]:
    """What a function says of a batch, as an answer a mapping."""
    if isinstance(said, Refusal):
        return [said] * count
    if isinstance(said, CostBatch):
        rows, codes = _rows(said.figures(), len(said)), said.reason.tolist()
        said = [Reason(code).text if code else row for row, code in zip(rows, codes, strict=True)]
    elif isinstance(said, Mapping):
        lengths = {len(column) if hasattr(column, "__len__") else -1 for column in said.values()}
        if lengths != {count}:
            return [garbled(f"expected columns of length {count}")] * count
        said = _rows(said, count)
    if not isinstance(said, list | tuple) or len(said) != count:
        return [garbled(f"expected {count} answers, got {shorten(said)}")] * count
    return [read_answer(item) for item in said]


def _rows(columns: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    return [{name: column[row] for name, column in columns.items()} for row in range(count)]


@cache
def _source_digest(function: Callable[..., Any]) -> str:
    """What the function's module is, in short: records of another text are other records."""
    try:
        source = Path(inspect.getfile(inspect.unwrap(function))).read_bytes()
    except (OSError, TypeError):
        return "unknown source"
    return f"source {hashlib.sha256(source).hexdigest()[:12]}"
