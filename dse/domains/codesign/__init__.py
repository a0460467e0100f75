"""Spaces of hardware: what of a machine may be chosen, what follows from it, and what limits it."""
