"""`mapping.json`: a mapping as this framework writes it."""

from __future__ import annotations

from typing import Any

from dse.domains.levels.formats import Written
from dse.domains.levels.mapping import HierarchyMapping


def write(problem: Any, mapping: HierarchyMapping) -> Written:
    """The mapping alone."""
    return {"mapping.json": mapping.to_json(indent=2) + "\n"}, []
