"""A budgeted arena for searchers of DNN-layer mappings onto spatial accelerators."""

__version__ = "0.1.0"
