"""The space of mappings onto machines of any number of levels."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.levels.machine import Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.space.chains import factor_chains
from dse.domains.levels.space.space import HierarchySpace
from dse.domains.levels.workload import make_convolution, workload_of
from dse.models.timeloop import prepared_prices
from dse.models.timeloop.presets import load_machine
from dse.support.errors import InputError

LAYER = Layer("CONV", 128, 128, 28, 28, 3, 3, padding=(1, 1))
GEMMINI = load_machine("gemmini")
MACHINES = ("gemmini", "eyeriss_like", "simba_like", "edge")
SMALL = Machine(
    "small",
    (
        Level("DRAM", keeps=("W", "I", "O"), may_keep=()),
        Level("Buffer", capacity=60, keeps=("I",), may_keep=("W",), fan_out=4, spread=("K", "C")),
        Level("Store", capacity=8, keeps=("O",), may_keep=()),
    ),
    mac_pj=1.0,
)
TINY = Layer("CONV", 4, 2, 6, 4, 3, 1)


def space(layer: Layer = LAYER, machine: Machine = GEMMINI, **fixed: object) -> HierarchySpace:
    return HierarchySpace(layer, machine, {name.replace("__", "."): value for name, value in fixed.items()})


def drawn(of: HierarchySpace, n: int = 500, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, of.sizes, size=(n, len(of.sizes)))


def test_a_convolution_of_the_data_set_has_so_many_mappings_under_its_rules() -> None:
    wide = load_machine("gemmini-128-65536-65536")
    assert space(LAYER, wide, orders="innermost").mappings == 559_872 * 36
    assert space(orders="innermost").mappings < space(LAYER, wide, orders="innermost").mappings
    assert space().mappings > space(orders="innermost").mappings


@pytest.mark.parametrize("name", MACHINES)
def test_samples_fit_and_most_vectors_do(name: str) -> None:
    machine = load_machine(name)
    of = space(LAYER, machine)
    price = prepared_prices(of.workload, machine)
    rows = of.decode(drawn(of)).rows
    assert (of.fits(rows) == price(rows).valid).all()
    assert of.fits(rows).mean() > 0.5
    assert price(of.decode(of.sample(np.random.default_rng(1), 200)).rows).valid.all()


@pytest.mark.parametrize(("kernels", "orders", "ways"), [(4, "innermost", 4), (2, "undominated", 8)])
def test_every_mapping_that_follows_the_machine_is_in_the_space_once(
    kernels: int, orders: str, ways: int
) -> None:
    of = space(Layer("CONV", kernels, 2, 4, 1, 3, 1), SMALL, orders=orders)
    every = np.array(list(product(*map(range, of.sizes.tolist()))))
    assert len(every) == of.vectors
    canonical = np.unique(of.canonical(every), axis=0)
    rows = of.decode(canonical).rows
    assert len(canonical) == of.mappings == len(np.unique(rows, axis=0))
    assert (of.encode(of.decode(canonical[::97])) == canonical[::97]).all()
    workload = of.workload
    places = [(level, kind) for level in range(3) for kind in ("temporal", "spatial")]
    counts = 1
    for dim, size in workload.dims:
        chains = 0
        for factors in product(*([n for n in range(1, size + 1) if size % n == 0] for _ in places)):
            loops = dict(zip(places, factors, strict=True))
            spread = [loops[level, "spatial"] for level in range(3)]
            inner = loops[1, "temporal"] * spread[1] * loops[2, "temporal"]
            box = dict.fromkeys(workload.names, 1)
            ends = (
                workload.tensors[1].words(box | {dim: inner}),
                workload.tensors[2].words(box | {dim: loops[2, "temporal"]}),
            )
            chains += (
                np.prod(factors) == size
                and spread[0] == spread[2] == 1
                and spread[1] <= (4 if dim in "KC" else 1)
                and ends[0] <= 60
                and ends[1] <= 8
            )
        counts *= chains
    # One innermost dim of R, P, C, K at each of two levels, for some a second one; W in the buffer or not.
    assert of.mappings == counts * ways**2 * 2


def test_moves_take_a_prime_factor_elsewhere_and_are_drawn_evenly() -> None:
    of = space(TINY, SMALL)
    vector = of.canonical(drawn(of, 1, 3))
    near = {block.name: block.neighbours(vector[0]) for block in of.blocks}
    assert set(near) == {*(f"factors.{dim}" for dim in "RPQCK"), "DRAM.order", "Buffer.order", "keep.W"}
    rows = of.decode(vector).rows[0]
    for name, found in near.items():
        moved = of.decode(found).rows != rows
        assert moved.any(axis=1).all()
        if name.startswith("factors"):
            assert (moved.sum(axis=1) == 2).all()
    every = {tuple(found) for block in near.values() for found in block.tolist()}
    many = of.neighbour(np.random.default_rng(0), np.repeat(vector, 60 * len(every), axis=0))
    seen, counts = np.unique(many, axis=0, return_counts=True)
    assert set(map(tuple, seen.tolist())) == every
    assert counts.min() > 25


def test_constraints_fix_factors_orders_dataflow_bypass_and_utilisation() -> None:
    fixed = {
        "Buffer.spatial.K": 2, "DRAM.order": "KPQ", "Buffer.stationary": "W", "Buffer.keep": "IW",
        "Buffer.utilization": 1.0,
    }  # fmt: skip
    of = HierarchySpace(TINY, SMALL, fixed)
    found = of.decode(of.sample(np.random.default_rng(0), 100))
    assert of.fits(found.rows).all()
    for place in range(100):
        buffer = found[place].levels[1]
        assert dict(buffer.spatial) == {"K": 2, "C": 2}
        assert buffer.keep == ("W", "I")
    orders = found.named()
    assert {order[-3:] for order in orders["DRAM.order"]} == {"KPQ"}
    assert {order[-1] for order in orders["Buffer.order"]} <= set("PQN")
    names = [gene.name for gene in of.genes]
    assert not {"Buffer.spatial.K", "DRAM.order", "Buffer.keep.W"} & set(names)


@pytest.mark.parametrize(
    ("fixed", "said"),
    [
        ({"Bufer.spatial.K": 2}, "unknown level 'Bufer'"),
        ({"Buffer.spatial.Z": 2}, "unknown dim 'Z'"),
        ({"Buffer.spatial.K": 3}, "no tiling of K = 4"),
        ({"Buffer.spatial.P": 2}, "there is no such loop"),
        ({"Buffer.temporal.K": 0}, "Buffer.temporal.K must be at least 1"),
        ({"Buffer.speed": 2}, "unknown constraint"),
        ({"Buffer.keep": "WO"}, "must keep I and may keep W besides"),
        ({"Buffer.stationary": "X"}, "unknown tensor 'X'"),
        ({"Buffer.utilization": 2}, "must be a share from 0 to 1"),
        ({"Buffer.order": "KK"}, "K is there twice"),
        ({"Buffer.order": "K", "Buffer.stationary": "W"}, "keep one of them"),
        ({"orders": "some"}, "unknown orders 'some'"),
    ],
)
def test_a_wrong_constraint_is_one_line(fixed: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        _ = HierarchySpace(TINY, SMALL, fixed).genes


def test_all_orders_are_permutations_of_the_dims_that_loop() -> None:
    of = space(TINY, SMALL, orders="all")
    order = next(gene for gene in of.genes if gene.name == "DRAM.order")
    assert (order.kind, order.size) == ("permutation", 120)
    assert of.mappings == space(TINY, SMALL, orders="innermost").mappings // 25 * 120**2
    block = next(block for block in of.blocks if block.name == "DRAM.order")
    assert len(block.neighbours(of.canonical(drawn(of, 1))[0])) == 10


def test_a_mapping_outside_of_the_space_is_told_apart() -> None:
    of = space(TINY, SMALL)
    mappings = of.decode(drawn(of, 20))
    again = of.decode(of.encode([HierarchyMapping.parse(mappings[place].text()) for place in range(20)]))
    assert [again[place] for place in range(20)] == [mappings[place] for place in range(20)]
    for wrong in ("L2[WIO] K4 P6 Q4 S3 R3 - L1[I] C2X - L0[O]", "L2[WIO] K4 C2 P6 - L1[I] Q4X R3 - L0[O]"):
        with pytest.raises(InputError, match="is not in the space"):
            of.encode([HierarchyMapping.parse(wrong)])


def test_what_stands_inside_of_a_changed_factor_stays_where_it_can() -> None:
    of = space()
    before = of.canonical(drawn(of, 300, 5))
    gene = next(place for place, gene in enumerate(of.genes) if gene.name == "DRAM.temporal.K")
    after = before.copy()
    after[:, gene] = drawn(of, 300, 6)[:, gene]
    kept = of.keep_inside(after, before, np.full(300, gene))
    names = [f"{level}.tile.K" for level in ("Accumulator", "Registers")]
    columns = [of.feature_names.index(f"log2 {name}") for name in names]
    start = of.features(before)[:, columns]
    stay, change = (np.abs(of.features(genes)[:, columns] - start).sum() for genes in (kept, after))
    assert stay < change / 2
    assert (kept[:, gene] == after[:, gene]).all()


def test_chains_are_counted_without_listing_them() -> None:
    chains = factor_chains(make_convolution({"K": 2**10, "P": 30}), GEMMINI, {})
    by_dim = {chain.dim: chain.count for chain in chains}
    assert by_dim["R"] == 1
    # 2^10 in DRAM, over at most 16 columns, in the accumulator: the columns' share decides how many.
    assert by_dim["K"] == sum(10 - columns + 1 for columns in range(5))


def test_a_space_travels_as_what_defines_it() -> None:
    of = space(TINY, SMALL, Buffer__keep="I")
    again = pickle.loads(pickle.dumps(of))
    assert again.identity == of.identity
    assert (again.sizes == of.sizes).all()
    assert workload_of(TINY) == again.workload
