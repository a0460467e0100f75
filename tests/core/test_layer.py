"""A layer's loops, outputs and work, and what its constructor and file form refuse."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.core.layer import MAX_SIZE, Layer
from dse.core.reads import Reads
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.support.errors import InputError

CONV = {"type": "CONV", "K": 64, "C": 3, "Y": 224, "X": 224, "R": 7, "S": 7}


def refusal(data: object, where: str = "net.toml: layers[3] 'conv4'") -> str:
    """The one line with which a described layer is refused."""
    with pytest.raises(InputError) as caught:
        Layer.from_dict(data, where)
    text = str(caught.value)
    assert "\n" not in text
    return text


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """Small convolutions of any stride and padding."""
    size, pair = st.integers(1, 20), st.tuples(st.integers(1, 4), st.integers(1, 4))
    windows, padding = draw(pair), draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    kind = draw(st.sampled_from(["CONV", "DSCONV"]))
    rows, columns = (draw(st.integers(max(1, w - 2 * p), 20)) for w, p in zip(windows, padding, strict=True))
    outputs = 1 if kind == "DSCONV" else draw(size)
    return Layer(kind, outputs, draw(size), rows, columns, windows[0], windows[1], draw(pair), padding)


def brute_force_outputs(size: int, pad: int, window: int, stride: int) -> int:
    """Count the window's positions one by one."""
    return sum(1 for start in range(-pad, size + pad, stride) if start + window <= size + pad)


@given(layers())
def test_outputs_are_the_positions_of_the_window(layer: Layer) -> None:
    expected = tuple(
        brute_force_outputs(*axis)
        for axis in zip((layer.Y, layer.X), layer.padding, (layer.R, layer.S), layer.stride, strict=True)
    )
    assert layer.output == expected


@given(layers())
def test_a_lowered_layer_keeps_outputs_and_work(layer: Layer) -> None:
    lowered = layer.lowered()
    assert (lowered.stride, lowered.padding) == ((1, 1), (0, 0))
    assert lowered.loops == layer.loops
    assert lowered.macs == layer.macs
    assert lowered.lowered() == lowered


@given(layers())
def test_plain_data_reads_back_as_the_same_layer(layer: Layer) -> None:
    assert Layer.from_dict(layer.to_dict()) == layer


def test_the_first_convolution_of_resnet_has_its_published_work() -> None:
    layer = Layer.from_dict({**CONV, "stride": 2, "padding": 3})
    assert layer.output == (112, 112)
    assert layer.macs == 64 * 3 * 112 * 112 * 7 * 7
    assert layer.lowered() == Layer("CONV", 64, 3, 118, 118, 7, 7)
    assert layer.strided
    assert str(layer) == "CONV K64 C3 Y224 X224 R7 S7 stride 2 padding 3"


def test_rows_and_columns_may_differ() -> None:
    layer = Layer("CONV", 8, 4, 10, 20, 3, 5, stride=(1, 2), padding=(1, 0))
    assert layer.output == (10, 8)
    assert layer.loops == {"K": 8, "C": 4, "Y": 10, "X": 8, "R": 3, "S": 5}
    assert str(layer) == "CONV K8 C4 Y10 X20 R3 S5 stride 1x2 padding 1x0"


def test_a_product_is_a_convolution_of_single_columns() -> None:
    product = Layer.from_dict({"type": "GEMM", "M": 512, "N": 768, "K": 64})
    assert product == Layer("CONV", K=768, C=64, Y=512, X=1, R=1, S=1)
    assert product.macs == 512 * 768 * 64


def test_what_is_a_product_is_shown_as_one_however_it_was_written() -> None:
    for data in (
        {"type": "GEMM", "M": 512, "N": 768, "K": 64},
        {"type": "CONV", "K": 768, "C": 64, "Y": 512, "X": 1, "R": 1, "S": 1},
        Layer.gemm(512, 768, 64).lowered().to_dict(),
    ):
        assert str(Layer.from_dict(data)) == "GEMM M512 N768 K64"
    assert str(Layer.fc(1000, 512, batch=8)) == "GEMM M1 N1000 K512 batch 8"
    assert str(Layer.fc(1000, 512, batch=8).folded()) == "GEMM M8 N1000 K512"
    # With a second column, a filter, a stride or channels by themselves it is none.
    plain = Layer("CONV", 8, 4, 10, 1, 1, 1)
    others = [replace(plain, **change) for change in ({"X": 2}, {"R": 3}, {"stride": 2}, {"padding": 1})]
    for other in (*others, replace(plain, groups=2), Layer("DSCONV", 1, 4, 10, 1, 1, 1)):
        assert not str(other).startswith("GEMM")


