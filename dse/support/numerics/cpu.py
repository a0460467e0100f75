"""What numerical libraries find in this CPU: where they differ, so do the last bits of their results."""

from __future__ import annotations

import os
from functools import cache

OTHER_CPU_VARIABLES = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")


@cache
def numerical_cpu() -> str:
    """The instructions that NumPy uses beyond its baseline, the kernels of its BLAS, and torch's if set."""
    from threadpoolctl import threadpool_info

    # First, as it imports NumPy, whose BLAS is then among the pools.
    instructions = _instructions()
    kernels = {
        pool.get("architecture") or "unknown" for pool in threadpool_info() if pool["user_api"] == "blas"
    }
    torch = os.environ.get("ATEN_CPU_CAPABILITY")
    parts = [*instructions, *sorted(kernels), *([f"torch {torch}"] if torch else [])]
    return f"numpy {' '.join(parts)}"


def other_cpu() -> dict[str, str]:
    """Environment variables by which a process computes as if on a CPU of 2009."""
    return dict(zip(OTHER_CPU_VARIABLES, ("Nehalem", " ".join(_instructions())), strict=True))


def _instructions() -> list[str]:
    import numpy as np

    config = np.show_config(mode="dicts")
    return list(config["SIMD Extensions"].get("found", ())) if config else []
