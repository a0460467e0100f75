"""Proven optima over tiles of any size under `maestro`: boxes of outer tiles, and what they cost at least."""
