"""Problems on machines of any number of levels: whatever works with a problem works with them."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.core.cost_models import cost_model
from dse.core.domains import domain_named, hardware_from_dict, make_problem
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.problem import MachineProblem
from dse.optimum import certify
from dse.search.api import search
from dse.support.errors import InputError
from tests.conftest import Dse

LAYER = Layer("CONV", 32, 16, 14, 14, 3, 3, padding=(1, 1), name="conv")
CHIP = """
name = "chip"
mac_pj = 0.2
clock_ghz = 2.0
[[levels]]
name = "DRAM"
bandwidth = 8
access_pj = 100
[[levels]]
name = "Buffer"
keeps = ["I", "O"]
may_keep = ["W"]
size = 3000
access_pj = "by size"
fan_out = 8
spread = ["K", "C"]
[[levels]]
name = "Tile"
keeps = ["W"]
size = 256
access_pj = 1
fan_out = 4
spread = ["P", "K"]
[[levels]]
name = "Sums"
keeps = ["O"]
size = 16
access_pj = 0.5
[[levels]]
name = "Register"
keeps = ["W"]
size = 1
access_pj = 0.1
loops = ["P", "Q"]
"""


@pytest.fixture
def chip(tmp_path: Path) -> str:
    path = tmp_path / "chip.toml"
    path.write_text(CHIP)
    return str(path)


@pytest.fixture
def problem(chip: str) -> MachineProblem:
    made = make_problem(LAYER, chip, "edp", "timeloop")
    assert isinstance(made, MachineProblem)
    return made


def vectors(problem: MachineProblem, n: int = 400) -> np.ndarray:
    return np.random.default_rng(0).integers(0, problem.space.sizes, size=(n, len(problem.space.sizes)))


def test_a_point_costs_what_its_case_costs_and_the_loss_is_in_joule_seconds(problem: MachineProblem) -> None:
    genes = vectors(problem)
    priced = problem.price(genes)
    mappings = problem.space.decode(genes)
    lines = [(str(place), json.dumps(problem.case(mappings[place]))) for place in range(len(genes))]
    cases = cost_model("timeloop").price_lines(lines)
    assert [case["status"] == "ok" for case in cases] == (priced.reason == 0).tolist()
    fits = priced.reason == 0
    assert 0.3 < fits.mean() < 1
    energy = [case["energy_uj"] * 1e3 for case in cases if case["energy_uj"] is not None]
    assert priced.energy_nj[fits] == pytest.approx(energy, rel=1e-12)
    assert priced.loss[fits] == pytest.approx(priced.energy_nj[fits] * 1e-9 * priced.cycles[fits] / 2e9)
    assert (priced.macs[fits] == LAYER.macs).all()
    assert np.isinf(priced.loss[~fits]).all()


def test_what_does_not_fit_is_priced_all_the_same_and_says_by_how_much(problem: MachineProblem) -> None:
    genes = vectors(problem, 2000)
    priced = problem.price(genes)
    small = priced.reason == Reason.LEVEL_TOO_SMALL
    assert priced.capacities.tolist() == [256, 3000]
    assert (priced.violation.any(axis=1) == small).all()
    assert (priced.cycles[small] > 0).all()
    said = problem.explain(problem.space.decode(genes)[int(np.argmax(small))])
    assert "needs" in said and "words" in said  # noqa: PT018
    wide = priced.reason == Reason.TOO_WIDE
    assert wide.any()
    assert "spreads over" in problem.explain(problem.space.decode(genes)[int(np.argmax(wide))])


def test_many_points_cost_what_they_cost_alone(
    problem: MachineProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = np.random.default_rng(4).integers(0, problem.space.sizes, size=(20, len(problem.space.sizes)))
    whole = problem.price(points).columns()
    monkeypatch.setattr("dse.domains.levels.problem.AT_ONCE", 6)
    for name, column in problem.price(points).columns().items():
        assert np.array_equal(column, whole[name])
    assert len(problem.price(points[:0])) == 0


def test_a_problem_travels_and_comes_back_from_its_identity(problem: MachineProblem) -> None:
    again = pickle.loads(pickle.dumps(problem))
    assert again.fingerprint == problem.fingerprint
    plain = json.loads(json.dumps(problem.identity))
    machine = hardware_from_dict(plain["accelerator"], "timeloop")
    assert machine == problem.accelerator
    assert make_problem(LAYER, machine, "edp", "timeloop").fingerprint == problem.fingerprint
    assert make_problem(LAYER, machine, "latency", "timeloop").fingerprint != problem.fingerprint


def test_a_product_of_powers_is_minimised_on_a_machine_of_levels_too(chip: str) -> None:
    layer = replace(LAYER, K=8, Y=7, X=7, C=4)
    edp, product = (make_problem(layer, chip, one, "timeloop") for one in ("edp", "latency^2 * energy"))
    genes = edp.space.sample(np.random.default_rng(0), 300)
    costs, cubed = edp.price(genes), product.price(genes)
    seconds = costs.cycles / edp.accelerator.hertz
    np.testing.assert_allclose(cubed.loss, costs.loss * seconds, rtol=1e-14)
    assert np.isfinite(cubed.loss).any()
    proven = certify(product, cache=False)
    assert proven.status == "optimal"
    assert proven.best is not None
    assert proven.best.loss <= cubed.loss.min()
    steep = make_problem(LAYER, chip, "latency^8 * energy", "timeloop")
    with pytest.raises(InputError, match="exponents that add up to at most 8 can be certified, got 9"):
        certify(steep, cache=False)


def test_what_cannot_be_a_problem_is_said_in_a_line(chip: str) -> None:
    with pytest.raises(InputError, match="objective 'area' has no figures under cost model 'timeloop'"):
        make_problem(LAYER, chip, "area", "timeloop")
    with pytest.raises(InputError, match="which says nothing of power; expected latency or energy"):
        make_problem(LAYER, chip, "energy * power", "timeloop")
    with pytest.raises(InputError, match="unknown tiles 'some'"):
        make_problem(LAYER, chip, "edp", "timeloop", tiles="some")
    with pytest.raises(InputError, match="is a machine of levels, for a cost model of such machines"):
        make_problem(LAYER, chip, "edp", "loopnest")
    with pytest.raises(InputError, match="unknown machine 'chop'"):
        make_problem(LAYER, "chop", "edp", "timeloop")
    of_two = {"outer": {}, "cluster_size": 1, "inner": {}}
    with pytest.raises(InputError, match="is one of a machine of two levels"):
        make_problem(LAYER, chip, "edp", "timeloop").read_mapping(of_two)
    with pytest.raises(InputError, match="must read NAME=VALUE"):
        domain_named("levels").parse_fixed(["Buffer.keep"], "default")
    with pytest.raises(InputError, match="is fixed twice"):
        domain_named("levels").parse_fixed(["Buffer.keep=I", "Buffer.keep=W"], "default")


def test_a_wrong_constraint_of_a_product_is_said_with_the_names_of_its_dims(chip: str) -> None:
    with pytest.raises(InputError, match=r"unknown dim 'M' .*: M is P, N is K, K is C\)$"):
        make_problem(Layer.gemm(4, 6, 8), chip, "edp", "timeloop", fixed={"DRAM.temporal.M": 2})


def test_a_search_a_mapping_and_the_space_go_through_the_commands(
    chip: str, tmp_path: Path, dse: Dse
) -> None:
    where = ["--layer", "resnet18:6", "--accelerator", chip, "--cost-model", "timeloop"]
    fixed = ["--fix", "Buffer.keep=IO", "--fix", "Buffer.stationary=W"]
    options = ["--objective", "edp", "--searcher", "random", "--budget", "60", "--out", str(tmp_path / "out")]
    result = dse("search", *where, *fixed, *options, "--json").json
    assert result["infeasible"] == 0
    priced = dse("evaluate", *where, "--mapping", str(tmp_path / "out" / "mapping.json"), "--json")
    again = json.loads(priced.out)
    assert again["feasible"] is True
    assert again["loss"]["edp"] == result["best"]["loss"]
    assert set(again["counts"]) == {"DRAM", "Buffer", "Tile", "Sums", "Register"}
    text = dse("evaluate", *where, "--mapping", str(tmp_path / "out" / "mapping.json")).out
    assert "Buffer holds" in text
    assert "mapping L4[WIO]" in text
    space = json.loads(dse("space", *where, "--json").out)
    assert {"DRAM.temporal.K", "Buffer.keep.W", "DRAM.order"} <= {gene["name"] for gene in space["genes"]}


def test_from_python_a_search_has_a_best_mapping_and_a_history(problem: MachineProblem) -> None:
    result = search(problem, "genetic", budget=80)
    assert isinstance(result.best.mapping, HierarchyMapping)
    assert HierarchyMapping.parse(result.best.mapping.text()) == result.best.mapping
    assert set(result.history.columns) > {gene.name for gene in problem.space.genes}
    assert "Buffer" in result._repr_html_()


def test_the_breakdown_by_level_and_tensor_adds_up_to_the_figures(problem: MachineProblem) -> None:
    genes = vectors(problem)
    priced = problem.price(genes)
    mappings = problem.space.decode(genes)
    bounds = set()
    for place in np.flatnonzero(priced.reason == 0)[:40].tolist():
        judged = problem.judge(mappings[place])
        found, figures = judged.to_dict()["breakdown"], judged.figures
        assert sum(found["energy_nj"].values()) == pytest.approx(figures["energy_nj"], rel=1e-12)
        assert max(found["cycles"].values()) == found["cycles"][found["bound"]] == figures["cycles"]
        bounds.add(found["bound"])
        for level, words in found["words"].items():
            kept, counts = found["tensors"][level], figures["counts"][level]
            assert found["buffers"][level] == {name: held["tile"] for name, held in counts.items()}
            for kind, moved in words.items():
                assert moved == sum(tensor[kind] for tensor in kept.values())
                assert moved == sum(held[kind] * held["instances"] for held in counts.values())
            leak = found["leakage_nj"].get(level, 0.0)
            parts = sum(tensor["energy_nj"] for tensor in kept.values()) + leak
            assert parts == pytest.approx(found["energy_nj"][level], rel=1e-12)
    assert {"compute", "DRAM"} <= bounds


def test_leakage_is_what_remains_of_a_levels_energy() -> None:
    problem = make_problem(LAYER, "simba_like", "edp", "timeloop")
    genes = problem.space.sample(np.random.default_rng(0), 200)
    place = int(np.argmax(problem.price(genes).reason == 0))
    found = problem.judge(problem.space.decode(genes)[place]).to_dict()["breakdown"]
    assert set(found["leakage_nj"]) == {
        "GlobalBuffer",
        "PEInputBuffer",
        "PEWeightBuffer",
        "PEAccuBuffer",
        "PEWeightRegs",
    }
    for level, leak in found["leakage_nj"].items():
        parts = sum(tensor["energy_nj"] for tensor in found["tensors"].get(level, {}).values())
        assert leak > 0
        assert parts + leak == pytest.approx(found["energy_nj"][level], rel=1e-12)


def test_a_mapping_that_does_not_fit_has_a_reason_and_no_breakdown(problem: MachineProblem) -> None:
    genes = vectors(problem, 2000)
    small = int(np.argmax(problem.price(genes).reason == Reason.LEVEL_TOO_SMALL))
    judged = problem.judge(problem.space.decode(genes)[small])
    assert "words" in str(judged.reason)
    assert judged.to_dict()["breakdown"] is None


@pytest.mark.parametrize("command", ["evaluate", "certify", "search"])
def test_commands_show_energy_and_words_by_level_beside_the_nest(
    command: str, chip: str, tmp_path: Path, dse: Dse
) -> None:
    where = ["--layer", "examples/network.toml:classifier", "--accelerator", chip, "--cost-model", "timeloop"]
    (tmp_path / "mapping.txt").write_text("L4[WIO] K3 - L3[IO] C8X - L2[W] K4X - L1[O] C8 - L0[W]")
    options = {
        "evaluate": ["--mapping", str(tmp_path / "mapping.txt")],
        "certify": ["--time-limit", "60", "--fresh"],
        "search": ["--searcher", "random", "--budget", "40"],
    }[command]
    found = dse(command, *where, *options, "--json").json
    parts = (found if command == "evaluate" else found["best"])["breakdown"]
    assert set(parts["energy_nj"]) == {"DRAM", "Buffer", "Tile", "Sums", "Register", "MACs"}
    assert set(parts["words"]["Buffer"]) == {"reads", "fills", "updates"}
    shown = dse(command, *where, *options).out
    assert "where the energy goes" in shown
    sums = f"  Sums {' '.join(map('{:,}'.format, parts['words']['Sums'].values()))}"
    assert sums.split() in [line.split() for line in shown.splitlines()]
    assert "Buffer holds" in shown
    assert "words moved by all instances" not in shown
    assert "words moved by all instances" in dse(command, *where, *options, "--detail").out


def test_detail_is_shown_of_two_levels_where_it_is_asked_for(dse: Dse) -> None:
    where = ("--layer", "resnet18:3", "--accelerator", "edge", "--searcher", "random", "--budget", "20")
    assert "where the energy goes" not in dse("search", *where).out
    assert "waiting for DRAM" in dse("search", *where, "--detail").out
    found = dse("search", *where, "--detail", "--json").json["best"]
    assert sum(found["breakdown"]["energy_nj"].values()) == pytest.approx(found["energy_nj"])
    assert "breakdown" not in dse("search", *where, "--json").json["best"]
    quiet = dse("search", *where, "--cost-model", "maestro", "--detail").out
    assert "cost model 'maestro' does not say where they go" in quiet
    network = ("--network", "resnet18", "--accelerator", "edge", "--detail")
    assert "--detail is of one layer" in dse("search", *network).refused()
    assert "--detail is of one layer" in dse("certify", *network).refused()


def test_a_dim_to_spread_that_no_layer_has_is_said_with_its_level(dse: Dse, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(CHIP.replace('spread = ["P", "K"]', 'spread = ["N", "K"]'))
    asked = ["space", "--layer", "resnet18:3", "--cost-model", "timeloop", "--accelerator"]
    (said,) = dse(*asked, str(tmp_path / "wrong.toml")).err.splitlines()
    assert said.startswith(
        "dse: warning: machine chip: level Tile: nothing is spread along N, which no layer"
    )
    (tmp_path / "right.toml").write_text(CHIP)
    assert dse(*asked, str(tmp_path / "right.toml")).err == ""
