"""Tools without a word of the domain. Imports no other package.

errors      the one error for wrong input, and what its messages are made of
schema      tables of files against dataclasses, by pydantic        validation  single values, at once
toml        TOML files                                              strict_json JSON texts
files       files that are written whole or not at all              hashing     names of plain data by content
arrays      the kinds of arrays                                     jit         compiled kernels
"""
