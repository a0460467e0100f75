"""Mappings onto machines of any number of levels, as vectors of integers."""
