"""What numerical libraries find in this CPU: where they differ, so do the last bits of their results."""

from __future__ import annotations

import os
from functools import cache

CPU = "cpu"
"""What it is called among the versions that a record depends on."""

OTHER_CPU_VARIABLES = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")
TORCH_VARIABLES = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR")
"""What torch and its libraries take for this CPU's instructions, where somebody says so."""


@cache
def numerical_cpu() -> str:
    """The instructions that NumPy uses beyond its baseline, the kernels of its BLAS, and torch's if set.

    With VNNI, which NumPy has no use for and torch's layers of whole numbers do, where it does not go without
    saying: all CPUs with AVX512_ICL have it.
    """
    from threadpoolctl import threadpool_info

    # First, as it imports NumPy, whose BLAS is then among the pools.
    instructions = _instructions()
    kernels = {
        pool.get("architecture") or "unknown" for pool in threadpool_info() if pool["user_api"] == "blas"
    }
    told = {name: os.environ[name] for name in TORCH_VARIABLES if os.environ.get(name)}
    torch = [f"torch {told.pop('ATEN_CPU_CAPABILITY')}"] if "ATEN_CPU_CAPABILITY" in told else []
    torch += [f"{name}={value}" for name, value in told.items()]
    vnni = ["VNNI"] if "AVX512_ICL" not in instructions and _has_vnni() else []
    return f"numpy {' '.join([*instructions, *vnni, *sorted(kernels), *torch])}"


def other_cpu() -> dict[str, str]:
    """Environment variables by which a process computes as if on a CPU of 2009."""
    return dict(zip(OTHER_CPU_VARIABLES, ("Nehalem", " ".join(_instructions())), strict=True))


def _has_vnni() -> bool:
    # What np.show_runtime prints of; there is no public way to the single instructions.
    from numpy._core._multiarray_umath import __cpu_features__ as found  # type: ignore[import-not-found]

    return bool(found.get("AVX512VNNI"))


def _instructions() -> list[str]:
    import numpy as np

    config = np.show_config(mode="dicts")
    return list(config["SIMD Extensions"].get("found", ())) if config else []
