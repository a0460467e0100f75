"""How the kernel's functions are compiled: into its one entry, which alone is kept on disk."""

from __future__ import annotations

from dse.support.jit import OPTIONS

LEAN = {**OPTIONS, "cache": False, "_nrt": False}
"""Options of a function that makes no arrays: numba then counts no references, half of the time otherwise."""

INLINED = {**LEAN, "forceinline": True}
"""Options of a short function that is called often."""