def test_sizes_of_a_product_are_refused_by_its_own_letters() -> None:
    for make, message in (
        (lambda: Layer.gemm(0, 1, 2, name="scores"), "layer 'scores': M must be at least 1, got 0"),
        (lambda: Layer.gemm(1, 1, 2**31), "layer: K must be at most 2147483647, got 2147483648"),
        (lambda: Layer.fc(0, 5), "layer: outputs must be at least 1, got 0"),
    ):
        with pytest.raises(InputError, match=message):
            make()


def test_a_fully_connected_layer_has_one_output_position() -> None:
    layer = Layer.from_dict({"type": "FC", "outputs": 1000, "inputs": 512})
    assert layer == Layer("CONV", K=1000, C=512, Y=1, X=1, R=1, S=1)


def test_a_depthwise_layer_may_leave_out_its_single_output() -> None:
    data = {"type": "DSCONV", "C": 32, "Y": 112, "X": 112, "R": 3, "S": 3, "padding": [1, 1]}
    assert Layer.from_dict(data) == Layer.from_dict({**data, "K": 1})
    assert Layer.from_dict(data).macs == 32 * 112 * 112 * 9
    assert "a DSCONV layer has its channels in C and K = 1, got K = 32" in refusal({**data, "K": 32})


def test_layers_of_equal_loops_are_equal_whatever_their_labels() -> None:
    one = Layer.from_dict({**CONV, "name": "a", "repeats": 2})
    other = Layer.from_dict({**CONV, "name": "b"})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Layer.from_dict({**CONV, "padding": 1})
    assert (one.name, one.repeats) == ("a", 2)
    assert (one.lowered().name, one.lowered().repeats) == ("a", 2)


def test_a_layer_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Layer.from_dict(CONV).K = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"K": 0}, "K must be at least 1, got 0"),
        ({"C": -3}, "C must be at least 1, got -3"),
        ({"Y": 2.0}, "Y must be a whole number, got 2.0"),
        ({"Y": float("nan")}, "Y must be a whole number, got nan"),
        ({"X": "224"}, "X must be a whole number, got '224'"),
        ({"R": True}, "R must be a whole number, got True"),
        ({"K": 2**31}, f"K must be at most {MAX_SIZE}, got 2147483648"),
        ({"K": 10**30}, f"K must be at most {MAX_SIZE}"),
        ({"stride": 0}, "stride must be at least 1, got 0"),
        ({"stride": [1, 2, 3]}, "stride must be one number or [rows, columns], got [1, 2, 3]"),
        ({"padding": [-1, 0]}, "padding must be at least 0, got -1"),
        ({"padding": 2**30}, "must stay at most 2147483647 when padded"),
        ({"repeats": 0}, "repeats must be at least 1, got 0"),
        ({"repeats": 2**63}, "repeats must be at most what 64 bits hold"),
        ({"name": 7}, "name must be text, got 7"),
        ({"strides": 2}, "unknown key 'strides' in net.toml: layers[3] 'conv4'; did you mean 'stride'?"),
        ({"type": "CONVOLUTION"}, "unknown type 'CONVOLUTION' in net.toml: layers[3] 'conv4'"),
        ({"type": ["CONV"]}, "unknown type ['CONV']"),
        ({"Y": 6}, "Y = 6 with padding 0 is smaller than its filter of 7"),
    ],
)
def test_a_wrong_entry_is_named_with_its_place(change: dict[str, Any], expected: str) -> None:
    text = refusal({**CONV, **change})
    assert expected in text
    assert text.count("net.toml: layers[3] 'conv4'") == 1


