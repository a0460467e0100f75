"""Tools without a word of the domain: errors, validation, TOML and JSON, compiled kernels.

Imports no other package.
"""
