"""Words of any width on machines of levels: what they take, what they cost, and what is proven of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.core.domains import hardware_from_dict, make_problem
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.core.widths import Widths
from dse.domains.levels.machine import Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop import reference
from dse.models.timeloop.presets import load_machine
from dse.optimum import certify, verify
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.domains.levels.proof.test_certify_machines import LAYERS, MAX, least, random_machine

PRODUCT = Layer.gemm(64, 48, 32, name="product")
CHIP = """
name = "chip"
mac_pj = 1.6
word_bits = 16
bits = {W = 4, I = 8, O = 32}
[[levels]]
name = "DRAM"
bandwidth_bytes = 4
block = 4
access_pj = 80
[[levels]]
name = "Buffer"
size_bytes = 1024
access_pj = 2
keeps = ["W", "I", "O"]
fan_out = 4
"""


@pytest.fixture
def chip(tmp_path: Path) -> str:
    path = tmp_path / "chip.toml"
    path.write_text(CHIP)
    return str(path)


def with_widths(machine: Machine, rng: np.random.Generator) -> Machine:
    """The machine with widths of its own, and levels whose words are of any."""
    levels = tuple(replace(level, word_bits=int(rng.choice([2, 3, 8]))) for level in machine.levels)
    widths = Widths(int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(4, 20)))
    return replace(machine, levels=levels, word_bits=4, widths=widths)


def test_the_optimum_of_words_of_mixed_widths_is_that_of_all_mappings() -> None:
    """Of five machines; `prove_widths.py` has more."""
    assert count_proven(5) > 0


def count_proven(machines: int) -> int:
    """On how many of so many random machines there is an optimum: it is that of all mappings on each."""
    rng, proven = np.random.default_rng(3), 0
    for number in range(machines):
        layer, objective = LAYERS[number % len(LAYERS)], ("edp", "latency", "energy")[number % 3]
        problem = MachineProblem(layer, with_widths(random_machine(rng), rng), objective, "timeloop")
        if problem.space.vectors > MAX:
            continue
        found = certify(problem, cache=False)
        assert found.lower_bound == least(problem), (number, layer, problem.accelerator)
        assert all(check.passed for check in verify(problem, found))
        proven += found.best is not None
    return proven


def test_batches_cost_what_the_rules_say_and_are_infeasible_where_a_level_is_too_small() -> None:
    rng, seen = np.random.default_rng(4), set()
    for number in range(12):
        machine = with_widths(random_machine(rng), rng)
        problem = MachineProblem(LAYERS[number % len(LAYERS)], machine, "edp", "timeloop")
        genes = rng.integers(0, problem.space.sizes, size=(40, len(problem.space.sizes)))
        priced, mappings = problem.price(genes), problem.space.decode(genes)
        for place in range(len(genes)):
            costs = reference.evaluate_mapping(problem.space.workload, problem.accelerator, mappings[place])
            fits = isinstance(costs, reference.Costs)
            assert fits == (priced.reason[place] == 0)
            if fits:
                assert priced.cycles[place] == costs.cycles
                assert priced.energy_nj[place] == costs.energy_pj * 1e-3
            seen.add(Reason(int(priced.reason[place])))
    assert {Reason.FEASIBLE, Reason.LEVEL_TOO_SMALL} <= seen


def test_words_as_wide_as_those_of_the_levels_cost_what_elements_cost() -> None:
    machine = load_machine("eyeriss_like")
    wide = replace(machine, widths=Widths(8, 8, 8))
    one, other = (MachineProblem(PRODUCT, given, "edp", "timeloop") for given in (machine, wide))
    genes = one.space.sample(np.random.default_rng(0), 200)
    assert np.array_equal(one.price(genes).cycles, other.price(genes).cycles)
    np.testing.assert_allclose(one.price(genes).energy_nj, other.price(genes).energy_nj, rtol=1e-13)
    assert one.fingerprint != other.fingerprint


def test_the_figures_of_a_mapping_follow_from_its_bits(chip: str) -> None:
    problem = make_problem(PRODUCT, chip, "edp", "timeloop")
    mapping = problem.read_mapping(
        [
            {"keep": ["W", "I", "O"], "temporal": [["P", 4], ["K", 4]], "spatial": []},
            {"keep": ["W", "I", "O"], "temporal": [["C", 32], ["P", 16], ["K", 12]], "spatial": []},
        ]
    )
    found = problem.judge(mapping)
    held = {"W": 12 * 32 * 4, "I": 16 * 32 * 8, "O": 16 * 12 * 32}
    assert not found.feasible
    assert found.reason == f"Buffer needs {sum(held.values())} of 8192 bits"

    # Tiles half as high do fit. Weights come for each of 8 x 4 tiles, inputs for each of 8, sums once.
    mapping = problem.read_mapping(
        [
            {"keep": ["W", "I", "O"], "temporal": [["P", 8], ["K", 6]], "spatial": []},
            {"keep": ["W", "I", "O"], "temporal": [["C", 32], ["P", 8], ["K", 8]], "spatial": []},
        ]
    )
    found = problem.judge(mapping)
    assert found.feasible
    use = found.breakdown.levels["Buffer"]
    assert (use.needed, use.capacity) == (8 * 32 * 4 + 8 * 32 * 8 + 8 * 8 * 32, 8192)
    macs = 64 * 48 * 32
    down = {"W": 8 * 48 * 32 * 4, "I": 64 * 32 * 8}
    up = 64 * 48 * 32
    assert found.figures["cycles"] == max(macs, (sum(down.values()) + up) // 32)
    dram = sum(bits // 64 for bits in (*down.values(), up)) * 80
    mac = macs * 1.6 * (4 * 8) / 16**2
    inside = [macs * 4, macs * 8, *down.values(), 2 * macs * 32 - 64 * 48 * 32]
    assert found.figures["energy_nj"] == pytest.approx(1e-3 * (dram + mac + sum(inside) / 16 * 2), rel=1e-12)


def test_narrower_words_are_never_worse(chip: str) -> None:
    wide, narrow = (
        certify(make_problem(replace(PRODUCT, bits=bits), chip, "edp", "timeloop"), cache=False)
        for bits in ({}, {"O": 16})
    )
    assert narrow.lower_bound < wide.lower_bound


def test_the_widths_of_a_layer_win_over_those_of_the_machine(chip: str) -> None:
    own = replace(PRODUCT, bits={"W": 16, "O": 8})
    problem = make_problem(own, chip, "edp", "timeloop")
    assert problem.accelerator.bits == {"W": 16, "I": 8, "O": 8}
    assert problem.accelerator.mac_pj == 1.6 * 16 * 8 / 16**2
    assert own != PRODUCT
    assert Layer.from_dict(own.to_dict()) == own
    assert problem.fingerprint != make_problem(PRODUCT, chip, "edp", "timeloop").fingerprint


def test_a_problem_is_made_again_of_its_identity(chip: str) -> None:
    problem = make_problem(replace(PRODUCT, bits={"O": 24}), chip, "edp", "timeloop")
    written = problem.identity
    again = MachineProblem(
        Layer.from_dict(written["layer"]), hardware_from_dict(written["accelerator"], "timeloop"), "edp"
    )
    assert again.fingerprint == problem.fingerprint
    assert again.accelerator == problem.accelerator


def test_a_machine_without_widths_says_nothing_of_bits() -> None:
    problem = MachineProblem(PRODUCT, load_machine("gemmini"), "edp", "timeloop")
    assert "bits" not in str(problem.identity)
    assert problem.accelerator.unit == "words"


def test_sizes_that_are_open_count_words_of_the_level(chip: str) -> None:
    opened = {"hardware": {"levels": {"Buffer": {"size": [256, 512]}}}}
    problem = MachineProblem(PRODUCT, load_machine(chip), "edp", "timeloop", parts=opened)
    genes = problem.space.sample(np.random.default_rng(0), 50)
    capacities = problem.price(genes).capacities
    assert set(capacities.ravel().tolist()) == {256 * 16, 512 * 16}
    chosen = problem.on_machine_of(genes[0])
    assert chosen.accelerator.to_dict()["levels"][1]["size"] in (256, 512)


def test_a_case_of_mixed_widths_costs_the_same(chip: str, tmp_path: Path, dse: Dse) -> None:
    problem = make_problem(PRODUCT, chip, "edp", "timeloop")
    best = certify(problem, cache=False).best
    assert best is not None
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(problem.case(best.mapping)) + "\n")
    (found,) = dse("evaluate", "--cases", str(path), "--cost-model", "timeloop", "--json").lines
    assert found["cycles"] == best.cycles
    assert found["energy_uj"] == pytest.approx(best.energy_nj * 1e-3, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("W = 4", "Q = 4"), "unknown tensor 'Q' in bits; expected one of W, I, O"),
        (("W = 4", "W = 0"), "bits.W must be at least 1, got 0"),
        (("W = 4", "W = 1.5"), "bits.W must be a whole number, got 1.5"),
        (("bits = {W = 4, I = 8, O = 32}", "bits = 4"), "bits must be a table such as"),
        (("bandwidth_bytes = 4", "bandwidth_bytes = 4\nbandwidth = 2"), "are both there"),
    ],
)
def test_what_is_wrong_with_widths_is_said_in_a_line(
    chip: str, dse: Dse, change: tuple[str, str], line: str
) -> None:
    Path(chip).write_text(CHIP.replace(*change))
    options = ("--layer", "resnet18:1", "--accelerator", chip, "--cost-model", "timeloop")
    assert line in dse("certify", *options).refused()


def test_what_knows_one_width_refuses_words_of_others(chip: str, tmp_path: Path, dse: Dse) -> None:
    layer = ("--layer", "llama3-8b@decode=1,w=4,i=8,o=32,keys=6:scores")
    refused = dse("certify", *layer, "--accelerator", "edge", "--cost-model", "maestro").refused()
    assert "elements of one width, and words have W 6, I 8, O 32 bits" in refused
    problem = make_problem(PRODUCT, chip, "edp", "timeloop")
    mapping = problem.space.decode(problem.space.sample(np.random.default_rng(0), 1))[0]
    with pytest.raises(InputError, match=r"format timeloop, .* not W 4, I 8, O 32 bits"):
        problem.export("timeloop", mapping, tmp_path)
    assert "bits = " in problem.nest(mapping)
