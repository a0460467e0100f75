"""The tutorial notebook runs, run by `make prove`."""

from __future__ import annotations

import pytest

from tests import ROOT


def test_every_cell_of_the_tutorial_runs() -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(ROOT / "docs" / "tutorial.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=900, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    shown = [kind for output in outputs for kind in output.get("data", {})]
    # Two figures; the comparison, two frames and two tables; and the line that says how far it is, twice.
    assert shown.count("image/png") == 2
    assert shown.count("text/html") == 5
    texts = [output.get("data", {}).get("text/plain", "") for output in outputs]
    assert sum(text.startswith("30 of 30 cells; ") for text in texts) == 1
    assert sum(text.startswith("12 of 12 cells; ") for text in texts) == 1
