"""The names of the surrogates of the objective."""

from __future__ import annotations

GAUSSIAN, FOREST = "gaussian", "forest"
KINDS = (GAUSSIAN, FOREST)
