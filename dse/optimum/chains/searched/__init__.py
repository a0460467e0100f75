"""Chains as problems like others: a design says what stays on chip, and has a mapping of each layer."""
