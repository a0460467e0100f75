"""`dse correlate`: which genes of good samples go together, what is chance, and how it is shown."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from dse.analysis.dependence import (
    Dependence,
    PairTest,
    analyse_dependence,
    association_test,
    correlation_test,
)
from dse.domains.clustered.space.genes import GENE_NAMES
from dse.report.plots.correlation import correlation_figure
from dse.report.plots.files import png_bytes, svg_text
from dse.search.api import search
from dse.search.gene_groups import best_points, cluster_genes, gene_correlations, gene_tree
from dse.support.errors import InputError
from tests.conftest import Dse

CONV = ("--layer", "vgg16:conv4_2", "--accelerator", "eyeriss-small")
Test = Callable[[np.ndarray, np.random.Generator, int], PairTest]
TESTS: tuple[Test, ...] = (correlation_test, association_test)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def related(n: int = 120) -> np.ndarray:
    """Six columns: 1 follows 0 (with noise), 3 is a function of 2, 4 is free, 5 is constant."""
    random = rng(3)
    free = random.integers(0, 8, (n, 3))
    follower = free[:, 0] + random.integers(0, 4, n)
    # A V: there is no correlation to speak of.
    folded = np.abs(2 * free[:, 1] - 7)
    columns = [free[:, 0], follower, free[:, 1], folded, free[:, 2], np.full(n, 4)]
    return np.stack(columns, axis=1)


@pytest.fixture
def few_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of few dots: they are drawn sooner."""
    monkeypatch.setattr("dse.report.plots.files.DPI", 50)


# What is more than chance


@pytest.mark.parametrize("test", TESTS)
def test_independent_columns_are_called_dependent_as_seldom_as_agreed(test: Test) -> None:
    random = rng(1)
    false = sum(
        test(random.integers(0, [2, 3, 9, 30, 1, 5], (60, 6)), random, 99).p.min() <= 0.05 for _ in range(120)
    )
    # Of 120 analyses 5 % are 6; 14 or more would be one chance in 500.
    assert false < 14


def test_a_correlation_is_found_and_a_dependence_without_one_by_the_other_test_alone() -> None:
    linear, other = (test(related(), rng(), 199).p for test in TESTS)
    assert linear[0, 1] == other[0, 1] == 1 / 200
    assert linear[2, 3] > 0.05
    assert other[2, 3] == 1 / 200
    for p in (linear, other):
        assert (p == p.T).all()
        assert (p[5] == 1).all()
        assert (np.diag(p) == 1).all()
        assert p[4, :4].min() > 0.05


def test_the_critical_correlation_is_the_least_that_is_significant() -> None:
    points = related()
    test = correlation_test(points, rng(), 999)
    r = np.abs(np.corrcoef(points[:, :5], rowvar=False)) - np.eye(5)
    assert ((r > test.critical(0.05)) == (test.p[:5, :5] <= 0.05)).all()
    # For one pair of 120 points it would be 0.18; for fifteen it has to be more.
    assert 0.18 < test.critical(0.05) < 0.4
    assert correlation_test(points[:20], rng(), 999).critical() > test.critical()


def test_associations_rank_as_those_of_a_likelihood_ratio_test() -> None:
    random = rng(5)
    points = random.integers(0, 3, (200, 5))
    for place, noise in ((1, 0.2), (2, 0.5), (3, 0.75)):
        points[:, place] = np.where(random.random(200) < noise, points[:, place], points[:, 0])
    ours = association_test(points, rng(), 499).p
    theirs = np.ones((5, 5))
    for i, j in combinations(range(5), 2):
        table = np.histogram2d(points[:, i], points[:, j], bins=3)[0]
        theirs[i, j] = theirs[j, i] = chi2_contingency(table, lambda_="log-likelihood").pvalue
    # Ten pairs: theirs, corrected by Bonferroni, agree on who is dependent.
    assert ((ours <= 0.05) == (theirs <= 0.005)).all()
    assert (ours[0, 1:4] <= 0.05).all()


# The analysis


