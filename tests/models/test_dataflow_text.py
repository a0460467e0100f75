"""Mappings as MAESTRO's dataflow text."""

from __future__ import annotations

import contextlib
import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.core.layer import DIMS, Layer
from dse.domains.clustered.formats.dataflow_text import maestro_text, read_maestro_text
from dse.domains.clustered.mapping import Level, Mapping
from dse.support.errors import InputError
from tests.models.mapping_strategies import LAYERS, refusal, written_mapping

# The shape of the files that GAMMA and ArchGym leave behind: no indentation, the type as the layer's name.
GAMMA_STYLE = """Network 0 {
Layer CONV {
Type: CONV
Dimensions { K: 24, C: 72, Y: 56, X: 56, R: 1, S: 1 }
Dataflow {
TemporalMap(14,14) Y';
SpatialMap(3,3) K;
TemporalMap(Sz(R),Sz(R)) R;
TemporalMap(1,1) S;
TemporalMap(28,28) X';
TemporalMap(Sz(C),72) C;
Cluster(24,P);
SpatialMap(1,1) C;
TemporalMap(7,7) Y';
TemporalMap(3,3) K;
TemporalMap(1,1) S;
TemporalMap(1,1) R;
TemporalMap(2,2) X';
}
}
}"""


@given(st.sampled_from(LAYERS), written_mapping)
def test_a_mapping_survives_the_text(layer: Layer, mapping: Mapping) -> None:
    read_layer, read_mapping = read_maestro_text(maestro_text(layer, mapping))
    assert (read_layer, read_mapping) == (layer.lowered(), mapping)
    assert read_layer.name == layer.name


@given(written_mapping)
def test_an_unpadded_layer_keeps_its_stride_on_demand(mapping: Mapping) -> None:
    layer = Layer("CONV", 64, 3, 230, 224, 7, 5, stride=(2, 3))
    text = maestro_text(layer, mapping, lower=False)
    assert "Stride { X: 3, Y: 2 }" in text
    assert read_maestro_text(text) == (layer, mapping)


@given(
    st.sampled_from(LAYERS),
    written_mapping,
    st.lists(
        st.sampled_from(["", " ", "\t", "\n", "\r\n", "// {Cluster(2,P);\n", " //\n//'\n "]), min_size=1
    ),
)
def test_spaces_and_comments_do_not_matter(layer: Layer, mapping: Mapping, fillers: list[str]) -> None:
    tokens = re.findall(r"[{}(),:;]|[^\s{}(),:;]+", maestro_text(layer, mapping))
    text = ""
    for token, after, filler in zip(tokens, [*tokens[1:], ""], itertools.cycle(fillers), strict=False):
        between_words = " " if token[-1] not in "{}(),:;" and after[:1] not in tuple("{}(),:;") else ""
        text += token + between_words + filler
    assert read_maestro_text(text) == (layer.lowered(), mapping)


def test_what_is_written_is_what_maestro_reads() -> None:
    mapping = Mapping(
        Level("K", ("K", "C", "Y", "X", "R", "S"), (4, 64, 16, 8, 3, 3)),
        16,
        Level("X", ("S", "R", "X", "Y", "C", "K"), (2, 1, 16, 2, 3, 3)),
    )
    expected = """
        Network mapping { Layer conv1_2 {
          Type: CONV
          Dimensions { K: 64, C: 64, Y: 226, X: 226, R: 3, S: 3 }
          Dataflow {
            SpatialMap(4,4) K; TemporalMap(64,64) C; TemporalMap(16,16) Y'; TemporalMap(8,8) X';
            TemporalMap(3,3) R; TemporalMap(3,3) S;
            Cluster(16,P);
            TemporalMap(3,3) S; TemporalMap(3,3) R; SpatialMap(2,2) X'; TemporalMap(16,16) Y';
            TemporalMap(1,1) C; TemporalMap(2,2) K; } } }
    """
    assert maestro_text(LAYERS[0], mapping).split() == expected.split()


def test_a_text_in_the_style_of_gamma_is_read() -> None:
    layer, mapping = read_maestro_text(GAMMA_STYLE)
    assert layer == Layer("CONV", 24, 72, 56, 56, 1, 1)
    assert layer.name == ""
    assert mapping.outer == Level("K", ("Y", "K", "R", "S", "X", "C"), (3, 72, 14, 28, 1, 1))
    assert mapping.cluster_size == 24
    assert mapping.inner == Level("C", ("C", "Y", "K", "S", "R", "X"), (3, 1, 7, 2, 1, 1))


