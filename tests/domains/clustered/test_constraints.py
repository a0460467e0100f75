"""The feasibility rules: the kernel against a plain reading of them, and against counting PE by PE."""

from __future__ import annotations

from math import ceil, inf

import numpy as np
import pytest

from dse.core.cost_models import cost_model
from dse.core.figures import CostBatch
from dse.core.layer import DIMS, Layer
from dse.core.objective import OBJECTIVES, objective_named
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.feasibility import FeasibilityRules
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.support.errors import InputError
from workloads import load_layer

LAYERS = {
    "resnet18:1": load_layer("resnet18:1"),
    "alexnet:0": load_layer("alexnet:0"),
    "bert_base:0": load_layer("bert_base:0"),
    "depthwise": Layer("DSCONV", 1, 96, 112, 112, 3, 3, stride=(2, 2), padding=(1, 1)),
}
ODD = Accelerator(168, 300, 5000, 64, 16, simd_lanes=3, clock_ghz=0.7)


def serial_floor(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> int:
    """The floor as the design states it, read plainly."""
    outer, inner, pes = mapping.outer, mapping.inner, mapping.cluster_size
    as_c = {"K": "C"} if layer.type == "DSCONV" else {}
    outer_parallel = as_c.get(outer.parallel, outer.parallel)
    inner_parallel = as_c.get(inner.parallel, inner.parallel)

    def busiest(dim: str, extent: int) -> int:
        if dim != inner_parallel:
            return extent
        tile = inner[dim]
        return extent // (tile * pes) * tile + min(tile, extent % (tile * pes))

    steps = 1
    for dim in DIMS:
        if dim in "RS" and dim not in (outer_parallel, inner_parallel):
            steps *= layer.loops[dim]
        elif not (dim == "K" and layer.type == "DSCONV"):
            spread = outer[dim] * (accelerator.num_pes // pes if dim == outer_parallel else 1)
            whole, rest = divmod(layer.loops[dim], spread)
            steps *= whole * busiest(dim, outer[dim]) + busiest(dim, min(outer[dim], rest))
    return -(-steps // accelerator.simd_lanes)


def verdict(layer: Layer, accelerator: Accelerator, mapping: Mapping, costs: CostBatch, i: int) -> Reason:
    """The rules one after the other."""
    if not costs.valid[i]:
        return Reason(int(costs.reason[i]))
    if costs.l1_size[i] > accelerator.l1_size:
        return Reason.L1_TOO_SMALL
    if costs.l2_size[i] > accelerator.l2_size:
        return Reason.L2_TOO_SMALL
    if costs.macs[i] < layer.macs:
        return Reason.WORK_DROPPED
    if costs.cycles[i] < ceil(layer.macs / (accelerator.num_pes * accelerator.simd_lanes)):
        return Reason.BELOW_COMPUTE_FLOOR
    if costs.cycles[i] < serial_floor(layer, accelerator, mapping):
        return Reason.BELOW_SERIAL_FLOOR
    return Reason.FEASIBLE


def draw_mappings(layer: Layer, accelerator: Accelerator, n: int, rng: np.random.Generator) -> MappingBatch:
    """Mappings of all kinds: any parallel dims (R and S too), tiles above their dims, inner above outer."""

    def level() -> Level:
        most = [max(1, round(layer.loops[dim] * rng.choice([0.1, 1, 2]))) for dim in DIMS]
        tiles = (int(rng.integers(1, size + 1)) for size in most)
        return Level(str(rng.choice(list(DIMS))), tuple(rng.permutation(list(DIMS)).tolist()), tuple(tiles))

    return MappingBatch.of(
        Mapping(level(), int(rng.integers(1, accelerator.num_pes + 1)), level()) for _ in range(n)
    )


def draw_costs(
    layer: Layer, accelerator: Accelerator, floors: np.ndarray, rng: np.random.Generator
) -> CostBatch:
    """Costs at, just below and above every limit, so that every rule decides some of them."""
    n = len(floors)

    def around(limit: int | np.ndarray) -> np.ndarray:
        return limit + rng.choice([-1, 0, 1, 1000], n)

    compute = ceil(layer.macs / (accelerator.num_pes * accelerator.simd_lanes))
    limits = np.where(rng.random(n) < 0.8, np.maximum(floors, compute), compute)
    valid = rng.random(n) < 0.9
    return CostBatch(
        cycles=around(limits),
        energy_nj=rng.random(n) * 1e6,
        power=rng.random(n),
        area=rng.random(n),
        l1_size=around(accelerator.l1_size - 1),
        l2_size=around(accelerator.l2_size - 1),
        macs=around(layer.macs),
        valid=valid,
        reason=np.where(valid, 0, rng.integers(1, 11, n)).astype(np.uint8),
    )


@pytest.mark.parametrize("name", LAYERS)
def test_the_kernel_judges_as_the_rules_read(name: str) -> None:
    layer, rng = LAYERS[name].lowered(), np.random.default_rng(5)
    mappings = draw_mappings(layer, ODD, 800, rng)
    rules = FeasibilityRules(layer, ODD, "edp")
    costs = draw_costs(layer, ODD, rules.serial_floors(mappings.rows), rng)
    losses, reasons = rules.judge(mappings.rows, costs)
    for i in range(len(mappings)):
        expected = verdict(layer, ODD, mappings[i], costs, i)
        assert reasons[i] == expected
        seconds = costs.cycles[i] / (ODD.clock_ghz * 1e9)
        assert losses[i] == (costs.energy_nj[i] * 1e-9 * seconds if expected is Reason.FEASIBLE else inf)
    ours = {*range(Reason.L1_TOO_SMALL, Reason.BELOW_SERIAL_FLOOR + 1), Reason.FEASIBLE}
    assert ours <= set(reasons), "every rule must have decided something"


@pytest.mark.parametrize("name", LAYERS)
def test_the_serial_floor_is_what_the_rules_read(name: str) -> None:
    layer = LAYERS[name].lowered()
    mappings = draw_mappings(layer, ODD, 500, np.random.default_rng(6))
    floors = FeasibilityRules(layer, ODD, "latency").serial_floors(mappings.rows)
    assert floors.tolist() == [serial_floor(layer, ODD, mappings[i]) for i in range(len(mappings))]


def test_the_serial_floor_is_the_load_of_the_busiest_pe_counted_one_by_one() -> None:
    layer = Layer("CONV", 13, 7, 11, 6, 3, 2).lowered()
    accelerator, rng = Accelerator(12, 512, 10_000, 16, 4), np.random.default_rng(7)
    mappings = draw_mappings(layer, accelerator, 300, rng)
    floors = FeasibilityRules(layer, accelerator, "latency").serial_floors(mappings.rows)
    for i in range(len(mappings)):
        assert floors[i] == busiest_load(layer, accelerator, mappings[i])


def busiest_load(layer: Layer, accelerator: Accelerator, mapping: Mapping) -> int:
    """Give every index of every dim to its cluster and PE, and count the steps of each PE."""
    clusters, pes = accelerator.num_pes // mapping.cluster_size, mapping.cluster_size
    loads = np.ones((clusters, pes), np.int64)
    for dim in DIMS:
        share = np.zeros((clusters, pes), np.int64)
        outer, inner = mapping.outer[dim], mapping.inner[dim]
        for index in range(layer.loops[dim]):
            place, within = divmod(index, outer)
            cluster = place % clusters if dim == mapping.outer.parallel else slice(None)
            pe = within // inner % pes if dim == mapping.inner.parallel else slice(None)
            share[cluster, pe] += 1
        loads *= share
    return int(loads.max())


def test_the_serial_floor_of_a_mapping_worked_by_hand() -> None:
    # 16 PEs as 4 clusters of 4. K: 10 channels in tiles of 2 over 4 clusters, so 2 rounds (8 + 2), 2 each;
    # Y: 6 rows whole outside, inside 1 each over 4 PEs, so 2 rounds; C, X and the 3x3 filter are serial.
    layer = Layer("CONV", 10, 5, 8, 6, 3, 3)
    order = DIMS
    outer = Level("K", order, (2, 5, 6, 4, 3, 3))
    inner = Level("Y", order, (1, 1, 1, 1, 3, 3))
    rows = MappingBatch.of([Mapping(outer, 4, inner)]).rows
    for lanes, floor in ((1, (2 + 2) * 5 * 2 * 4 * 9), (7, ceil((2 + 2) * 5 * 2 * 4 * 9 / 7))):
        accelerator = Accelerator(16, 512, 10_000, 16, 4, simd_lanes=lanes)
        assert FeasibilityRules(layer, accelerator, "latency").serial_floors(rows).tolist() == [floor]


def test_a_filter_dim_counts_whole_unless_it_is_parallel() -> None:
    layer, accelerator = Layer("CONV", 1, 1, 9, 1, 9, 1), Accelerator(9, 512, 10_000, 16, 4)
    tile = (1, 1, 1, 1, 1, 1)

    def floor(inner_parallel: str) -> int:
        mapping = Mapping(Level("K", DIMS, (1, 1, 1, 1, 9, 1)), 9, Level(inner_parallel, DIMS, tile))
        rows = MappingBatch.of([mapping]).rows
        return int(FeasibilityRules(layer, accelerator, "latency").serial_floors(rows)[0])

    assert floor("C") == 9
    assert floor("R") == 1


def test_no_perfect_factor_mapping_falls_below_a_floor_but_some_of_any_tiles_do() -> None:
    accelerator, below = PRESETS["edge"], (Reason.BELOW_COMPUTE_FLOOR, Reason.BELOW_SERIAL_FLOOR)
    found = {}
    for tiles in ("factors", "any"):
        space = MappingSpace(LAYERS["resnet18:1"], accelerator, tiles=tiles)
        vectors = np.random.default_rng(8).integers(0, space.sizes, (20_000, len(space.sizes)))
        mappings = space.decode(vectors)
        costs = cost_model("maestro").evaluate(space.layer, accelerator, mappings)
        roomy = Accelerator(256, 2**40, 2**40, 32, 8)
        _, reasons = FeasibilityRules(space.layer, roomy, "latency").judge(mappings.rows, costs)
        found[tiles] = np.isin(reasons, below).mean()
        assert Reason.WORK_DROPPED not in reasons or tiles == "any"
    assert found["factors"] == 0
    assert 0.15 < found["any"] < 0.45, "of uniform vectors a quarter to a third drop work"


@pytest.mark.parametrize(
    "row_change", [(7, 0), (24, 0), (13, 0), (13, -5), (13, 2**62), (7, 2**62), (22, -(2**62))]
)
def test_a_mapping_that_no_model_accepts_gets_its_reason_and_no_crash(row_change: tuple[int, int]) -> None:
    layer, accelerator = LAYERS["resnet18:1"].lowered(), PRESETS["edge"]
    space = MappingSpace(layer, accelerator)
    rows = space.decode(space.sample(np.random.default_rng(9), 50)).rows
    rows[:, row_change[0]] = row_change[1]
    rules = FeasibilityRules(layer, accelerator, "latency")
    assert (rules.serial_floors(rows) > 0).all()
    losses, reasons = rules.judge(
        rows, cost_model("maestro").evaluate(layer, accelerator, MappingBatch(rows))
    )
    assert (losses[reasons != 0] == inf).all()
    assert (reasons != 0).any()


def test_an_explanation_gives_the_figures() -> None:
    layer = Layer("CONV", 10, 5, 8, 6, 3, 3)
    accelerator = Accelerator(16, 512, 10_000, 16, 4)
    rules = FeasibilityRules(layer, accelerator, "latency")
    row = MappingBatch.of(
        [Mapping(Level("K", DIMS, (2, 5, 6, 4, 3, 3)), 4, Level("Y", DIMS, (1, 1, 1, 1, 3, 3)))]
    ).rows[0]

    def explained(*, valid: bool = True, **changes: int) -> str:
        good = {"cycles": 9999, "l1_size": 512, "l2_size": 10_000, "macs": layer.macs, "reason": 0}
        figures = {name: np.array([value]) for name, value in (good | changes).items()}
        none = np.zeros(1)
        costs = CostBatch(
            **figures | {"reason": figures["reason"].astype(np.uint8)},
            energy_nj=none, power=none, area=none, valid=np.array([valid]),
        )  # fmt: skip
        return rules.explain(row, costs)

    assert explained() == "feasible"
    assert explained(l1_size=4096) == "L1 needs 4096 of 512 elements"
    assert explained(l2_size=10_001) == "L2 needs 10001 of 10000 elements"
    assert (
        explained(macs=layer.macs - 1) == f"the cost model counts {layer.macs - 1} MACs, the layer has 10800"
    )
    assert explained(cycles=10) == "10 cycles, but on all PEs the MACs take at least 675"
    assert explained(cycles=1439) == "1439 cycles, but the busiest PE takes at least 1440"
    assert explained(valid=False, reason=3) == "the cluster size is not between 1 and the PE count"


def test_the_kernel_and_the_table_of_objectives_make_the_same_losses() -> None:
    layer, edge = LAYERS["resnet18:1"].lowered(), PRESETS["edge"]
    space = MappingSpace(layer, edge)
    mappings = space.decode(space.sample(np.random.default_rng(10), 2000))
    costs = cost_model("maestro").evaluate(layer, edge, mappings)
    for objective in OBJECTIVES:
        losses, reasons = FeasibilityRules(layer, edge, objective).judge(mappings.rows, costs)
        good = reasons == 0
        assert good.any()
        assert (losses[good] == objective_named(objective).value(costs, edge.hertz)[good]).all()


def test_losses_are_in_seconds_joules_and_joule_seconds() -> None:
    one = np.ones(1)
    costs = CostBatch(
        cycles=np.array([3_000_000]), energy_nj=5e6 * one, power=7 * one, area=11 * one,
        l1_size=np.array([1]), l2_size=np.array([1]), macs=np.array([1]),
        valid=np.array([True]), reason=np.zeros(1, np.uint8),
    )  # fmt: skip
    accelerator = Accelerator(16, 512, 10_000, 16, 4, clock_ghz=1.5)
    figures = {name: float(objective_named(name).value(costs, accelerator.hertz)[0]) for name in OBJECTIVES}
    areas = {"area": 11, "area_maestro": 11}
    assert figures == pytest.approx({"latency": 2e-3, "energy": 5e-3, "edp": 1e-5, **areas, "power": 7})


def test_an_unknown_objective_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match="unknown objective 'latancy'; did you mean 'latency'"):
        objective_named("latancy")
