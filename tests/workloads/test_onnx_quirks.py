"""Valid ONNX models as tools write them: open sizes of -1, stripped weights, shapes beside, long chains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from dse.support.errors import InputError
from tests.conftest import Dse
from tests.workloads.onnx_cases import model, operator, written
from workloads import load


def with_constants(made: onnx.ModelProto, **values: object) -> onnx.ModelProto:
    for name, value in values.items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return made


@pytest.mark.parametrize(
    ("shapes", "advice"),
    [
        ({"x": [-1, -1, 768]}, "--input x=1x128x768"),
        ({"x": [-1, 3, 32, 768]}, "--input x=1x3x32x768"),
        ({"x": ["batch", 3, "height", 768]}, "--input x=1x3x768x768"),
        ({"x": ["batch", 12, "past_len", 768]}, "--input x=1x12x0x768"),
    ],
)
def test_sizes_of_minus_one_are_open_and_what_is_advised_is_taken(
    tmp_path: Path, dse: Dse, shapes: dict[str, list[int]], advice: str
) -> None:
    path = written(tmp_path / "m.onnx", model(operator("MatMul", "x w", "y"), w=[768, 3072], **shapes))
    refused = dse("import", path, "--out", str(tmp_path / "m.toml")).refused()
    assert "leaves shapes of its inputs open" in refused
    assert advice in refused
    if "x0x" not in advice:
        dse("import", path, *advice.split(), "--out", str(tmp_path / "m.toml"))
        rows = np.prod([int(size) for size in advice.partition("=")[2].split("x")[:-1]])
        assert load(tmp_path / "m.toml").macs == rows * 768 * 3072


def test_a_past_of_no_keys_is_read(tmp_path: Path, dse: Dse) -> None:
    nodes = (
        operator("Concat", "past k", "keys", axis=2),
        operator("Transpose", "keys", "kt", perm=[0, 1, 3, 2]),
        operator("MatMul", "q kt", "s"),
    )
    made = model(*nodes, past=[1, 8, "past", 64], k=[1, 8, 16, 64], q=[1, 8, 16, 64])
    path, out = written(tmp_path / "past.onnx", made), tmp_path / "past.toml"
    dse("import", path, "--input", "past=1x8x0x64", "--out", str(out))
    (layer,) = load(out).layers
    assert (layer.product, layer.repeats) == ({"M": 16, "N": 16, "K": 64}, 8)


@pytest.mark.parametrize(("rows", "columns"), [(4, 6), (128, 256)])
def test_ranges_of_unequal_lengths_may_be_set_against_each_other(
    tmp_path: Path, rows: int, columns: int
) -> None:
    made = model(
        operator("Range", "zero rows one", "r"),
        operator("Range", "zero columns one", "c"),
        operator("Unsqueeze", "r last", "r1"),
        operator("Unsqueeze", "c first", "c1"),
        operator("Sub", "r1 c1", "d"),
        operator("Cast", "d", "bias", to=TensorProto.FLOAT),
        operator("MatMul", "x w", "s"),
        operator("Add", "s bias", "y"),
        x=[rows, 8],
        w=[8, columns],
    )
    zero, one = np.int64(0), np.int64(1)
    with_constants(made, zero=zero, one=one, rows=np.int64(rows), columns=np.int64(columns))
    with_constants(made, last=np.array([1]), first=np.array([0]))
    assert load(written(tmp_path / "r.onnx", made)).macs == rows * columns * 8


def test_stripped_weights_of_any_size_are_weights(tmp_path: Path) -> None:
    made = model(operator("Conv", "x w", "y"), x=[1, 8, 34, 34])
    made.graph.initializer.append(TensorProto(name="w", dims=[16, 8, 3, 3], data_type=TensorProto.FLOAT))
    assert load(written(tmp_path / "stripped.onnx", made)).macs == 16 * 8 * 9 * 32 * 32


def test_a_shape_in_a_file_beside_is_read(tmp_path: Path) -> None:
    nodes = (operator("Reshape", "x shape", "r"), operator("MatMul", "r w", "y"))
    made = with_constants(model(*nodes, x=[4, 4, 16], w=[64, 10]), shape=np.array([4, 64]))
    path = tmp_path / "beside.onnx"
    onnx.save_model(
        made,
        path,
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location="w.bin",
        size_threshold=0,
    )
    assert (tmp_path / "w.bin").exists()
    assert load(path).macs == 4 * 64 * 10
    (tmp_path / "w.bin").unlink()
    path.touch()
    with pytest.raises(InputError, match="nothing tells what Reshape 'r' makes"):
        load(path)


def test_a_shape_that_does_not_follow_is_said_with_the_operator_it_comes_from(tmp_path: Path) -> None:
    made = model(
        operator("FusedConv", "x w", "a", domain="com.microsoft", name="fc"),
        operator("Relu", "a", "b"),
        operator("Conv", "b w", "y"),
        x=[1, 8, 8, 8],
        w=[8, 8, 1, 1],
    )
    with pytest.raises(InputError, match=r"nothing tells what com\.microsoft::FusedConv 'fc' makes"):
        load(written(tmp_path / "foreign.onnx", made))


def test_the_standards_long_name_is_its_short_one(tmp_path: Path) -> None:
    made = model(operator("Conv", "x w", "y"), x=[1, 3, 8, 8], w=[4, 3, 3, 3])
    made.graph.node[0].domain = "ai.onnx"
    assert load(written(tmp_path / "long.onnx", made)).macs == 4 * 3 * 9 * 36


@pytest.mark.parametrize(
    "kind", ["LinearClassifier", "SVMRegressor", "AffineGrid", "LinearAttention", "Det", "Unheard"]
)
def test_an_operator_that_no_table_calls_free_is_unknown_work(tmp_path: Path, kind: str) -> None:
    domain = "ai.onnx.ml" if kind in ("LinearClassifier", "SVMRegressor") else ""
    from workloads.models.collected import Collected
    from workloads.models.onnx_operators import Node, read_node

    found = Collected()
    read_node(Node(helper.make_node(kind, ["x"], ["y"], domain=domain), {"x": (4, 4)}), found)
    with pytest.raises(InputError, match=kind):
        found.network("n", "here")


def test_a_long_chain_of_shapes_that_follow_from_each_other_is_read(tmp_path: Path) -> None:
    """As windows are merged again: each reshape's sizes follow from those of the one before."""
    nodes, before = [], "x"
    for place in range(60):
        nodes += [
            operator("Shape", before, f"s{place}"),
            operator("Gather", f"s{place} zero", f"g{place}"),
            operator("Div", f"g{place} two", f"d{place}"),
            operator("Concat", f"d{place} rest", f"c{place}", axis=0),
            operator("Reshape", f"{before} c{place}", f"r{place}"),
            operator("Reshape", f"r{place} back", f"b{place}"),
            operator("MatMul", f"b{place} w", f"m{place}"),
        ]
        before = f"m{place}"
    made = model(*nodes, x=[8, 16], w=[16, 16])
    with_constants(made, zero=np.array([0]), two=np.array([2]), rest=np.array([-1]), back=np.array([8, 16]))
    assert load(written(tmp_path / "long.onnx", made)).macs == 60 * 8 * 16 * 16
