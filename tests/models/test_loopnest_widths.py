"""Words of any width under `loopnest`: what they take, what they cost, and what is proven of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.core.widths import Widths
from dse.domains.clustered.accelerator import PRESETS, Accelerator, load_accelerator
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.solver import solve_problem
from dse.optimum import certify, verify
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.models.loopnest_cases import (
    MODEL,
    Case,
    against_the_reference,
    against_the_simulator,
    small_case,
)
from tests.optimum.any_cases import least_loss, random_problem
from tests.optimum.certify_cases import OF_WORK, brute_force
from tests.optimum.certify_cases import Case as SmallCase
from tests.optimum.certify_loopnest_cases import SMALL

MIXED = Widths(W=4, I=8, O=32)
PRODUCT = Layer.gemm(64, 48, 32, name="product", bits=MIXED)
EDGE = PRESETS["edge"]


def widths(rng: np.random.Generator) -> Widths:
    weights, inputs, outputs = (int(bits) for bits in rng.integers(1, 33, 3))
    return Widths(weights, inputs, outputs)


def test_bits_are_counted_as_the_executed_nest_moves_them() -> None:
    assert_bits_are_those_of_the_executed_nest(30)


def assert_bits_are_those_of_the_executed_nest(cases: int) -> None:
    rng = np.random.default_rng(8)
    for number in range(cases):
        case = small_case(rng, number * 13, dilated=number % 5 == 0)
        accelerator = replace(case.accelerator, word_bits=int(rng.integers(1, 17)), bits=widths(rng))
        wide = Case(replace(case.layer, bits=Widths(W=int(rng.integers(1, 9)))), accelerator, case.mapping)
        assert against_the_simulator(wide) == {}, wide
        assert against_the_reference(wide) == {}, wide


@pytest.mark.parametrize("case", [SMALL[place] for place in (2, 3)], ids=lambda case: case.name)
def test_the_optimum_of_words_of_mixed_widths_is_that_of_all_mappings(case: SmallCase) -> None:
    """Of two layers; `prove_loopnest_optima.py` has more, and more random ones."""
    assert_optimum_of_mixed_widths(case)


def assert_optimum_of_mixed_widths(case: SmallCase) -> None:
    machine = replace(case.machine, word_bits=8, bits=Widths(W=3, I=7))
    wide = replace(case, layer=replace(case.layer, bits=Widths(O=19)), machine=machine)
    best = brute_force(wide)
    for objective in OF_WORK:
        problem = wide.problem(objective)
        found = certify(problem, cache=False)
        assert found.lower_bound == best[objective][0], objective
        assert all(check.passed for check in verify(problem, found)), objective


def test_so_is_that_over_tiles_of_any_size() -> None:
    assert_optima_over_tiles_of_any_size(range(3))


def assert_optima_over_tiles_of_any_size(seeds: Iterable[int]) -> None:
    for seed in seeds:
        rng = np.random.default_rng(seed)
        plain = random_problem(rng, OF_WORK[seed % len(OF_WORK)], 6_000)
        machine = replace(plain.accelerator, word_bits=8, bits=widths(rng))
        problem = plain.with_changes(accelerator=machine)
        assert solve_problem(problem, threads=1).lower_bound == least_loss(problem), problem


def test_words_as_wide_as_elements_cost_what_elements_do() -> None:
    layer, rng = Layer("CONV", 12, 8, 14, 14, 3, 3, padding=(1, 1)), np.random.default_rng(5)
    plain = Problem(layer, EDGE, "edp", "loopnest")
    wide = plain.with_changes(accelerator=replace(EDGE, word_bits=8, bits=Widths(8, 8, 8)))
    genes = plain.space.sample(rng, 500)
    one, other = plain.price(genes), wide.price(genes)
    assert np.array_equal(one.cycles, other.cycles)
    assert np.array_equal(one.reason, other.reason)
    assert np.array_equal(8 * one.l2_size, other.l2_size)
    assert np.allclose(one.energy_nj, other.energy_nj, rtol=1e-12)
    assert np.array_equal(one.area, other.area)


def test_an_energy_follows_from_its_bits_by_hand() -> None:
    """One MAC: 4 + 8 bits come and 32 go, and 4 + 8 + 2 x 32 pass the L1 for the MAC itself."""
    machine = Accelerator(1, 100, 100, 1, 1, word_bits=16)
    problem = Problem(Layer.gemm(1, 1, 1, bits=MIXED), machine, "edp", "loopnest")
    [found] = problem.price(np.zeros((1, 13), np.int64)).energy_nj
    bits, mac = 4 + 8 + 32, 1.5 * (4 * 8) / 16**2
    accesses = (4 + 8 + 64 + bits) * 1.5 + bits * 3 + 2 * bits * 9 + bits * 300
    assert found == pytest.approx((mac + accesses / 16) * 1e-3)


def test_narrow_words_take_less_room_and_a_layers_own_win() -> None:
    machine = replace(EDGE, l2_size=400, l1_size=64, bits=Widths(W=16, I=16, O=16))
    least = {}
    for name, bits in (("machine", Widths()), ("layer", Widths(W=2, I=4, O=8))):
        problem = Problem(replace(PRODUCT, bits=bits), machine, "edp", "loopnest")
        least[name] = certify(problem, cache=False).lower_bound
    assert least["layer"] < least["machine"]
    assert problem.accelerator.l2_size == 6400
    assert problem.needs(problem.template("nvdla")).endswith("bits")
    assert problem.judge(problem.template("nvdla")).feasible


def test_a_machine_of_elements_is_the_problem_that_it_was(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    sizes = "num_pes = 256\nnoc_bandwidth = 32\noffchip_bandwidth = 8\n"
    file.write_text(sizes + "l1_size = 512\nl2_size = 131072\nword_bits = 8\n")
    plain = Problem(replace(PRODUCT, bits=Widths()), EDGE, "edp", "loopnest")
    told = plain.with_changes(accelerator=load_accelerator(file))
    assert told.fingerprint == plain.fingerprint
    wide = told.with_changes(layer=PRODUCT)
    assert len({plain.fingerprint, wide.fingerprint}) == 2
    assert Accelerator.from_dict(wide.accelerator.to_dict()).of_widths(Widths()) == wide.accelerator
    octets = {"l1_bytes": 32, "l2_bytes": 64, "noc_bytes": 8, "offchip_bytes": 4}
    found = Accelerator.from_dict({"num_pes": 1, "word_bits": 32, **octets})
    assert found == Accelerator(1, 8, 16, 2, 1, word_bits=32)


def test_open_sizes_and_bandwidths_are_of_each_row_and_in_elements_for_the_user() -> None:
    opened = {"l1_size": [16, 64], "l2_size": [4096, 65536], "noc_bandwidth": [8, 32], "num_pes": [64, 256]}
    problem = Problem(PRODUCT, replace(EDGE, word_bits=8), "edp", MODEL, space={"hardware": opened})
    genes = problem.space.sample(np.random.default_rng(0), 60)
    found, mappings, machines = problem.price(genes), problem.space.decode(genes), set()
    for place, row in enumerate(genes):
        machine = Accelerator.from_dict(problem.on_machine_of(row).accelerator.to_dict())
        assert all(getattr(machine, name) in values for name, values in opened.items())
        alone = Problem(PRODUCT, machine, "edp", MODEL).evaluate(mappings[place])
        assert (alone.loss[0], alone.reason[0]) == (found.loss[place], found.reason[place])
        machines.add(problem.hardware_of(row))
    assert len(machines) > 8
    assert {"num_pes 64, l1_size 16", "num_pes 256, l1_size 64"} <= {
        text.partition(", l2_size")[0] for text in machines
    }
    bound = certify(problem, cache=False)
    assert bound.best is not None
    assert bound.lower_bound <= bound.best.loss <= found.loss.min()


def test_what_counts_elements_refuses_widths() -> None:
    with pytest.raises(InputError, match="elements of one width, and words have W 4, I 8, O 32 bits"):
        Problem(PRODUCT, EDGE, "edp", "maestro")
    with pytest.raises(InputError, match="noc_bytes must move whole elements of 16 bits, got 3"):
        Accelerator.from_dict(
            {
                "num_pes": 1,
                "l1_size": 8,
                "l2_size": 8,
                "noc_bytes": 3,
                "offchip_bandwidth": 1,
                "word_bits": 16,
            }
        )


def test_a_case_says_the_widths_and_costs_the_same(dse: Dse, tmp_path: Path) -> None:
    problem = Problem(PRODUCT, EDGE, "edp", "loopnest")
    mapping, file = problem.template("nvdla"), tmp_path / "cases.jsonl"
    case = problem.case(mapping)
    assert (case["layer"]["bits"], case["hardware"]["word_bits"]) == (MIXED.to_dict(), 16)
    file.write_text(json.dumps(case) + "\n")
    run = dse("evaluate", "--cases", str(file), "--cost-model", "loopnest", "--json")
    [one], there = [json.loads(line) for line in run.out.splitlines()], problem.evaluate(mapping)
    assert (one["cycles"], one["energy_nj"]) == (there.cycles[0], there.energy_nj[0])
    assert (one["l2_size"], one["area"]) == (there.l2_size[0], there.area[0])
    refused = dse("evaluate", "--cases", str(file), "--cost-model", "maestro", "--json")
    assert "elements of one width" in refused.err


def test_a_decoded_product_is_proven_and_verified_in_bits(dse: Dse) -> None:
    layer = "llama3-8b@decode=1,kv=2048,w=4,i=8,o=32:q_proj"
    options = ("--objective", "edp", "--tiles", "factors", "--verify", "--json")
    found = dse("certify", "--layer", layer, "--accelerator", "edge", *options).json
    assert found["status"] == "optimal"
    assert all(check["passed"] for check in found["verified"])
    assert MODEL.prices_widths
