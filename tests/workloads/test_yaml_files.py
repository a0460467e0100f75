"""Layers from Timeloop's problems and ZigZag's workloads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.core.layer import Layer
from dse.core.widths import Widths
from dse.support.errors import InputError
from tests.conftest import Dse
from workloads import load, load_layer

pytest.importorskip("yaml")

# The form of Timeloop's published problems: dims in another order, rows before columns, a batch.
CONVOLUTION = """
problem:
  version: 0.4
  shape:
    name: CNN_Layer
    dimensions: [C, M, R, S, N, P, Q]
    coefficients:
    - {name: Wstride, default: 1}
    - {name: Hstride, default: 1}
    - {name: Wdilation, default: 1}
    - {name: Hdilation, default: 1}
    data_spaces:
    - name: Weights
      projection: [[[C]], [[M]], [[R]], [[S]]]
    - name: Inputs
      projection: [[[N]], [[C]], [[R, Wdilation], [P, Wstride]], [[S, Hdilation], [Q, Hstride]]]
    - name: Outputs
      projection: [[[N]], [[M]], [[Q]], [[P]]]
      read_write: True
  instance: {C: 3, M: 96, N: 2, P: 54, Q: 54, R: 11, S: 11, Wstride: 4, Hstride: 4}
"""
DEPTHWISE = (
    CONVOLUTION.replace("[[[N]], [[M]], [[Q]], [[P]]]", "[[[N]], [[C]], [[M]], [[Q]], [[P]]]")
    .replace("C: 3, M: 96, N: 2", "C: 32, M: 1, N: 1")
    .replace("R: 11, S: 11, Wstride: 4, Hstride: 4", "R: 3, S: 3, Wdilation: 2")
)
PRODUCT = """
problem:
  shape:
    dimensions: [M, N, K]
    data_spaces:
    - {name: Weights, projection: [[[K]], [[N]]]}
    - {name: Inputs, projection: [[[M]], [[K]]]}
    - {name: Outputs, projection: [[[M]], [[N]]], read_write: true}
  instance: {M: 128, N: 64, K: 32}
"""


def file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "alexnet1.yaml"
    path.write_text(text)
    return str(path)


def test_a_published_problem_is_a_layer_with_its_stride_and_batch(tmp_path: Path) -> None:
    layer = load_layer(file(tmp_path, CONVOLUTION))
    whole = Layer("CONV", 96, 3, 223, 223, 11, 11, (4, 4), batch=2)
    assert layer == whole.folded()
    assert (layer.name, layer.repeats) == ("alexnet1", 2)
    assert layer.output == (54, 54)


def test_channels_by_themselves_are_a_depthwise_layer_or_groups(tmp_path: Path) -> None:
    layer = load_layer(file(tmp_path, DEPTHWISE))
    assert layer == Layer("DSCONV", 1, 32, 58, 56, 3, 3, dilation=(2, 1))
    assert layer.output == (54, 54)
    twice = load_layer(file(tmp_path, DEPTHWISE.replace("M: 1", "M: 2")))
    assert (twice, twice.repeats) == (layer, 2)


def test_a_product_of_dims_m_n_k_is_one(tmp_path: Path) -> None:
    assert str(load_layer(file(tmp_path, PRODUCT))) == "GEMM M128 N64 K32"


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (CONVOLUTION, "problem:", "problems:", "has neither a problem, as Timeloop has it, nor layers"),
        (CONVOLUTION, "[[[C]], [[M]], [[R]], [[S]]]", "[[[C]], [[M]], [[R]]]", "must be Weights, Inputs and"),
        (CONVOLUTION, "name: Weights", "name: Kernel", "must be Weights, Inputs and Outputs"),
        (CONVOLUTION, "[R, Wdilation]", "[T, Wdilation]", "is over no dimension of the shape"),
        (CONVOLUTION, "[R, Wdilation]", "[R, Zdilation]", "a coefficient must be a whole number"),
        (CONVOLUTION, "C: 3,", "C: 0,", r"instance\.C must be at least 1, got 0"),
        (CONVOLUTION, "C: 3,", "C: three,", r"instance\.C must be a whole number"),
        (CONVOLUTION, "instance: {", "instances: {", "instance must be a table"),
        (
            CONVOLUTION,
            "dimensions: [C, M, R, S, N, P, Q]",
            "dimensions: 7",
            "dimensions must be a list, got 7",
        ),
        (CONVOLUTION, "[[[C]], [[M]], [[R]], [[S]]]", "[5]", "projection must be a list, got 5"),
        (CONVOLUTION, "P: 54", f"P: {2**40}", "must be at most 2147483647"),
        (PRODUCT, "[[[K]], [[N]]]", "[[[K]], [[M]]]", "or of a matrix product over M, N and K"),
    ],
)
def test_a_wrong_problem_is_refused_in_a_line(
    tmp_path: Path, text: str, old: str, new: str, message: str
) -> None:
    assert old in text
    with pytest.raises(InputError, match=message) as caught:
        load(file(tmp_path, text.replace(old, new, 1)))
    assert "\n" not in str(caught.value)
    assert "alexnet1.yaml" in str(caught.value)


# As ZigZag's front end writes them: groups in all operands, padding by itself, operators without weights.
WORKLOAD = """
- id: 0
  name: conv1
  operator_type: Conv
  equation: O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]
  dimension_relations: [ix=2*ox+1*fx, iy=2*oy+1*fy]
  loop_dims: [B, K, G, OX, C, FX, OY, FY]
  loop_sizes: [1, 64, 1, 112, 3, 7, 112, 7]
  pr_loop_dims: [IX, IY]
  pr_loop_sizes: [224, 224]
  operand_source: {I: 0, W: 0}
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  padding: [[3, 2], [3, 2]]
- id: 1
  operator_type: Add
  equation: O[b][g][oy][ox]=X[b][g][oy][ox]+Y[b][g][oy][ox]
  loop_dims: [B, G, OY, OX]
  loop_sizes: [1, 64, 56, 56]
  operand_precision: {O: 16, O_final: 8}