@pytest.mark.parametrize("key", ["type", "K", "S"])
def test_a_missing_key_is_named(key: str) -> None:
    data = {name: value for name, value in CONV.items() if name != key}
    assert f"net.toml: layers[3] 'conv4' lacks '{key}'" in refusal(data)


@pytest.mark.parametrize("data", [None, 3, "CONV", [CONV], float("nan")])
def test_only_a_table_describes_a_layer(data: object) -> None:
    assert "must be a table of names and values" in refusal(data)


def test_sizes_whose_work_overflows_64_bits_are_refused() -> None:
    huge = {**CONV, "K": MAX_SIZE, "C": MAX_SIZE}
    assert "its multiply-accumulates do not fit in 64 bits" in refusal(huge)


def test_a_named_layer_says_its_name_once_when_refused() -> None:
    text = refusal({**CONV, "Y": 6, "name": "conv4"})
    assert text == ("net.toml: layers[3] 'conv4': Y = 6 with padding 0 is smaller than its filter of 7")
    with pytest.raises(InputError, match="layer 'conv4': K must be at least 1"):
        Layer("CONV", 0, 1, 1, 1, 1, 1, name="conv4")


def test_a_product_names_its_own_sizes_when_refused() -> None:
    assert "N must be at least 1, got 0" in refusal({"type": "GEMM", "M": 1, "N": 0, "K": 1})
    assert "unknown key 'stride'" in refusal({"type": "GEMM", "M": 1, "N": 1, "K": 1, "stride": 1})


# Dilation, groups, batch


@st.composite
def whole_layers(draw: st.DrawFn) -> Layer:
    """Small layers with groups, a batch, strides, paddings and dilations."""
    count, pair = st.integers(1, 4), st.tuples(st.integers(1, 3), st.integers(1, 3))
    groups, windows, dilation = draw(count), draw(pair), draw(pair)
    padding = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    sizes = [
        (taps - 1) * step + draw(st.integers(1, 6)) for taps, step in zip(windows, dilation, strict=True)
    ]
    channels = [groups * draw(count), groups * draw(count)]
    more: dict[str, Any] = {
        "dilation": dilation,
        "groups": groups,
        "batch": draw(count),
        "repeats": draw(count),
    }
    return Layer("CONV", *channels, *sizes, *windows, draw(pair), padding, **more)


@given(whole_layers())
def test_folding_keeps_the_work_to_the_last_multiplication(layer: Layer) -> None:
    folded = layer.folded()
    assert folded.macs * folded.repeats == layer.macs * layer.repeats
    assert (folded.groups, folded.batch) == (1, 1)
    assert folded.folded() == folded
    outputs = folded.output[0] * folded.output[1] * (folded.C if folded.type == "DSCONV" else folded.K)
    assert (
        outputs * folded.repeats == layer.batch * layer.K * layer.output[0] * layer.output[1] * layer.repeats
    )
    assert folded.loops["R"] == layer.R


@given(whole_layers())
def test_a_dilated_filter_has_its_taps_apart(layer: Layer) -> None:
    extents = [(taps - 1) * step + 1 for taps, step in zip((layer.R, layer.S), layer.dilation, strict=True)]
    sizes = zip((layer.Y, layer.X), layer.padding, extents, layer.stride, strict=True)
    assert layer.output == tuple(brute_force_outputs(*axis) for axis in sizes)


@given(whole_layers())
def test_what_a_layer_has_beside_its_loops_reads_back_and_is_left_out_otherwise(layer: Layer) -> None:
    data = layer.to_dict()
    assert Layer.from_dict(data) == layer
    assert ("dilation" in data) == (layer.dilation != (1, 1))
    assert [name in data for name in ("groups", "batch")] == [layer.groups > 1, layer.batch > 1]


