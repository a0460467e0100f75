"""Accelerators whose PEs form clusters: mappings of two levels, their space, problems and cost models."""
