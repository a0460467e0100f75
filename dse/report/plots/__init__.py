"""A study's plots, one public function each, drawn with matplotlib's objects alone: no pyplot, no state left.

Each `..._figure` takes a study and its findings (or a single run, or a test of dependence) and returns a
figure, for `png_bytes`, `pdf_bytes` and `svg_text`.
`draw_figures` says which a study has and how each is read.
"""
