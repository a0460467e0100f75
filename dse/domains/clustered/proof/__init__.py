"""Proofs of two levels: groups of mappings, their bounds, and the solver that all cost models share."""
