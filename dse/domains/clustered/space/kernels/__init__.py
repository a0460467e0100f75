"""The compiled functions of a mapping space: only what is in this folder has them compiled anew.

`layout`: a space as one array; `points`: genes to mappings and back; `moves`: neighbours.
"""