def test_each_kind_of_folding() -> None:
    grouped = Layer("CONV", 64, 32, 9, 9, 3, 3, groups=8, repeats=2)
    assert (grouped.folded(), grouped.folded().repeats) == (Layer("CONV", 8, 4, 9, 9, 3, 3), 16)
    doubled = Layer("CONV", 64, 32, 9, 9, 3, 3, groups=32)
    assert (doubled.folded(), doubled.folded().repeats) == (Layer("DSCONV", 1, 32, 9, 9, 3, 3), 2)
    batch = Layer("CONV", 6, 4, 9, 9, 3, 3, batch=5)
    assert (batch.folded(), batch.folded().repeats) == (Layer("CONV", 6, 4, 9, 9, 3, 3), 5)
    # Samples of a filter of one row are rows; those that a stride leaves over are read by nobody.
    pointwise = Layer("CONV", 6, 4, 8, 8, 1, 1, stride=(2, 2), batch=5)
    assert (pointwise.folded(), pointwise.folded().repeats) == (Layer("CONV", 6, 4, 39, 8, 1, 1, (2, 2)), 1)
    line = Layer("CONV", 6, 4, 1, 20, 1, 5, batch=5)
    assert line.folded() == Layer("CONV", 6, 4, 5, 20, 1, 5)
    column = Layer("CONV", 6, 4, 20, 1, 5, 1, padding=(2, 0), batch=5)
    assert column.folded() == Layer("CONV", 6, 4, 20, 5, 5, 1, padding=(2, 0))
    assert Layer.gemm(7, 8, 9, batch=5).folded() == Layer.gemm(35, 8, 9)
    assert Layer.fc(8, 9, batch=5).folded() == Layer.gemm(5, 8, 9)


def test_a_dilation_without_effect_is_none() -> None:
    assert Layer("CONV", 2, 2, 5, 5, 1, 3, dilation=(4, 2)).dilation == (1, 2)
    assert Layer("CONV", 2, 2, 5, 5, 1, 1, dilation=(4, 2)) == Layer("CONV", 2, 2, 5, 5, 1, 1)


def test_what_outputs_read_of_the_padded_input() -> None:
    plain = Layer("CONV", 2, 2, 9, 9, 3, 3, (2, 1), (1, 0)).reads
    assert plain == (Reads(2, 3, 1, 10), Reads(1, 3, 0, 9))
    # Every second row alone is read where rows are skipped twice over: 0, 2 and 4, then 2, 4 and 6.
    assert Layer("CONV", 2, 2, 9, 9, 3, 3, 2, 1, dilation=2).reads[0] == Reads(1, 3, 1, 5)


def test_a_layer_that_is_not_folded_has_no_loops_to_map() -> None:
    for layer in (Layer("CONV", 6, 4, 9, 9, 3, 3, batch=5), Layer("CONV", 6, 4, 9, 9, 3, 3, groups=2)):
        for use in (lambda one: one.loops, Layer.lowered, lambda one: Problem(one, PRESETS["edge"])):
            with pytest.raises(InputError, match=r"no single run of loops; map layer\.folded\(\)"):
                use(layer)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"groups": 2}, "C = 3 does not split into 2 equal groups"),
        ({"groups": 3}, "K = 64 does not split into 3 equal groups"),
        ({"groups": 0}, "groups must be at least 1, got 0"),
        ({"batch": -1}, "batch must be at least 1, got -1"),
        ({"dilation": 0}, "dilation must be at least 1, got 0"),
        ({"dilation": 40}, "Y = 224 with padding 0 is smaller than its filter of 7 at dilation 40"),
        ({"type": "DSCONV", "K": 1, "groups": 3}, "unknown key 'groups'"),
    ],
)
def test_groups_batch_and_dilation_are_checked(changes: dict[str, Any], words: str) -> None:
    assert words in refusal({**CONV, **changes})


def test_a_model_without_strides_has_the_lowered_layer_of_a_dilated_one() -> None:
    layer = Layer("CONV", 8, 8, 20, 20, 3, 3, padding=(2, 2), dilation=(2, 2))
    assert layer.lowered() == Layer("CONV", 8, 8, 22, 22, 3, 3)
    assert layer.macs == layer.lowered().macs == 8 * 8 * 400 * 9
    whole, plain = (Problem(one, PRESETS["edge"], cost_model="maestro") for one in (layer, layer.lowered()))
    assert whole.fingerprint == plain.fingerprint
    own, other = (Problem(one, PRESETS["edge"], cost_model="loopnest") for one in (layer, layer.lowered()))
    assert own.fingerprint != other.fingerprint
