"""Proven optima under `loopnest`."""
