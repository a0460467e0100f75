"""Lines of cases: what is malformed is refused, what cannot be is priced as invalid."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from dse.models.timeloop.cases import CaseReader, Result, price_cases
from dse.support.errors import InputError
from tests.domains.levels.timeloop import published

Line = dict[str, Any]


@pytest.fixture
def line() -> Line:
    return copy.deepcopy(published.rows("dosa")[0])


def result_of(line: Line, *, detail: bool = False) -> Result:
    return price_cases([CaseReader().read(json.dumps(line), "line 1")], detail=detail)[0]


def test_a_result_has_its_figures_as_numbers(line: Line) -> None:
    result = result_of(line)
    assert list(result) == ["status", "reason", "cycles", "energy_uj", "edp", "utilization"]
    assert (result["status"], result["reason"]) == ("ok", None)
    macs = published.macs(line)
    assert result["utilization"] == macs / (line["hardware"]["macs"] * result["cycles"])
    assert result["edp"] == pytest.approx(result["cycles"] * result["energy_uj"] * 1e-6, rel=1e-7)


def test_detail_counts_by_level_and_tensor(line: Line) -> None:
    result = result_of(line, detail=True)
    assert list(result["counts"]) == ["DRAM", "Scratchpad", "Accumulator", "Registers"]
    assert set(result["counts"]["Registers"]["W"]) == {
        *("reads", "fills", "updates", "tile", "share", "instances")
    }
    assert sum(result["level_energy_uj"].values()) == pytest.approx(result["energy_uj"])


def wrong(change: Callable[[Line], object], line: Line) -> Line:
    change(line)
    return line


MALFORMED: list[tuple[Callable[[Line], object], str]] = [
    (lambda line: line.pop("layer"), "line 1 lacks 'layer'"),
    (lambda line: line.update(layer=3), "line 1: layer must be a table"),
    (lambda line: line["layer"].update(type="pool"), "unknown type 'pool' in line 1: layer"),
    (lambda line: line["layer"]["dims"].update(X=1), "unknown key 'X' in line 1: layer.dims"),
    (lambda line: line["layer"]["dims"].update(K="8"), "line 1: layer.dims.K must be a whole number"),
    (lambda line: line["layer"].update(stride=[1]), "line 1: layer.stride must be a list of two"),
    (lambda line: line["hardware"].pop("macs"), "line 1: hardware lacks 'macs'"),
    (lambda line: line["hardware"].update(mac_pj="1"), "line 1: hardware.mac_pj must be a number"),
    (lambda line: line["hardware"].update(first_fill="no"), "unknown first_fill 'no'"),
    (lambda line: line["hardware"]["levels"][1].update(size=1), "unknown key 'size' in line 1: hardware"),
    (lambda line: line["hardware"]["levels"][1].update(block=1.5), "levels[1].block must be a whole number"),
    (lambda line: line["mapping"][0].pop("spatial"), "line 1: mapping[0] lacks 'spatial'"),
    (lambda line: line["mapping"][0]["keep"].append("X"), "unknown tensor 'X' in line 1: mapping[0].keep"),
    (lambda line: line["mapping"][0]["temporal"].append(["Z", 2]), "unknown dim 'Z'"),
    (lambda line: line["mapping"][0]["temporal"].append(["K"]), 'a loop must be as in ["K", 4]'),
    (lambda line: line["mapping"][1]["spatial"].append(["K", 1, "Z"]), "unknown axis 'Z'"),
    (lambda line: line.update(mapping={}), "line 1: mapping must be a list"),
]


@pytest.mark.parametrize(("change", "message"), MALFORMED)
def test_a_malformed_line_is_refused(change: Callable[[Line], object], message: str, line: Line) -> None:
    with pytest.raises(InputError) as caught:
        CaseReader().read(json.dumps(wrong(change, line)), "line 1")
    assert message in str(caught.value)
    assert "line 1" in str(caught.value)


INVALID: list[tuple[Callable[[Line], object], str]] = [
    (lambda line: line["layer"]["dims"].update(K=0), "layer: dims.K must be at least 1, got 0"),
    (lambda line: line["layer"]["dims"].update(K=2**40), "layer: dims.K must be at most"),
    (lambda line: line["layer"]["dims"].update(K=7), "the factors of K must be at least 1 and multiply to 7"),
    (lambda line: line["layer"].update(stride=[0, 1]), "the coefficient of P must be at least 1, got 0"),
    (lambda line: line["layer"]["dims"].update(P=2**30, Q=2**30, C=2**30), "its counts could exceed"),
    (lambda line: line["hardware"].update(macs=0), "there must be a multiple of them, got 0"),
    (lambda line: line["hardware"].update(levels=[]), "hardware: no levels"),
    (lambda line: line["hardware"]["levels"][0].update(instances=2), "one instance of the outermost level"),
    (lambda line: line["hardware"]["levels"][1].update(capacity=1), "of 1 words"),
    (lambda line: line["hardware"]["levels"][1].update(shared_bw=0), "shared bandwidth must be"),
    (lambda line: line["mapping"].pop(), "the mapping has 3 levels, the machine 4"),
    (lambda line: line["mapping"][2].update(temporal=[["K", 2**70]]), "the factors of K"),
    (lambda line: line["mapping"][0]["temporal"].extend([["P", 1]] * 2), "two loops of one kind"),
    (lambda line: line["mapping"][0]["keep"].pop(), "DRAM: must keep W, I, O"),
]


@pytest.mark.parametrize(("change", "reason"), INVALID)
def test_a_line_of_any_values_gets_a_result(
    change: Callable[[Line], object], reason: str, line: Line
) -> None:
    result = result_of(wrong(change, line), detail=True)
    assert result["status"] == "invalid"
    assert reason in result["reason"]
    assert result["cycles"] is result["energy_uj"] is result["edp"] is result["counts"] is None


def test_a_matrix_product_is_a_layer_too(line: Line) -> None:
    line["layer"] = {"type": "gemm", "dims": {"M": 2, "K": 3, "N": 4}}
    line["mapping"] = [{"keep": ["W", "I", "O"], "temporal": [["K", 3], ["M", 2], ["N", 4]], "spatial": []}]
    line["mapping"] += [{"keep": [], "temporal": [], "spatial": []}] * 3
    assert result_of(line)["status"] == "ok"


def test_labels_of_a_line_change_nothing_and_other_keys_are_refused(line: Line) -> None:
    assert result_of({**line, "note": "mine"}) == result_of(line)
    with pytest.raises(InputError, match="unknown key 'hardwares' in line 1"):
        result_of({**line, "hardwares": {}})


@pytest.mark.parametrize("dim", ["P", "C"])
def test_a_dim_that_a_convolution_does_not_say_is_no_1(line: Line, dim: str) -> None:
    del line["layer"]["dims"][dim]
    with pytest.raises(InputError, match=f"line 1: layer.dims lacks '{dim}'"):
        result_of(line)


def test_an_energy_that_a_level_does_not_say_beside_others_is_no_0(line: Line) -> None:
    del line["hardware"]["levels"][1]["write_pj"]
    with pytest.raises(InputError, match=r"levels\[1\] lacks write_pj beside the others"):
        result_of(line)
