"""The kinds of designs, a folder each. Nobody outside of a folder asks which of them it deals with."""