def analysed(points: np.ndarray, **changes: object) -> Dependence:
    columns = points.shape[1]
    matrix = gene_correlations(points, np.arange(len(points), dtype=float), 1.0)
    labels = {number: cluster_genes(matrix, number) for number in (2, 4)}
    names = tuple(GENE_NAMES[:columns])
    arguments = {"threshold": 0.2, "shuffles": 199, **changes}
    return analyse_dependence(names, points, matrix, gene_tree(matrix), labels, **arguments)  # type: ignore[arg-type]


def test_genes_are_independent_in_three_senses_that_may_differ() -> None:
    found = analysed(related())
    names = found.names
    assert found.uncorrelated == names[2:5]
    assert found.unrelated == (names[4],)
    assert set(found.weak) <= set(names[2:5])
    assert analysed(related(), threshold=0.99).weak == names[:5]
    assert analysed(related(), threshold=1e-9).weak == ()
    # What is constant depends on nothing, and is no evidence of independence.
    assert found.to_dict()["varied"] == list(names[:5])
    assert found.to_dict()["independent"]["unrelated"] == {"genes": [names[4]], "share": 0.2}


def test_each_gene_has_its_nearest_and_a_constant_one_none() -> None:
    found = analysed(related())
    name, r, p = found.nearest(0, found.correlation_p)
    assert (name, p) == (found.names[1], 1 / 200)
    assert r is not None
    assert r > 0.8
    assert found.nearest(2, found.association_p)[0] == found.names[3]
    assert found.nearest(5, found.correlation_p) == (None, None, None)


def test_groups_hold_each_gene_once() -> None:
    found = analysed(related())
    for number, groups in found.groups.items():
        assert len(groups) == number
        assert sorted(name for group in groups for name in group) == sorted(found.names)
    assert found.names[:2] in found.groups[4]


def test_two_points_are_too_few_to_correlate() -> None:
    with pytest.raises(InputError, match="takes 3 good samples that are feasible, got 2; draw more"):
        analysed(related()[:2])


def test_all_genes_may_be_constant() -> None:
    found = analysed(np.ones((9, 4), np.int64))
    assert found.weak == found.uncorrelated == found.unrelated == ()
    assert found.to_dict()["independent"]["weak"] == {"genes": [], "share": None}


# The figure


def test_the_figure_names_every_gene_on_both_sides_and_has_every_correlation() -> None:
    found = analysed(related())
    figure = correlation_figure(found, "What goes with $what$", "how")
    matrix = figure.axes[1]
    across, down = ([t.get_text() for t in axis.get_ticklabels()] for axis in (matrix.xaxis, matrix.yaxis))
    assert across.pop() == "1 / loss"
    assert across == down
    assert sorted(across) == sorted(found.names)
    assert figure.texts[0].get_text() == "What goes with $what$"
    said = {
        (across[text.get_position()[0]], across[text.get_position()[1]]): text.get_text()
        for text in matrix.texts
        if text.get_position()[0] < len(across)
    }
    # Five genes vary: twenty fields have a figure.
    assert len(said) == 20
    for (one, other), text in said.items():
        r = found.correlations[found.names.index(one), found.names.index(other)]
        assert float(text.replace("\N{MINUS SIGN}", "-")) == pytest.approx(r, abs=0.005)


def test_significant_correlations_are_bold() -> None:
    found = analysed(related())
    figure = correlation_figure(found, "title")
    bold = [t for t in figure.axes[1].texts if t.get_fontweight() == "bold"]
    assert len(bold) == (found.correlation_p <= 0.05).sum() == 2


def test_the_figure_of_genes_that_are_all_constant_is_drawn() -> None:
    figure = correlation_figure(analysed(np.ones((9, 4), np.int64)), "nothing")
    assert png_bytes(figure).startswith(b"\x89PNG")
    ET.fromstring(svg_text(figure))


# The command


