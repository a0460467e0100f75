"""The examples that every command's help ends with."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def examples() -> dict[str, list[str]]:
    """The examples by command, as in `bench cost`; the program's own by an empty text."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def add_examples(application: Any) -> None:
    """Have every command's help end with its examples; those of packages that are gone are left out."""
    for path, lines in examples().items():
        command = application
        for name in path.split():
            command = command and command.commands.get(name)
        if command is not None:
            command.epilog = "\n".join(["Examples:", *lines])
