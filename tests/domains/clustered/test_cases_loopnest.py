"""Cases under `loopnest`: priced as written, and a winner's line costs again what the winner does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.cases import PRINTED, case_line
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.templates import TEMPLATES
from dse.models.loopnest import LoopNest
from dse.models.loopnest.reference import price_mapping
from tests.conftest import Dse
from tests.models.loopnest_cases import area_mm2
from workloads import load_layer

LAYERS = {
    "strided and padded": load_layer("resnet18:0"),
    "strided by more than its filter": load_layer("resnet18:layer2.0.downsample"),
    "padded": load_layer("vgg16:conv4_2"),
    "dilated": Layer("CONV", 8, 6, 20, 20, 3, 3, (2, 1), (4, 2), dilation=(4, 2)),
    "depthwise": load_layer("mobilenet_v2:features.2.depthwise"),
    "matrix product": load_layer("bert_base:scores"),
}
EDGE, SLOW = PRESETS["edge"], Accelerator(96, 700, 90_000, 24, 6, 5, 2, 0.7)


@pytest.fixture
def priced(dse: Dse, tmp_path: Path) -> Any:
    """Prices cases under `loopnest` through a file, in order."""

    def price_lines(*lines: dict[str, Any]) -> list[dict[str, Any]]:
        path = tmp_path / "cases.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        outcome = dse("evaluate", "--cases", str(path), "--cost-model", "loopnest", "--json")
        assert (outcome.code, outcome.err) == (0, "")
        return outcome.lines

    return price_lines


def test_the_layers_are_what_they_are_called() -> None:
    found = LAYERS["strided by more than its filter"]
    assert found.stride[0] > found.R
    assert LAYERS["depthwise"].type == "DSCONV"
    assert LAYERS["depthwise"].strided
    assert all(layer.padding != (0, 0) for name, layer in LAYERS.items() if "padded" in name)


@pytest.mark.parametrize("accelerator", [EDGE, SLOW], ids=["edge", "slow"])
@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_a_winners_line_costs_what_the_winner_does(
    priced: Any, layer: Layer, accelerator: Accelerator
) -> None:
    problem = Problem(layer, accelerator, "edp", "loopnest", "any")
    genes = problem.space.sample(np.random.default_rng(1), 60)
    found, mappings = problem.price(genes), problem.space.decode(genes)
    for place, result in enumerate(priced(*(problem.case(mapping) for mapping in mappings))):
        assert result["status"] == "ok"
        assert result["macs"] == layer.macs
        assert [result[name] for name in PRINTED] == [getattr(found, name)[place] for name in PRINTED]


@pytest.mark.parametrize("layer", ["resnet18:0", "mobilenet_v2:features.2.depthwise", "bert_base:scores"])
def test_the_best_case_of_a_search_gives_its_cycles_and_energy_again(
    dse: Dse, priced: Any, layer: str
) -> None:
    where = ("--layer", layer, "--accelerator", "edge", "--objective", "energy")
    best = dse("search", *where, "--searcher", "genetic", "--budget", "500", "--json").json["best"]
    [result] = priced(best["case"])
    for figure in ("cycles", "energy_nj", "macs", "l1_size", "l2_size"):
        assert result[figure] == best[figure]
    assert Layer.from_dict(best["case"]["layer"]) == load_layer(layer)


def test_a_line_without_capacities_is_a_machine_with_just_the_buffers_that_are_needed(priced: Any) -> None:
    layer = LAYERS["padded"]
    mapping = TEMPLATES["nvdla"](layer, EDGE)
    [bare] = priced(case_line(layer, mapping, EDGE))
    counts = price_mapping(layer, EDGE, mapping)
    assert (bare["cycles"], bare["l1_size"], bare["l2_size"]) == (
        counts.cycles,
        counts.l1_need,
        counts.l2_need,
    )
    fitted = Accelerator(
        EDGE.num_pes, counts.l1_need, counts.l2_need, EDGE.noc_bandwidth, EDGE.offchip_bandwidth
    )
    [whole] = priced(case_line(layer, mapping, fitted, whole=True))
    assert bare == pytest.approx(whole)
    assert bare["area"] < area_mm2(LoopNest().constants, EDGE)


def test_capacities_and_the_clock_change_area_and_power_alone(priced: Any) -> None:
    layer = LAYERS["matrix product"]
    line = case_line(layer, TEMPLATES["nvdla"](layer, EDGE), EDGE, whole=True)
    tiny, fast = (json.loads(json.dumps(line)) for _ in range(2))
    tiny["hardware"] |= {"l1_size": 1, "l2_size": 1}
    fast["hardware"]["clock_ghz"] = 2.0
    plain, small, quick = priced(line, tiny, fast)
    assert small["area"] < plain["area"]
    assert quick["power"] > plain["power"]
    for other in (small, quick):
        assert {**other, "area": 0, "power": 0} == {**plain, "area": 0, "power": 0}
    assert plain["area"] == quick["area"]


def test_a_padding_is_cheaper_than_data(priced: Any) -> None:
    layer = LAYERS["padded"]
    mapping = TEMPLATES["nvdla"](layer, EDGE)
    data = Layer("CONV", layer.K, layer.C, layer.Y + 2, layer.X + 2, layer.R, layer.S)
    padded, full = priced(case_line(layer, mapping, EDGE), case_line(data, mapping, EDGE))
    assert padded["cycles"] == full["cycles"]
    assert padded["energy_nj"] < full["energy_nj"]


def test_many_layers_and_machines_in_any_order_are_priced_each_by_itself(priced: Any) -> None:
    lines, expected = [], []
    rng = np.random.default_rng(2)
    for place in rng.permutation(40):
        layer = list(LAYERS.values())[place % len(LAYERS)]
        accelerator = (EDGE, SLOW)[place % 2]
        space = Problem(layer, accelerator).space
        batch = space.decode(space.sample(rng, 1))
        lines.append(case_line(layer, batch[0], accelerator, whole=True))
        costs = LoopNest().evaluate(layer, accelerator, MappingBatch(batch.rows))
        expected.append([getattr(costs, name)[0] for name in PRINTED])
    assert [[result[name] for name in PRINTED] for result in priced(*lines)] == expected


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"K": 0}, "a layer size is out of range"),
        ({"R": 900}, "a layer size is out of range"),
        ({"stride": [0, 1]}, "a layer size is out of range"),
        ({"padding": [2**62, 0]}, "a layer size is out of range"),
        ({"padding": -1}, "a layer size is out of range"),
        ({"Y": 2**40}, "a layer size is out of range"),
        ({"K": 2**29, "C": 2**28}, "a count does not fit in 64 bits"),
        ({"type": "DSCONV", "K": 2}, "a layer size is out of range"),
    ],
)
def test_a_layer_that_cannot_be_priced_is_invalid_and_says_why(
    priced: Any, change: dict[str, Any], reason: str
) -> None:
    layer = Layer("CONV", 4, 4, 4, 4, 1, 1)
    line = case_line(layer, TEMPLATES["nvdla"](layer, EDGE), EDGE)
    wrong = {**line, "layer": {**line["layer"], **change}}
    before, result, after = priced(line, wrong, line)
    assert before == after
    assert before["status"] == "ok"
    assert result["status"] == "invalid"
    assert result["reason"].partition(":")[0] == reason
    assert all(result[name] is None for name in PRINTED)
