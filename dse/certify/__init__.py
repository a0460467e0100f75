"""Proven optima: `dse.certify(problem)` is the best mapping of a space of perfect factors, with the proof.

The package is callable, so that `dse.certify` is a function to its users whether it was imported or not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from dse.certify.certificate import Best, Certificate, Counts, Solved
from dse.problem import Problem

__all__ = ["Best", "Certificate", "Counts", "Solved", "certify"]


def certify(
    problem: Problem, time_limit: float | None = None, *, cache: bool | str | Path = True
) -> Certificate:
    """The proven optimum of `problem`, or the bound that `time_limit` seconds were enough for.

    Certificates are kept: `cache` is a folder, True for the user's own, or False. InputError for a problem
    that cannot be certified: only `factors` tiles under `maestro` can.
    """
    from dse.certify.solver import solve

    return solve(problem, time_limit)


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Certificate:
        return certify(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
