"""Searchers that each break one rule of the contract, and are random searches otherwise."""