- id: 2
  name: grouped
  operator_type: Conv
  equation: O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]
  dimension_relations: [ix=1*ox+1*fx, iy=1*oy+1*fy]
  loop_dims: [B, K, G, OX, C, FX, OY, FY]
  loop_sizes: [1, 4, 8, 14, 16, 3, 14, 3]
  operand_precision: {O: 16, O_final: 8}
- id: 3
  name: depthwise
  operator_type: Conv
  equation: O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]
  dimension_relations: [ix=1*ox+1*fx, iy=1*oy+1*fy]
  loop_dims: [B, K, G, OX, C, FX, OY, FY]
  loop_sizes: [1, 1, 96, 14, 1, 3, 14, 3]
  operand_precision: {O: 16, O_final: 8}
- id: 4
  name: fc
  operator_type: Gemm
  equation: O[b][k]+=W[k][c]*I[b][c]
  dimension_relations: []
  loop_dims: [B, K, C]
  loop_sizes: [4, 10, 64]
  operand_precision: {O: 16, O_final: 8}
"""


def test_a_workloads_convolutions_and_products_are_layers_and_the_rest_is_named(
    tmp_path: Path, dse: Dse
) -> None:
    path = file(tmp_path, WORKLOAD)
    network, wide_sums = load(path), Widths(O=16)
    assert dict(zip((names[0] for names in network.members), network.layers, strict=True)) == {
        "conv1": Layer("CONV", 64, 3, 224, 224, 7, 7, (2, 2), (3, 3), bits=Widths(8, 8, 16)),
        "grouped": Layer("CONV", 4, 16, 16, 16, 3, 3, bits=wide_sums),
        "depthwise": Layer("DSCONV", 1, 96, 16, 16, 3, 3, bits=wide_sums),
        "fc": replace(Layer.gemm(4, 10, 64), bits=wide_sums),
    }
    assert [layer.repeats for layer in network.layers] == [1, 8, 1, 1]
    assert [(entry.operator, entry.count) for entry in network.left_out] == [("Add", 1)]
    assert load_layer(f"{path}:conv1").output == (112, 112)
    made = tmp_path / "made.toml"
    dse("import", path, "--out", str(made))
    assert load(made).layers == network.layers
    assert "--input is of an ONNX file" in dse("import", path, "--input", "1x3", "--out", str(made)).refused()
    assert "names no single layer" in dse("space", "--layer", path, "--accelerator", "edge").refused()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "loop_sizes: [1, 64, 1, 112, 3, 7, 112, 7]",
            "loop_sizes: [1, 64]",
            "loop_dims and loop_sizes must be",
        ),
        ("[1, 64, 1, 112, 3, 7, 112, 7]", "[1, 64, 1, 112, 0, 7, 112, 7]", "loop_sizes must be at least 1"),
        ("ix=2*ox+1*fx", "ix~2*ox", "dimension_relations must be as in iy=2.oy"),
        ("[ix=2*ox+1*fx, iy=2*oy+1*fy]", "5", "dimension_relations must be a list, got 5"),
        ("[[3, 2], [3, 2]]", "[[3], [3, 2]]", "padding must be pairs of before and after"),
        ("[[3, 2], [3, 2]]", "[[-3, 2], [3, 2]]", "padding must be at least 0"),
        ("loop_dims: [B, K, G, OX, C, FX, OY, FY]", "loop_dims: 3", "loop_dims must be a list, got 3"),
        ("loop_sizes:", "loop_size:", "unknown key 'loop_size' in .*line 8; did you mean 'loop_sizes'"),
        ("{W: 8,", "{A: 8,", "unknown operand 'A'"),
        ("O: 16, O_final: 8}", "O: 0, O_final: 8}", "operand_precision.O must be at least 1"),
        ("- id: 0", "- 7\n- id: 0", "must be a table|must be a mapping|got 7"),
    ],
)
def test_a_wrong_workload_is_refused_in_a_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WORKLOAD
    with pytest.raises(InputError, match=message) as caught:
        load(file(tmp_path, WORKLOAD.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


PROBLEM = """
problem:
  instance: {C: 16, M: 32, N: 1, P: 28, Q: 28, R: 3, S: 3, Wstride: 2, Hstride: 2, G: 4}
  shape:
    name: conv
    coefficients: [{name: Wstride, default: 1}, {name: Hstride, default: 1}]
    dimensions: [C, M, R, S, N, P, Q, G]
    data-spaces:
    - {name: Weights, projection: [[[C]], [[M]], [[R]], [[S]], [[G]]]}
    - {name: Inputs, projection: [[[N]], [[C]], [[R], [P, Wstride]], [[S], [Q, Hstride]], [[G]]]}
    - {name: Outputs, projection: [[[N]], [[M]], [[Q]], [[P]], [[G]]], read-write: True}
