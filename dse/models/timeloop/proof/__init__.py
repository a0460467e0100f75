"""Proofs under `timeloop`: factors by factors, with a bound that holds for every order of the loops."""
