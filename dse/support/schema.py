"""Plain data, as parsed from a file, checked by pydantic, with messages that teach.

pydantic takes a fifth of a second to import: that is done when there is something to check.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

from dse.support.errors import InputError, shorten, unknown_name
from dse.support.strict_yaml import line_of
from dse.support.validation import most_in_words

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")
Place = tuple[str | int, ...]


class Schema:
    """A dataclass that tables are read as: its fields are the keys, and no others.

    A value has the very type of its annotation: nothing is converted. `Limits` say more of it.
    """

    __pydantic_config__: ClassVar[Any] = {"strict": True, "extra": "forbid"}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        # Values are taken strictly, but the table itself is no instance of the class yet.
        return {**handler(source), "strict": False}


class Limits:
    """Bounds of an annotated type by pydantic's names (ge, le, min_length, pattern).

    `words` say what the value must be, where its type and bounds say it badly.
    """

    def __init__(self, words: str = "", **bounds: Any) -> None:
        self.words = words
        self.bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """pydantic's schema of the type, with the bounds: those of `int | None` are the number's."""
        found: dict[str, Any] = handler(source)
        if found["type"] == "nullable":
            return {**found, "schema": {**found["schema"], **self.bounds}}
        return {**found, **self.bounds}


def read_schema(schema: type[T], data: object, where: str, label: str = "", also: Sequence[str] = ()) -> T:
    """`data`, a parsed table, as the dataclass `schema`; an InputError names what is wrong in `where`.

    What the dataclass itself refuses on construction may begin with a `label`, which `where` replaces.
    Where a key is unknown, those in `also`, which the caller has read, are listed with the others.
    """
    from pydantic import ValidationError

    try:
        found: T = _adapter(schema).validate_python(data)  # type: ignore[arg-type]
    except ValidationError as error:
        raise _refusal(error, schema, where, label, (data, also)) from None
    return found


def typed_value(value: object, kind: Any, what: str) -> Any:
    """`value`, plain data, as a type, strictly; only lists become tuples, which TOML and JSON do not have."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    try:
        # Through JSON, which pydantic knows to have lists only.
        text = json.dumps(value, allow_nan=False)
        return TypeAdapter(kind, config=ConfigDict(strict=True)).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(f"{what} must be {_expected(first)}, got {shorten(value)}") from None
    except (TypeError, ValueError):
        wanted = "finite" if isinstance(value, float) and not math.isfinite(value) else "plain data"
        raise InputError(f"{what} must be {wanted}, got {shorten(value)}") from None


@cache
def _adapter(schema: type) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(schema)


def _refusal(
    error: ValidationError, schema: type, where: str, label: str, read: tuple[object, Sequence[str]]
) -> InputError:
    """What helps most: a key that is misspelt, then keys that are missing, then the first wrong value."""
    data, also = read
    found: list[Any] = error.errors(include_url=False)
    first = min(found, key=lambda one: _FIRST.index(one["type"]) if one["type"] in _FIRST else len(_FIRST))
    place: Place = first["loc"]
    line = line_of(data, place)
    where = f"{where}, line {line}" if line else where
    table = place[:-1]
    if first["type"] == "unexpected_keyword_argument":
        names = [item.name for item in fields(_at(table, schema))]
        return unknown_name("key", place[-1], [*names, *(() if table else also)], _path(where, table))
    if first["type"] == "missing":
        missing = [one["loc"][-1] for one in found if one["type"] == "missing" and one["loc"][:-1] == table]
        return InputError(f"{_path(where, table)} lacks {', '.join(map(repr, missing))}")
    if first["type"] == "value_error":
        return InputError(f"{_path(where, place)}: {str(first['ctx']['error']).removeprefix(f'{label}: ')}")
    words = [item.words for item in get_args(_at(place, schema)) if isinstance(item, Limits) and item.words]
    wanted = words[0] if words else _expected(first)
    return InputError(f"{_path(where, place)} must be {wanted}, got {shorten(first['input'])}")


def _at(place: Place, schema: Any) -> Any:
    """The annotation at a place in a schema of dataclasses, lists and tables."""
    for part in place:
        kind = get_args(schema)[0] if get_origin(schema) is Annotated else schema
        hints = get_type_hints(kind, include_extras=True) if is_dataclass(kind) else {}
        schema = hints[part] if part in hints else get_args(kind)[-1]
    return schema


def _path(where: str, place: Place) -> str:
    """A place within `where`, as in "campaign 'a.toml': problems[0].layer"."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return f"{where}: {path.removeprefix('.')}" if path else where


def _expected(error: Any) -> str:
    """What a value must be that pydantic refuses, in our words where we have any."""
    context = error.get("ctx", {})
    match error["type"]:
        case "greater_than_equal":
            return f"at least {context['ge']}"
        case "greater_than":
            return f"above {context['gt']:g}"
        case "less_than_equal":
            return f"at most {most_in_words(context['le'])}"
        case kind if kind in _KINDS:
            return _KINDS[kind]
    wanted: str = error["msg"]
    return wanted.removeprefix("Input ").removeprefix("should be ")


_FIRST = ("unexpected_keyword_argument", "missing")
_KINDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "string_too_short": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table of names and values",
    "dataclass_type": "a table of names and values",
}
