"""Proven optima under `maestro`."""
