"""What stands under each figure: how to read it."""

from __future__ import annotations

_HOW_TO_READ: dict[str, tuple[str, str]] = {}


def heading(name: str) -> str:
    """What the figure is called."""
    return name


def caption(name: str) -> str:
    """How to read the figure; empty for one that is not ours."""
    return _HOW_TO_READ.get(name, ("", ""))[1]