@pytest.mark.parametrize(("options", "model"), [((), "loopnest"), (("--cost-model", "maestro"), "maestro")])
def test_the_analysis_is_that_of_the_samples_and_of_marl(
    dse: Dse, options: tuple[str, ...], model: str
) -> None:
    outcome = dse("correlate", *CONV, *options, "--samples", "600", "--seed", "3", "--agents", "5", "--json")
    assert outcome.code == 0
    data = outcome.json
    assert data["cost_model"] == model
    from dse.domains.clustered.accelerator import PRESETS
    from dse.domains.clustered.problem import Problem
    from workloads import load_layer

    problem = Problem(load_layer("vgg16:conv4_2"), PRESETS["eyeriss-small"], cost_model=model)
    record = search(problem, "random", budget=600, seed=3).record
    genes, losses = record.genes(), record.evaluations().loss
    matrix = gene_correlations(genes, losses)
    assert data["correlations"] == matrix.tolist()
    assert data["linkage"] == gene_tree(matrix).tolist()
    feasible = np.isfinite(losses).sum()
    assert data["points"] == len(best_points(genes, losses)) == math.ceil(0.15 * feasible)
    assert data["feasible"] == feasible
    dealt = cluster_genes(matrix, 5)
    assert data["agents"] == {
        "5": [[name for name, agent in zip(GENE_NAMES, dealt, strict=True) if agent == a] for a in range(5)]
    }


def test_another_searcher_may_draw_and_the_rest_is_as_asked(dse: Dse) -> None:
    options = ("--searcher", "genetic", "--set", "population=20", "--samples", "300", "--top", "0.5")
    data = dse("correlate", *CONV, *options, "--threshold", "0.4", "--fix", "cluster=1", "--json").json
    assert (data["searcher"], data["settings"]["population_size"]) == ("genetic", 20)
    assert (data["top"], data["threshold"]) == (0.5, 0.4)
    assert "cluster" not in data["varied"]
    assert list(data["agents"]) == ["2", "3", "6", "9"]


@pytest.mark.usefixtures("few_dots")
def test_people_see_each_gene_the_shares_and_the_agents(dse: Dse, tmp_path: Path) -> None:
    outcome = dse("correlate", *CONV, "--samples", "400", "--out", str(tmp_path / "a" / "b"))
    assert outcome.code == 0
    for name in GENE_NAMES:
        assert f" {name} " in outcome.out
    assert "13 genes that vary have no correlation of 0.2 or more." in outcome.out
    assert "\n6 agents: outer.order " in outcome.out
    files = sorted(path.name for path in (tmp_path / "a" / "b").iterdir())
    assert files == ["correlation.json", "correlation.pdf", "correlation.png"]
    assert json.loads((tmp_path / "a" / "b" / "correlation.json").read_text())["samples"] == 400


@pytest.mark.usefixtures("few_dots")
def test_the_objective_and_the_papers_thresholds_stand_beside_the_genes(dse: Dse, tmp_path: Path) -> None:
    options = ("--samples", "2000", "--linkage", "ward", "--out", str(tmp_path))
    data = dse("correlate", *CONV, *options, "--json").json
    assert data["objective"] == "latency"
    assert len(data["objective_correlations"]) == len(data["genes"])
    assert max(map(abs, data["objective_correlations"])) <= 1
    cuts = data["agents_at_distance"]
    assert list(cuts) == ["0.5", "1", "1.5", "2", "2.5"]
    assert cuts["0.5"] == len(data["genes"]) > cuts["1.5"] >= cuts["2"] >= cuts["2.5"] in (1, 2)
    average = dse("correlate", *CONV, "--samples", "2000", "--json").json
    assert average["objective_correlations"] == data["objective_correlations"]
    assert average["agents_at_distance"]["1"] <= 2, "no distance of 1 - |r| exceeds 1"
    assert average["linkage"] != data["linkage"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--samples", "0"), "--samples must be at least 1, got 0"),
        (("--top", "1.5"), "--top must be above 0 and at most 1, got 1.5"),
        (("--threshold", "0"), "--threshold must be above 0 and at most 1, got 0"),
        (("--agents", "14"), "--agents must be at most 13, got 14"),
        (("--agents", "0"), "--agents must be at least 1, got 0"),
        (("--seed", "-1"), "--seed must be at least 0, got -1"),
        (("--searcher", "rndom"), "unknown searcher 'rndom' in the installed searchers; did you"),
        (("--linkage", "wrad"), "unknown linkage 'wrad'; did you mean 'ward'?"),
        (("--samples", "3"), "takes 3 good samples that are feasible, got"),
    ],
    ids=str,
)
def test_wrong_input_is_refused_in_one_line(dse: Dse, options: tuple[str, ...], message: str) -> None:
    assert message in dse("correlate", *CONV, *options).refused()
