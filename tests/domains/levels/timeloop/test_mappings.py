"""Mappings as text, as rows and as they were."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.levels.mapping import HierarchyMapping, LevelMapping
from dse.domains.levels.workload import make_convolution, workload_of
from dse.models.timeloop import layout_of
from dse.models.timeloop.presets import load_machine
from dse.support.errors import InputError
from tests.domains.levels.timeloop.problems import random_rows

TEXT = "L3[WIO] P2 K16 R3 Q14 - L2[WI] K4X - L1[O] K4 S3 C2 Q2 P14 C4X - L0[W]"


def test_text_is_read_back() -> None:
    mapping = HierarchyMapping.parse(TEXT)
    assert mapping.text() == TEXT
    assert mapping.levels[2] == LevelMapping(
        ("O",), (("K", 4), ("S", 3), ("C", 2), ("Q", 2), ("P", 14)), (("C", 4),)
    )


def test_placeholders_of_one_are_no_loops() -> None:
    assert HierarchyMapping.parse("L0[W] N1 K2 C1X").levels == (LevelMapping(("W",), (("K", 2),)),)


def test_names_of_several_letters_have_commas_between() -> None:
    mapping = HierarchyMapping((LevelMapping(("Weights", "Inputs"), (("K", 2),)), LevelMapping()))
    assert mapping.text() == "L1[Weights,Inputs] K2 - L0[]"
    assert HierarchyMapping.parse(mapping.text()) == mapping


@pytest.mark.parametrize("text", ["K4", "L0 K4", "L0[W] 4K", "L0[W] K", "L0[W] K4Z", "L0[W] K4 - - L1[]"])
def test_text_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="write one as in"):
        HierarchyMapping.parse(text)


def test_rows_stand_for_their_mappings() -> None:
    rng = np.random.default_rng(0)
    workload, machine = make_convolution({"K": 8, "C": 6, "P": 4}), load_machine("gemmini")
    layout = layout_of(workload, machine)
    mappings = [layout.decode(row) for row in random_rows(workload, machine, 50, rng)]
    again = layout.encode(mappings)
    assert [layout.decode(row) for row in again] == mappings
    assert again.shape == (50, 4 * (3 * 7 + 3))


def test_factors_that_no_dim_has_become_zero() -> None:
    workload, machine = make_convolution({"K": 8}), load_machine("gemmini")
    layout = layout_of(workload, machine)
    levels = (LevelMapping(("W",), (("K", 2**70), ("C", -(2**70)))), *([LevelMapping()] * 3))
    row = layout.encode([HierarchyMapping(levels)])[0]
    assert not row[[layout.temporal(0).start + workload.names.index(dim) for dim in "KC"]].any()


def test_a_mapping_with_other_levels_or_a_loop_twice_is_no_row() -> None:
    layout = layout_of(make_convolution({"K": 8}), load_machine("gemmini"))
    with pytest.raises(InputError, match="the mapping has 1 levels, the machine 4"):
        layout.encode([HierarchyMapping((LevelMapping(),))])
    twice = LevelMapping((), (("K", 2), ("K", 4)))
    with pytest.raises(InputError, match="two loops of one kind over the same dim"):
        layout.encode([HierarchyMapping((twice,) * 4)])


def test_a_layer_is_the_workload_of_its_outputs() -> None:
    layer = Layer("CONV", 64, 3, 224, 224, 7, 7, stride=(2, 2), padding=(3, 3))
    workload = workload_of(layer)
    assert workload.sizes == {"R": 7, "S": 7, "P": 112, "Q": 112, "C": 3, "K": 64, "N": 1}
    assert workload.macs == layer.macs
    depthwise = workload_of(Layer("DSCONV", 1, 32, 56, 56, 3, 3, padding=(1, 1)))
    assert depthwise.macs == 32 * 56 * 56 * 9
    assert depthwise.tensors[0].words(depthwise.sizes) == 32 * 9
