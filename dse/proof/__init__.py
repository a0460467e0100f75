"""Proofs of optima: one branch and bound for all models, which bring the bounds (see `contract`)."""
