"""`mapping.txt`: a mapping as the nest of loops that it stands for, to be read by a person."""

from __future__ import annotations

from typing import Any

from dse.domains.levels.formats import Written
from dse.domains.levels.mapping import HierarchyMapping


def write(problem: Any, mapping: HierarchyMapping) -> Written:
    """The loops, with what each level holds."""
    return {"mapping.txt": problem.nest(mapping)}, []