"""


def test_a_problem_has_groups_as_a_dim(tmp_path: Path) -> None:
    for groups, macs in ((1, 3_612_672), (4, 14_450_688)):
        path = tmp_path / f"g{groups}.yaml"
        path.write_text(PROBLEM.replace("G: 4", f"G: {groups}"))
        (layer,) = load(str(path)).layers
        assert layer.macs * layer.repeats == macs
        assert layer.repeats == groups


def test_outputs_may_be_called_k_without_a_c(tmp_path: Path) -> None:
    path = tmp_path / "conv1d.yaml"
    path.write_text(
        "problem:\n  instance: {K: 32, R: 3, P: 16}\n  shape:\n    dimensions: [K, R, P]\n    data_spaces:\n"
        "    - {name: Weights, projection: [[[K]], [[R]]]}\n"
        "    - {name: Inputs, projection: [[[R], [P]]]}\n"
        "    - {name: Outputs, projection: [[[K]], [[P]]], read_write: True}\n"
    )
    (layer,) = load(str(path)).layers
    assert (layer.K, layer.C, layer.macs) == (32, 1, 1536)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("C: 16, ", "", "problem.instance lacks C"),
        ("C: 16", "c: 16", "unknown dim or coefficient 'c' in .*line 3"),
        ("Hstride: 2", "HStride: 2", "unknown dim or coefficient 'HStride'.*did you mean 'Hstride'"),
        ("G: 4}", "G: 4, densities: {Weights: 0.5}}", "sparse data are not modelled"),
        ("name: conv", "nam: conv", "unknown key 'nam' in .*line 5; did you mean 'name'"),
        ("read-write", "read-writes", "unknown key 'read-writes'"),
        ("dimensions: [", "dimensions: [C, ", "dimension 'C' is there twice"),
        ("name: Weights", "name: Inputs", "data space 'Inputs' is there twice"),
    ],
)
def test_what_a_problem_misspells_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "problem.yaml"
    path.write_text(PROBLEM.replace(old, new))
    with pytest.raises(InputError, match=said):
        load(str(path))
