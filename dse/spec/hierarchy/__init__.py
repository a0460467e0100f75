"""Machines of any number of storage levels, what they compute, and mappings onto them, as plain data."""
