"""Tiles that do not divide: what mappings of them cost, by closed forms and by walking every loop."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dse import make_problem
from dse.core.layer import Layer
from dse.domains.levels.machine import TENSORS, Energy, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping, read_mapping
from dse.domains.levels.space.chains import lengths_of_any
from dse.domains.levels.tiles import has_ragged_tiles, lengths_of
from dse.domains.levels.uneven import with_nests
from dse.domains.levels.workload import Workload, workload_of
from dse.models.timeloop import layout_of, prepared_prices, reference
from dse.models.timeloop.faults import Fault
from dse.models.timeloop.ragged import RaggedNest
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.domains.levels.test_uneven import open_levels
from tests.domains.levels.walk_ragged import RaggedWalk
from workloads import load_layer

LAYERS = [
    Layer("CONV", 3, 2, 7, 4, 3, 2),
    Layer("CONV", 5, 3, 9, 3, 3, 3, stride=2),
    Layer("DSCONV", 1, 5, 6, 5, 3, 2),
    Layer.gemm(7, 5, 6),
]


def random_mapping(rng: np.random.Generator, workload: Workload, machine: Machine) -> HierarchyMapping:
    """Any tiles at all levels, any order, any tensors kept where they may be."""
    levels = len(machine.levels)
    loops: list[list[list[tuple[str, int, int]]]] = [[[], []] for _ in range(levels)]
    for dim, size in workload.dims:
        above = size
        slots = [(at, kind) for at in range(levels) for kind in (0, 1)]
        for number, (at, kind) in enumerate(slots):
            wide = machine.levels[at].fan_out
            for _, n, _ in loops[at][1]:
                wide //= n
            least = -(-above // wide) if kind else 1
            tile = int(rng.integers(least, above + 1)) if rng.random() < 0.7 else above
            if slots[number + 1 :] == [(levels - 1, 1)]:
                tile = 1
            if kind and machine.levels[at].spread is not None and dim not in machine.levels[at].spread:
                tile = above
            if tile < above:
                loops[at][kind].append((dim, -(-above // tile), tile))
            above = tile
    made = []
    for at in range(levels):
        kept = tuple(
            name
            for name in workload.tensor_names
            if at == 0
            or name in machine.levels[at].keeps
            or (name in (machine.levels[at].may_keep or ()) and rng.random() < 0.5)
        )
        temporal = [loops[at][0][place] for place in rng.permutation(len(loops[at][0]))]
        kinds = (temporal, loops[at][1])
        counts = (tuple((dim, n) for dim, n, _ in kind) for kind in kinds)
        tiles = (tuple((dim, tile) for dim, _, tile in kind) for kind in kinds)
        made.append(LevelMapping(kept, *counts, *tiles))
    return HierarchyMapping(tuple(made))


def test_the_closed_forms_count_what_a_walk_of_all_instances_counts() -> None:
    rng, seen = np.random.default_rng(8), 0
    for number in range(30):
        workload, machine = workload_of(LAYERS[number % len(LAYERS)]), open_levels(rng)
        mapping = random_mapping(rng, workload, machine)
        costs = reference.evaluate_mapping(workload, machine.unlimited, mapping)
        assert isinstance(costs, reference.Costs), (costs, mapping.text())
        if not has_ragged_tiles(workload, mapping):
            continue
        walked = RaggedWalk(workload, machine, mapping)
        nest = RaggedNest(workload, machine, mapping)
        assert nest.steps == walked.steps()
        for place, level in enumerate(machine.levels):
            for tensor in workload.tensors:
                if tensor.name not in mapping.levels[place].keep:
                    continue
                counts, each = costs.counts[level.name][tensor.name], walked.counted(tensor, place)
                where = (number, mapping.text(), level.name, tensor.name)
                assert (counts.reads, counts.fills, counts.updates) == each[0], where
                assert counts.everywhere == tuple(np.sum(each, axis=0).tolist()), where
                assert counts.instances == len(each), where
                assert np.max(each, axis=0).tolist() == list(each[0]), where
        seen += 1
    assert seen > 20


PRODUCT = {"type": "gemm", "dims": {"M": 1, "K": 1, "N": 100}}
CHIP = {
    "name": "chip",
    "macs": 16,
    "mac_pj": 1.0,
    "levels": [
        {"name": "DRAM", "instances": 1, "block": 1, "read_pj": 1, "write_pj": 1, "update_pj": 1},
        {"name": "Buffer", "instances": 1, "block": 1, "read_pj": 1, "write_pj": 1, "update_pj": 1},
    ],
}


def test_a_last_tile_that_is_shorter_is_counted_by_hand() -> None:
    workload = workload_of(Layer.gemm(100, 1, 1))
    machine = Machine(
        "chip",
        (
            Level("DRAM", keeps=TENSORS),
            Level("Buffer", 97, keeps=TENSORS, fan_out=16, energy=Energy.of_any(1)),
        ),
        1.0,
    )
    # Three tiles of 48, 48 and 4; 16 at a time: in 3 + 3 + 1 steps.
    (dim,) = [name for name, size in workload.dims if size == 100]
    mapping = HierarchyMapping.parse(f"L1[WIO] {dim}3:48 - L0[WIO] {dim}3:16 {dim}16:1X")
    assert lengths_of(mapping, dim, 100) == [48, 48, 16, 1]
    costs = reference.evaluate_mapping(workload, machine, mapping)
    assert isinstance(costs, reference.Costs), costs
    assert costs.cycles == 7
    counts = costs.counts["Buffer"]
    moving = [name for name in "WIO" if counts[name].tile == 48]
    assert len(moving) == 2
    assert counts["O"].fills == 0
    buffer = Level("Buffer", 96, keeps=TENSORS, fan_out=16)
    small = reference.evaluate_mapping(workload, Machine("small", (machine.levels[0], buffer), 1.0), mapping)
    assert isinstance(small, reference.NotPriced)
    assert small.reason == "Buffer: needs 97 of 96 words"


def test_lengths_are_in_a_mappings_line_and_in_its_json() -> None:
    text = "L1[WIO] K3:34 P4 - L0[O] K9:4 K4:1X"
    mapping = HierarchyMapping.parse(text)
    assert mapping.is_ragged
    assert mapping.text() == text
    assert read_mapping(json.loads(mapping.to_json())["levels"], "KP", "WIO", "mapping") == mapping
    assert not HierarchyMapping.parse("L1[WIO] K3 - L0[O] K4X").is_ragged
    with pytest.raises(InputError, match="'K3:' is no loop"):
        HierarchyMapping.parse("L0[O] K3:")


def test_lengths_that_divide_cost_what_the_factors_cost() -> None:
    workload = workload_of(Layer("CONV", 12, 8, 6, 1, 1, 1))
    machine = Machine("two", (Level("DRAM", keeps=TENSORS), Level("Buffer", keeps=TENSORS)), 1.0)
    plain = HierarchyMapping.parse("L1[WIO] K3 C4 - L0[WIO] K4 C2 P6")
    said = HierarchyMapping.parse("L1[WIO] K3:4 C4:2 - L0[WIO] K4:1 C2:1 P6:1")
    assert not has_ragged_tiles(workload, said)
    costs = reference.evaluate_mapping(workload, machine, said)
    assert isinstance(costs, reference.Costs)
    assert costs == reference.evaluate_mapping(workload, machine, plain)


def test_cases_have_tiles_that_do_not_divide(tmp_path: Path, dse: Dse) -> None:
    def line(tile: int) -> str:
        mapping = [
            {"keep": ["W", "I", "O"], "temporal": [["N", 3, tile]], "spatial": []},
            {"keep": ["W", "I", "O"], "temporal": [["N", tile, 1]], "spatial": []},
        ]
        return json.dumps({"layer": PRODUCT, "hardware": CHIP, "mapping": mapping})

    file = tmp_path / "cases.jsonl"
    file.write_text(f"{line(48)}\n{line(20)}\n")
    asked = ("evaluate", "--cases", str(file), "--cost-model", "timeloop", "--json", "--detail")
    first, second = (json.loads(one) for one in dse(*asked).out.splitlines())
    assert (first["status"], first["cycles"]) == ("ok", 100)
    assert first["counts"]["Buffer"]["W"]["everywhere"] == [100, 100, 0]
    assert second["reason"] == "the factors of N must be at least 1 and multiply to 100"


def test_the_kernel_prices_rows_with_lengths_as_the_reference_does() -> None:
    rng, seen = np.random.default_rng(3), 0
    for number in range(24):
        workload, machine = workload_of(LAYERS[number % len(LAYERS)]), open_levels(rng)
        machine = with_nests(machine, "uneven") if number % 3 == 2 else machine
        machine = machine if number % 2 else machine.unlimited
        mappings = [random_mapping(rng, workload, machine) for _ in range(4)]
        layout = layout_of(workload, machine, any_tiles=True)
        rows = layout.encode(mappings)
        assert [layout.encode([layout.decode(row)])[0].tolist() for row in rows] == rows.tolist()
        priced = prepared_prices(workload, machine)(rows, counts=True)
        for place, mapping in enumerate(mappings):
            costs = reference.evaluate_mapping(workload, machine, mapping)
            assert bool(priced.fault[place]) == isinstance(costs, reference.NotPriced), costs
            if isinstance(costs, reference.NotPriced):
                assert priced.fault[place] == costs.fault
                if costs.fault == Fault.CAPACITY:
                    assert (priced.where[place], priced.need[place]) == (costs.where, costs.need)
                continue
            seen += 1
            assert priced.cycles[place] == costs.cycles
            assert priced.energy_pj[place] == costs.energy_pj
            for at, level in enumerate(machine.levels):
                for tensor, one in costs.counts.get(level.name, {}).items():
                    found = priced.counts[place, at, workload.tensor_names.index(tensor)].tolist()
                    assert found == [one.reads, one.fills, one.updates]
    assert seen > 30


def test_rows_with_lengths_that_divide_are_priced_by_their_factors() -> None:
    layer = load_layer("alexnet:conv3")
    even = make_problem(layer, "simba_like", "edp", "timeloop")
    wide = make_problem(layer, "simba_like", "edp", "timeloop", tiles="any")
    genes = even.space.sample(np.random.default_rng(5), 64)
    mappings = [even.space.decode(genes)[place] for place in range(64)]
    vectors = wide.space.encode(mappings)
    assert wide.price(vectors).loss.tolist() == even.price(genes).loss.tolist()
    assert [wide.space.decode(vectors)[place] for place in range(64)] == mappings


def test_a_space_of_any_tiles_has_vectors_mappings_and_moves_of_its_own() -> None:
    problem = make_problem(load_layer("alexnet:conv1"), "eyeriss_like", "edp", "timeloop", tiles="any")
    space, rng = problem.space, np.random.default_rng(2)
    genes = space.sample(rng, 40)
    batch = space.decode(genes)
    assert space.layout.are_ragged(batch.rows).mean() > 0.9
    assert space.fits(batch.rows).all()
    assert (space.encode(batch) == space.canonical(genes)).all()
    again = space.decode(space.encode([batch[place] for place in range(40)]))
    assert [again[place] for place in range(40)] == [batch[place] for place in range(40)]
    near = space.neighbour(rng, genes)
    assert space.contains(near).all()
    assert (near != space.canonical(genes)).any(axis=1).all()
    here = space.canonical(genes[:1])[0]
    for block in space.blocks:
        found = block.neighbours(here)
        assert len(np.unique(found, axis=0)) == len(found)
        assert not (found == here).all(axis=1).any()
        assert (space.canonical(found)[:, block.genes] == found[:, block.genes]).all()
    first = space.decode(genes)[0]
    costs = reference.evaluate_mapping(space.workload, problem.accelerator, first)
    assert isinstance(costs, reference.Costs)
    assert costs.cycles == problem.evaluate(first).cycles[0]
    assert "the last of" in problem.nest(first)


def test_lengths_of_any_tiles_are_all_or_those_that_waste_least() -> None:
    assert lengths_of_any(7, (4,)) == (1, 2, 3, 4, 5, 6, 7)
    found = lengths_of_any(100, (16,))
    assert {100, 50, 34, 25, 48, 64, 32, 16} <= set(found)
    assert 47 not in found
    assert {one for one in range(1, 4097) if 4096 % one == 0} <= set(lengths_of_any(4096, (14, 12)))


def test_a_search_finds_tiles_that_do_not_divide_and_writes_them_to_a_file(tmp_path: Path, dse: Dse) -> None:
    given = ("--layer", "alexnet:conv3", "--accelerator", "gemmini", "--cost-model", "timeloop")
    asked = ("--searcher", "genetic", "--budget", "300", "--tiles", "any", "--objective", "latency")
    out = tmp_path / "found"
    assert dse("search", *given, *asked, "--format", "json", "--out", str(out)).code == 0
    mapping = next(out.rglob("mapping.json"))
    assert ":" in json.dumps(json.loads(mapping.read_text()))
    assert dse("evaluate", *given, "--mapping", str(mapping), "--json").json["status"] == "ok"
    assert "tiles any" in dse("space", *given, "--tiles", "any").out
    for kind in ("timeloop", "zigzag"):
        said = dse(
            "search", *given, *asked, "--start", str(mapping), "--format", kind, "--out", f"{out}-{kind}"
        )
        assert f"format {kind} has no words for tiles that do not divide" in said.err
    refused = dse("search", *given, "--budget", "10", "--start", str(mapping))
    assert refused.code == 2
    assert refused.err.endswith("tiles have to divide here: leave lengths out, or say --tiles any\n")
