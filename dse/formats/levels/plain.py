"""`mapping.json`: a mapping as this framework writes it."""

from __future__ import annotations

from typing import Any

from dse.formats.levels import Written
from dse.spec.hierarchy.mapping import HierarchyMapping


def write(problem: Any, mapping: HierarchyMapping) -> Written:
    """The mapping alone."""
    return {"mapping.json": mapping.to_json(indent=2) + "\n"}, []
