"""A study's problems made again from what its folder says of them, which may be nothing, or nonsense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.analysis.study import Study, Triple
from dse.core.problem import AnyProblem
from dse.support.errors import InputError

OLD_FOLDER = (
    "This folder does not say what the problem was in full, as those of older versions do not. Running the "
    "campaign again with “dse run” adds that without repeating a cell."
)


@dataclass(frozen=True)
class Made:
    """A problem, or else why there is none."""

    problem: AnyProblem | None
    why_not: str = ""


def make_problems(study: Study) -> Mapping[Triple, Made]:
    """Every problem of the study."""
    return {problem: _make(study, problem) for problem in study.problems}


def _make(study: Study, problem: Triple) -> Made:
    try:
        made = study.make_problem(problem)
    except (AttributeError, InputError, KeyError, TypeError, ValueError) as error:
        return Made(None, f"What this folder says of the problem cannot be read: {error}")
    return Made(made, "" if made else OLD_FOLDER)
