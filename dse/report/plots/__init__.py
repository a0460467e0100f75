"""A study's figures. They are drawn with matplotlib's objects alone: no pyplot, no state left behind.

`draw` says which there are, `write_figures` writes them as PNG and PDF, `svg` makes one ready for a page, and
`gene_figure` draws what a single run did.
"""

from dse.report.plots.drawing import Drawing, draw
from dse.report.plots.files import pdf, png, remove_stale, svg, svgs, write_drawing, write_figures
from dse.report.plots.genes import gene_figure

__all__ = [
    "Drawing",
    "draw",
    "gene_figure",
    "pdf",
    "png",
    "remove_stale",
    "svg",
    "svgs",
    "write_drawing",
    "write_figures",
]
