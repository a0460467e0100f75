"""A study's plots, one public function each, drawn with matplotlib's objects alone: no pyplot, no state left.

Each `..._figure` takes a study and its findings (or a single run, or a test of dependence) and returns a
figure, for `png`, `pdf` and `svg`. `draw` says which a study has and how each is read.
"""

from dse.report.plots.contests import distribution_figure, efficiency_figure, improvement_figure
from dse.report.plots.convergence import convergence_figure, fronts_figure, gap_figure, mean_loss_figure
from dse.report.plots.correlation import correlation_figure
from dse.report.plots.drawing import Drawing, draw
from dse.report.plots.files import pdf, png, remove_stale, svg, write_drawing
from dse.report.plots.genes import gene_figure
from dse.report.plots.shares import ecdf_figure, profile_figure

__all__ = [
    "Drawing",
    "convergence_figure",
    "correlation_figure",
    "distribution_figure",
    "draw",
    "ecdf_figure",
    "efficiency_figure",
    "fronts_figure",
    "gap_figure",
    "gene_figure",
    "improvement_figure",
    "mean_loss_figure",
    "pdf",
    "png",
    "profile_figure",
    "remove_stale",
    "svg",
    "write_drawing",
]