def test_a_name_that_would_break_the_text_is_made_safe() -> None:
    layer = Layer("CONV", 4, 4, 8, 8, 1, 1, name="a {b}: //c;")
    _, mapping = read_maestro_text(GAMMA_STYLE)
    assert read_maestro_text(maestro_text(layer, mapping))[0].name == "a__b_____c_"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("Network 0 {", "", 2, "expected Network, got 'Layer'"),
        ("Network 0 {", "Network 0 (", 1, "expected {, got '('"),
        ("Layer CONV", "Lair CONV", 2, "expected Layer, got 'Lair'"),
        ("Type: CONV", "Type CONV", 3, "expected :, got 'CONV'"),
        ("Type: CONV", "Type: GEMM", 3, "unknown type 'GEMM'; expected one of CONV, DSCONV"),
        ("Type: CONV", "Typ: CONV", 3, "unknown entry 'Typ'; did you mean 'Type'?"),
        ("Type: CONV\n", "\n", 20, "the layer lacks Type"),
        ("Type: CONV", "Type: CONV Type: CONV", 3, "a second Type"),
        ("Type: CONV", "Type: DSCONV", 4, "a DSCONV layer has its channels in C and K = 1, got K = 24"),
        ("Dimensions {", "Stride { X: 2 }\nDimensions {", 4, "Stride lacks Y"),
        ("Dataflow", "Stride { X: 2, Y: 2 }\nDataflow", 5, "Stride after Dimensions"),
        ("R: 1, S", "S", 4, "Dimensions lacks R"),
        ("R: 1, S", "R: 1, R", 4, "a second R in Dimensions"),
        ("R: 1, S", "R: 1 S", 4, "expected , or }, got 'S'"),
        ("K: 24", "N: 24", 4, "unknown dim 'N'; expected one of K, C, Y, X, R, S"),
        ("K: 24", "K: 0", 4, "expected a whole number of 1 to 2147483647, got '0'"),
        ("K: 24", "K: 2147483648", 4, "expected a whole number of 1 to 2147483647, got '2147483648'"),
        ("K: 24", "K: " + "9" * 5000, 4, "expected a whole number of 1 to 2147483647, got '999"),
        ("K: 24", "K: 2e1", 4, "expected a whole number of 1 to 2147483647, got '2e1'"),
        ("K: 24", "K: -4", 4, "expected a whole number of 1 to 2147483647, got '-4'"),
        ("K: 24", "K: ٣", 4, "expected a whole number of 1 to 2147483647"),
        ("R: 1, S", "R: 57, S", 4, "Y = 56"),
        ("Dimensions {", "Dataflow {", 4, "Dataflow before Dimensions"),
        ("SpatialMap(3,3) K", "SpatialMap(3,1) K", 7, "size 3 and offset 1 differ"),
        ("SpatialMap(3,3) K", "SpatialMap(3) K", 7, "expected ,, got ')'"),
        ("SpatialMap(3,3) K;", "SpatialMap(3,3) K", 8, "expected ;, got 'TemporalMap'"),
        ("SpatialMap(3,3) K", "SpatialMap(Sz(N),3) K", 7, "unknown dim 'N'"),
        ("SpatialMap(3,3) K", "SpacialMap(3,3) K", 7, "unknown directive 'SpacialMap'; did you mean"),
        ("SpatialMap(3,3) K", "TemporalMap(3,3) K", 12, "the outer level lacks a SpatialMap"),
        ("SpatialMap(1,1) C", "TemporalMap(1,1) C", 19, "the inner level lacks a SpatialMap"),
        ("TemporalMap(14,14) Y'", "SpatialMap(14,14) Y'", 7, "a second SpatialMap at the outer level"),
        ("TemporalMap(14,14) Y'", "TemporalMap(14,14) Y", 6, "a map of Y counts inputs; expected Y'"),
        ("TemporalMap(14,14) Y'", "TemporalMap(14,14) N", 6, "unknown dim 'N'"),
        ("TemporalMap(14,14) Y';", "", 12, "the outer level lacks a map of Y'"),
        ("TemporalMap(7,7) Y'", "TemporalMap(7,7) K", 15, "a second map of K at the inner level"),
        ("Cluster(24,P)", "Cluster(24,L)", 12, "expected P, got 'L'; only physical clusters are priced"),
        ("Cluster(24,P)", "Cluster(0,P)", 12, "expected a whole number"),
        ("Cluster(24,P);", "", 13, "a second map of C at the outer level; Cluster(P,P) begins"),
        ("TemporalMap(2,2) X';", "TemporalMap(2,2) X'; Cluster(2,P);", 18, "unknown directive 'Cluster'"),
        ("X';\n}\n}\n}", "X';\n}\n}\nLayer", 21, "expected }, got 'Layer'; one layer a text"),
        ("X';\n}\n}\n}", "X';\n}\n}\n}\nNetwork 1", 22, "expected the end, got 'Network'; one network"),
        ("X';\n}\n}\n}", "X';\n}", 19, "expected Type or Stride or Dimensions or Dataflow or }, got the"),
    ],
)
def test_a_fault_is_named_with_its_line(old: str, new: str, line: int, message: str) -> None:
    text = GAMMA_STYLE.replace(old, new, 1)
    assert text != GAMMA_STYLE
    said = refusal(lambda: read_maestro_text(text, "best.m"))
    assert said.startswith(f"best.m line {line}: ")
    assert message in said


@pytest.mark.parametrize(
    "text", ["", "// nothing\n", "x" * 10_000_000, "(" * 1_000_000, "\0"], ids=lambda text: text[:9]
)
def test_a_text_that_is_no_dataflow_gets_one_line(text: str) -> None:
    assert "expected Network" in refusal(lambda: read_maestro_text(text))


@settings(max_examples=40)
@given(st.lists(st.integers(0, 0xD7FF).map(chr)).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_maestro_text(text)


@given(st.integers(0, len(GAMMA_STYLE) - 1), st.integers(0, 12))
def test_a_text_with_a_piece_torn_out_is_read_or_refused(start: int, length: int) -> None:
    with contextlib.suppress(InputError):
        read_maestro_text(GAMMA_STYLE[:start] + GAMMA_STYLE[start + length :])


def test_sizes_that_maestro_cannot_read_are_not_written() -> None:
    layer, mapping = read_maestro_text(GAMMA_STYLE)
    zero = Mapping(mapping.outer, 0, mapping.inner)
    assert "cluster_size = 0" in refusal(lambda: maestro_text(layer, zero))
    huge = Mapping(Level("K", DIMS, (2**31, 1, 1, 1, 1, 1)), 1, mapping.inner)
    assert "outer.tile.K = 2147483648" in refusal(lambda: maestro_text(layer, huge))
    assert "no padding" in refusal(lambda: maestro_text(LAYERS[0], mapping, lower=False))
