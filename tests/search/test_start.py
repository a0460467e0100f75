"""A search may begin at the dataflow templates or at mappings given, and its searcher knows them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse as package
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import Evaluator
from dse.search.run import Cell, run_cell
from dse.search.searcher import drive, make_searcher
from dse.search.start import start_points
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from searchers.environments.view import View
from searchers.random import Random
from tests.conftest import Dse
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp")
TEMPLATES = [PROBLEM.template(name) for name in PROBLEM.templates]
POINTS = start_points(PROBLEM, "templates")


def test_the_templates_are_the_first_samples_and_are_charged() -> None:
    result = package.search(PROBLEM, "random", budget=40, start="templates")
    assert len(result.record) == 40
    assert list(PROBLEM.space.decode(result.record.genes(0, 3))) == TEMPLATES
    assert (result.record.evaluations(0, 3).loss == PROBLEM.evaluate(TEMPLATES[0]).loss[0]).any()


def test_a_start_is_part_of_a_cell_only_where_there_is_one() -> None:
    plain = Cell(PROBLEM, "random", Random(), 0, 40)
    started = replace(plain, start=POINTS)
    assert "start" not in plain.identity
    assert started.identity["start"] == [list(point) for point in POINTS]
    # The searcher draws what it would have drawn.
    assert np.array_equal(run_cell(started).genes(3, 40), run_cell(plain).genes(0, 37))


def test_mappings_may_be_given_or_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([mapping.to_dict() for mapping in TEMPLATES]))
    assert start_points(PROBLEM, file) == start_points(PROBLEM, TEMPLATES) == POINTS
    file.write_text(TEMPLATES[1].to_json())
    assert start_points(PROBLEM, str(file)) == POINTS[1:2]
    assert start_points(PROBLEM, TEMPLATES * 2) == POINTS


def test_a_search_begins_at_the_best_that_another_one_found_under_another_cost_model(tmp_path: Path) -> None:
    fast = replace(PROBLEM, cost_model="maestro")
    found = package.search(fast, "random", budget=60, seed=3, out=tmp_path / "fast")
    points = start_points(PROBLEM, tmp_path / "fast")
    losses = fast.price(np.array(points)).loss
    assert len(points) == 3
    assert losses[0] == found.record.evaluations().loss.min()
    assert losses[0] < losses[1] < losses[2]
    begun = package.search(PROBLEM, "random", budget=5, start=str(tmp_path / "fast"))
    assert begun.record.genes(0, 3).tolist() == [list(point) for point in points]


def test_a_folder_of_another_space_or_of_no_search_is_no_start(tmp_path: Path) -> None:
    package.search(replace(PROBLEM, tiles="any"), "random", budget=5, out=tmp_path / "other")
    with pytest.raises(InputError, match=r"is of another space: .*tiles"):
        start_points(PROBLEM, tmp_path / "other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"has no record.parquet: name a folder that `dse search --out`"):
        start_points(PROBLEM, str(tmp_path / "empty"))
    package.search(replace(PROBLEM, cost_model=refusing), "random", budget=5, out=tmp_path / "none")
    with pytest.raises(InputError, match="nothing feasible to begin with"):
        start_points(PROBLEM, tmp_path / "none")


def refusing(layer: Any, accelerator: Any, mapping: Any) -> str:
    """Runs no mapping."""
    return "out of order"


def test_of_the_templates_those_are_taken_that_the_space_can_hold() -> None:
    assert len(start_points(replace(PROBLEM, fixed={"outer.parallel": "K"}), "templates")) == 1
    with pytest.raises(InputError, match="no dataflow template lies in the space"):
        start_points(replace(PROBLEM, fixed={"outer.parallel": "C"}), "templates")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "must hold a mapping or a list of them"),
        ("[1]", "mapping 0 must be a table"),
        ("{", "not JSON"),
        (replace(TEMPLATES[0], cluster_size=5).to_json(), "cluster = 5; expected one of"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, dse: Dse, content: str, words: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(content)
    layer = ("--layer", "alexnet:conv2", "--accelerator", "eyeriss-small")
    outcome = dse("search", *layer, "--searcher", "random", "--budget", "9", "--start", str(file))
    assert outcome.code == 2
    assert words in outcome.err
    assert "mine.json" in outcome.err
    assert outcome.err.count("\n") == 1


def test_an_interrupted_search_goes_on_behind_its_start(tmp_path: Path) -> None:
    ended = package.search(
        PROBLEM, "walk", budget=80, start=TEMPLATES, out=tmp_path, on_progress=lambda it: it.samples < 30
    )
    assert len(ended.record) < 80
    again = package.search(PROBLEM, "walk", budget=80, start=TEMPLATES, out=tmp_path)
    whole = package.search(PROBLEM, "walk", budget=80, start=TEMPLATES)
    assert np.array_equal(again.record.genes(), whole.record.genes())


@dataclass
class Told:
    """An ask/tell algorithm that remembers what it is told."""

    asked: list[IntArray] = field(default_factory=list)
    told: list[IntArray] = field(default_factory=list)

    def ask(self) -> IntArray:
        self.asked.append(np.array(POINTS[:1], np.int64))
        return self.asked[-1]

    def tell(self, genes: IntArray, evaluations: Any) -> None:
        assert len(genes) == len(evaluations.loss) == len(evaluations.violation)
        self.told.append(genes)


def test_an_ask_tell_algorithm_is_told_what_is_known_before_it_is_asked() -> None:
    evaluate, algorithm = Evaluator(PROBLEM, 5), Told()
    assert not len(evaluate.known.genes)
    evaluate.evaluate_start(POINTS)
    drive(algorithm, evaluate)
    assert np.array_equal(algorithm.told[0], POINTS)
    assert (len(algorithm.asked), len(algorithm.told)) == (2, 3)
    with pytest.raises(ValueError, match="begins once"):
        evaluate.evaluate_start(POINTS)


@pytest.mark.parametrize("name", ["walk", "genetic", "gamma", "cem", "local", "marl", "factored-ppo", "team"])
def test_searchers_learn_from_their_start(name: str) -> None:
    budget = 24 if name == "team" else 100
    plain = Cell(PROBLEM, name, make_searcher(name), 0, budget)
    optimum = np.array(package.certify(PROBLEM, tiles="factors").best.genes)  # type: ignore[union-attr]
    around = tuple(
        tuple(row) for block in PROBLEM.space.blocks[:2] for row in block.neighbours(optimum).tolist()
    )
    started = run_cell(replace(plain, start=around[:9])).genes(9, budget)
    assert not np.array_equal(started, run_cell(plain).genes(0, budget - 9))
    # It draws more of what the start has in common; a policy gradient goes but three small steps there.
    likeness = [np.mean((genes == optimum).sum(axis=1)) for genes in (started, run_cell(plain).genes())]
    assert likeness[0] > likeness[1] or name in ("marl", "factored-ppo")


def test_an_environment_knows_its_start() -> None:
    evaluate = Evaluator(PROBLEM, 20)
    evaluate.evaluate_start(POINTS)
    view = View(evaluator=evaluate, actions="discrete")
    observed = view.begin(np.random.default_rng(0), 4)
    sizes = np.maximum(PROBLEM.space.sizes - 1, 1)
    assert observed[:3, -13:] == pytest.approx(np.array(POINTS) / sizes, abs=1e-6)
    assert "edp" in view.render()
    again = view.begin(np.random.default_rng(0), 4)
    assert not np.array_equal(observed, again)


CAMPAIGN = """
name = "starts"
budget = 9
seeds = 1
objectives = ["edp"]
accelerators = ["eyeriss-small"]
layers = ["alexnet:conv2"]
"""


def test_a_campaign_has_a_start_for_all_searchers_or_for_some(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(TEMPLATES[0].to_json())
    path = tmp_path / "campaign.toml"

    def starts(text: str) -> list[int]:
        path.write_text(CAMPAIGN + text)
        return [len(named.cell.start) for named in load_campaign(str(path), find_layers).cells()]

    both = '[searchers.random]\n[searchers.other]\ntype = "random"\n'
    assert starts(both) == [0, 0]
    assert starts('start = "templates"\n' + both) == [3, 3]
    assert starts(both + 'start = "mine.json"\n') == [0, 1]
    assert starts('start = "templates"\n' + both + 'start = "mine.json"\n') == [3, 1]
    # A number is the searcher's own setting of that name.
    own = '[searchers.team]\nstart = 9\n[searchers.one]\ntype = "team"\nstart = "templates"'
    assert starts(own) == [0, 3]
    with pytest.raises(InputError, match=r"alexnet:conv2 on eyeriss-small, edp: start 'templates': no"):
        starts('start = "templates"\nfixed = {"outer.parallel" = "C"}\n' + both)


def test_a_start_whose_tiles_do_not_divide_is_refused_with_what_takes_it() -> None:
    whole = TEMPLATES[0]
    outer = replace(whole.outer, tile=whole.outer.tile._replace(K=PROBLEM.layer.K - 1))
    words = r"outer\.tile\.K = \d+ does not divide .* \(--tiles any\) the search can begin there"
    with pytest.raises(InputError, match=words):
        start_points(PROBLEM, [replace(whole, outer=outer)])
