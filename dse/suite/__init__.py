"""The benchmark with known optima: frozen lists of problems, each with its proven optimum.

    for problem in dse.suite("short"):
        with problem.ask_tell(budget=100) as study:
            study.tell(study.ask(10))

Imports everything below the command line. The package is callable: `dse.suite(...)` is
`dse.suite.suites.suite` whether or not the package has been imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from dse.suite.suites import suite

        return suite(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
