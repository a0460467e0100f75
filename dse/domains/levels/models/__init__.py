"""The cost models of machines of levels, a folder each."""
