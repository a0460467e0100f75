"""Makes a process ready to run tests of any copy of our code: it imports libraries, and none of our code."""

from __future__ import annotations

import hypothesis
import numba
import pandas
import pyarrow.parquet
import pydantic
import pytest
import rich.console
import scipy.stats
import typer

__all__ = ["hypothesis", "numba", "pandas", "pyarrow", "pydantic", "pytest", "rich", "scipy", "typer"]

# What numba needs to load kernels too, which takes as long as all else.
numba.njit(lambda number: number)(1)
