"""pymoo (Blank and Deb, IEEE Access 2020): a run as a problem of mixed variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from searchers.adapters.common import Values, import_library

if TYPE_CHECKING:
    from dse.search.session import Session


def problem_of(study: Session) -> Any:
    """A problem for algorithms of mixed variables, such as MixedVariableGA. A generation is a batch."""
    variable, problem = import_library("pymoo.core.variable"), import_library("pymoo.core.problem")
    values = Values(study)
    kinds = {name: variable.Integer(bounds=(0, most)) for name, most in values.ranges().items()}
    kinds |= {name: variable.Choice(options=every) for name, every in values.choices().items()}

    class Mappings(problem.Problem):  # type: ignore[misc, name-defined]
        def _evaluate(self, points: Any, out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = values.of(list(points))[:, np.newaxis]

    return Mappings(vars=kinds, n_obj=1)
