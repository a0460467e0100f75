"""Plain data, of files and command lines, read strictly as a type; files that are written whole or not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NoReturn

from learners.errors import InputError, short_repr


def value_as_type(value: object, kind: Any, what: str) -> Any:
    """`value` as a type, strictly, or an InputError; lists become tuples, which TOML and JSON do not have."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    config = None if hasattr(kind, "__pydantic_config__") else ConfigDict(strict=True)
    try:
        # Through JSON, which pydantic knows to have lists only.
        return TypeAdapter(kind, config=config).validate_json(json.dumps(value, allow_nan=False))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        where = f"{what}: {place.removeprefix('.')}" if place else what
        said = first["msg"].removeprefix("Input ")
        raise InputError(f"{where} {said}, got {short_repr(first['input'])}") from None
    except (TypeError, ValueError):
        raise InputError(
            f"{what} should be plain data with finite numbers, got {short_repr(value)}"
        ) from None


def read_table(content: bytes, where: str) -> dict[str, Any]:
    """The table in a JSON file's content. InputError where it is none."""
    try:
        found = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise InputError(f"{where} must be a table of names and values, got {short_repr(found)}")
    return found


def read_bounded(path: Path, where: str, most: int) -> bytes:
    """The content of a file. InputError if it has more than `most` bytes; OSError if it cannot be read."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise InputError(f"{where} cannot be read: it is larger than {most >> 20} MiB")
    return content


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, whatever happens meanwhile. OSError if that fails."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def import_safetensors() -> Any:
    """The library for weights. InputError that says what to install where it is not there."""
    try:
        import safetensors.numpy as library
    except ImportError:
        raise InputError("saved policies need safetensors: pip install 'dse-arena[learners]'") from None
    return library


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
