"""A budget is spent: evaluator, record, journal, searcher, run, environments.

Imports `problem` and what is below it. The package is callable: `dse.search(...)` is `dse.search.api.search`
whether or not the package has been imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from dse.search.api import search

        return search(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
