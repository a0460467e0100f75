"""The figure of a single run: what each gene was, as its samples went by."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

import workloads
from dse.domains.clustered.accelerator import load_accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.genes import GENE_NAMES
from dse.domains.clustered.space.parts import read_parts, with_hardware
from dse.report.plots.canvas import COLUMN
from dse.report.plots.files import png_bytes, svg_text
from dse.report.plots.genes import CLASSES, best_holders, class_occupancy, gene_figure, gene_traces
from dse.report.plots.style import house_style
from dse.search.record import Record, read_parquet, write_parquet

pytestmark = pytest.mark.filterwarnings("error")

LAYER = workloads.load_layer("vgg16:conv1_2")
PROBLEM = Problem(LAYER, load_accelerator("eyeriss-small"), "edp", "maestro")


def record_of(problem: Problem, samples: int, *, infeasible: bool = False) -> Record:
    """A random search's record."""
    genes = problem.space.sample(np.random.default_rng(5), samples)
    priced = problem.price(genes)
    if infeasible:
        priced = replace(priced, loss=np.full(samples, np.inf), reason=np.ones(samples, np.uint8))
    record = Record(len(problem.space.genes))
    record.append(genes, priced)
    return record


@pytest.fixture(scope="module")
def record() -> Record:
    return record_of(PROBLEM, 500)


def test_a_trace_holds_what_the_mappings_were(record: Record) -> None:
    found = gene_traces(PROBLEM, record)
    assert tuple(sorted(found)) == tuple(sorted(GENE_NAMES))
    batch = PROBLEM.space.decode(record.genes())
    for sample in (0, 123, 499):
        mapping = batch[sample]
        shown = {name: trace.names[trace.drawn[sample]] for name, trace in found.items()}
        assert shown["outer.parallel"] == mapping.outer.parallel
        assert shown["inner.order"] == "".join(dim for dim in mapping.inner.order if dim in "KCYX")
        assert shown["outer.tile.K"] == str(mapping.outer["K"])
        assert shown["inner.tile.X"] == str(mapping.inner["X"])
        assert shown["cluster"] == str(mapping.cluster_size)


def test_the_best_samples_values_are_said_in_words(record: Record) -> None:
    assert record.best is not None
    mapping = PROBLEM.space.decode(record.genes())[record.best]
    found = gene_traces(PROBLEM, record)
    assert found["outer.tile.Y"].chosen == str(mapping.outer["Y"])
    words = [text.get_text() for text in gene_figure(PROBLEM, record).findobj(Text)]
    assert "".join(dim for dim in mapping.outer.order if dim in "KCYX") in words


def test_many_sizes_are_shown_in_ranges_that_hold_them() -> None:
    problem = Problem(LAYER, load_accelerator("eyeriss-small"), "edp", "maestro", tiles="any")
    record = record_of(problem, 500)
    trace = gene_traces(problem, record)["outer.tile.X"]
    assert CLASSES // 2 < len(trace.names) <= CLASSES
    batch = problem.space.decode(record.genes())
    for sample in range(0, 500, 50):
        low, _, high = trace.names[trace.drawn[sample]].partition("-")
        assert int(low) <= batch[sample].outer["X"] <= int(high or low)


def test_every_part_of_the_run_is_shown_whole(record: Record) -> None:
    trace = gene_traces(PROBLEM, record)["outer.order"]
    share = class_occupancy(trace, len(record))
    assert share.shape == (len(trace.names), 100)
    np.testing.assert_allclose(share.sum(axis=0), 1)
    first = np.bincount(trace.drawn[:5], minlength=len(trace.names)) / 5
    np.testing.assert_allclose(share[:, 0], first)


def test_the_line_is_the_best_so_far(record: Record) -> None:
    evaluations = record.evaluations()
    holders = best_holders(evaluations)
    assert holders[-1] == record.best
    for sample in range(0, 500, 7):
        seen = evaluations.loss[: sample + 1]
        assert holders[sample] == (np.argmin(seen) if np.isfinite(seen).any() else -1)


@pytest.mark.parametrize("samples", [1, 99, 100, 101])
def test_a_run_of_any_length_is_cut_into_parts_of_one_sample_or_more(record: Record, samples: int) -> None:
    trace = gene_traces(PROBLEM, record)["cluster"]
    share = class_occupancy(replace(trace, drawn=trace.drawn[:samples]), samples)
    assert share.shape == (len(trace.names), min(samples, 100))
    np.testing.assert_allclose(share.sum(axis=0), 1)


@pytest.mark.parametrize("samples", [0, 1])
def test_a_run_of_hardly_any_samples_has_its_figure(samples: int) -> None:
    ET.fromstring(svg_text(gene_figure(PROBLEM, record_of(PROBLEM, samples))))


def test_a_run_without_a_feasible_sample_says_so() -> None:
    figure = gene_figure(PROBLEM, record_of(PROBLEM, 50, infeasible=True), "what <&> $drew$\n")
    words = [text.get_text() for text in figure.findobj(Text)]
    assert "nothing feasible" in words
    assert "what <&> $drew$" in words
    ET.fromstring(svg_text(figure))


def test_fixed_genes_are_shown_as_the_one_value_that_they_have() -> None:
    problem = Problem(
        LAYER,
        load_accelerator("edge"),
        "latency",
        "maestro",
        fixed={"outer.parallel": "C", "outer.tile.C": 16, "cluster": 8},
    )
    record = record_of(problem, 60)
    found = gene_traces(problem, record)
    assert found["outer.tile.C"].names == ("16",)
    assert found["cluster"].names == ("8",)
    assert found["outer.parallel"].names == ("C",)
    svg_text(gene_figure(problem, record))


@pytest.mark.parametrize("figures", [1, 2])
def test_figures_of_the_hardware_are_shown_and_everything_is_inside_the_figure(figures: int) -> None:
    opened = {"l1_size": (128, 256, 512), "noc_bandwidth": (8, 16, 32)}
    space = with_hardware(read_parts("default"), dict(list(opened.items())[:figures]))
    problem = Problem(LAYER, load_accelerator("edge"), "edp", space=space)
    figure = gene_figure(problem, record_of(problem, 60))
    with house_style():
        figure.draw_without_rendering()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title for title in titles if title.startswith("hardware")] == [
        f"hardware {name}" for name in list(opened)[:figures]
    ]
    words = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    for box in (text.get_window_extent() for text in words):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.y1


def test_the_figure_is_small_readable_and_the_same_from_a_file(record: Record, tmp_path: Path) -> None:
    write_parquet(record, tmp_path / "run.parquet", {})
    again, _ = read_parquet(tmp_path / "run.parquet")
    figure = gene_figure(PROBLEM, record)
    picture, drawing = png_bytes(figure), svg_text(figure)
    assert drawing == svg_text(gene_figure(PROBLEM, again))
    assert len(picture) < 200_000
    assert len(drawing) < 150_000
    for shown in (figure, gene_figure(PROBLEM, record, width=COLUMN)):
        with house_style():
            shown.draw_without_rendering()
        words = [text for text in shown.findobj(Text) if text.get_text() and text.get_visible()]
        boxes = [text.get_window_extent() for text in words]
        assert all(box.x0 >= 0 and box.x1 <= shown.bbox.x1 for box in boxes)
        assert len(shown.axes) == len(PROBLEM.space.genes) + 1
