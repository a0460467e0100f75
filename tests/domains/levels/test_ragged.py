"""Tiles that do not divide: what mappings of them cost, by closed forms and by walking every loop."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.levels.machine import TENSORS, Energy, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping, read_mapping
from dse.domains.levels.tiles import has_ragged_tiles, lengths_of
from dse.domains.levels.workload import Workload, workload_of
from dse.models.timeloop import reference
from dse.models.timeloop.ragged import RaggedNest
from dse.models.timeloop.walk_ragged import RaggedWalk
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.domains.levels.test_uneven import open_levels

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
    for number in range(60):
        workload, machine = workload_of(LAYERS[number % len(LAYERS)]), open_levels(rng)
        mapping = random_mapping(rng, workload, machine)
        costs = reference.evaluate(workload, machine.unlimited, mapping)
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
    assert seen > 40


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
    costs = reference.evaluate(workload, machine, mapping)
    assert isinstance(costs, reference.Costs), costs
    assert costs.cycles == 7
    counts = costs.counts["Buffer"]
    moving = [name for name in "WIO" if counts[name].tile == 48]
    assert len(moving) == 2
    assert counts["O"].fills == 0
    buffer = Level("Buffer", 96, keeps=TENSORS, fan_out=16)
    small = reference.evaluate(workload, Machine("small", (machine.levels[0], buffer), 1.0), mapping)
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
    costs = reference.evaluate(workload, machine, said)
    assert isinstance(costs, reference.Costs)
    assert costs == reference.evaluate(workload, machine, plain)


def test_cases_have_tiles_that_do_not_divide_and_problems_refuse_them(tmp_path: Path, dse: Dse) -> None:
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
    given = ("--layer", "alexnet:fc8", "--accelerator", "edge", "--cost-model", "timeloop")
    mapping = tmp_path / "mapping.txt"
    mapping.write_text("L2[WIO] K3:400 - L1[WIO] K400:1 - L0[WIO] C4096")
    assert (
        "priced in lines of dse evaluate --cases only"
        in dse("evaluate", *given, "--mapping", str(mapping)).err
    )
