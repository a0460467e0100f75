"""A study's plots, one public function each, drawn with matplotlib's objects alone: no pyplot, no state left.

Each `..._figure` takes a study and its findings (or a single run, or a test of dependence) and returns a
figure, for `png_bytes`, `pdf_bytes` and `svg_text`.
`draw_figures` says which a study has and how each is read.
"""

from dse.report.plots.contests import distribution_figure, efficiency_figure, improvement_figure
from dse.report.plots.convergence import convergence_figure, fronts_figure, gap_figure, mean_loss_figure
from dse.report.plots.correlation import correlation_figure
from dse.report.plots.drawing import Drawing, draw_figures
from dse.report.plots.files import pdf_bytes, png_bytes, remove_stale, svg_text, write_drawing
from dse.report.plots.genes import gene_figure
from dse.report.plots.shares import ecdf_figure, profile_figure

__all__ = [
    "Drawing",
    "convergence_figure",
    "correlation_figure",
    "distribution_figure",
    "draw_figures",
    "ecdf_figure",
    "efficiency_figure",
    "fronts_figure",
    "gap_figure",
    "gene_figure",
    "improvement_figure",
    "mean_loss_figure",
    "pdf_bytes",
    "png_bytes",
    "profile_figure",
    "remove_stale",
    "svg_text",
    "write_drawing",
]
