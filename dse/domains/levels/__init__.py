"""Machines of any number of levels: their mappings, space, problems and cost models."""
