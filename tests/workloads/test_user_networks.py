"""Networks of the user's own: what a TOML file may hold, and how a wrong one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.core.layer import Layer
from dse.support.errors import InputError
from tests import ROOT
from tests.conftest import Dse
from workloads import layer_specs, load, load_layer, load_layers

EXAMPLE = ROOT / "examples" / "network.toml"
TINY = """
name = "tiny"
[[layers]]
name = "first"
type = "CONV"
K = 8
C = 3
Y = 16
X = 16
R = 3
S = 3
stride = 2
padding = 1
[[layers]]
type = "GEMM"
M = 4
N = 5
K = 6
repeats = 3
[[layers]]
name = "last"
type = "FC"
outputs = 10
inputs = 8
"""


def refusal(spec: str | Path) -> str:
    """The one line with which `load_layer` refuses."""
    with pytest.raises(InputError) as caught:
        load_layer(str(spec))
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_the_example_file_is_a_network() -> None:
    network = load(EXAMPLE)
    assert network.name == "keyword-spotter"
    assert [layer.name for layer in network.layers] == [
        *("conv1", "depthwise", "pointwise", "attention", "classifier", "context")
    ]
    assert network.layer("conv1").output == (25, 5)
    assert network.layer("depthwise").repeats == 4
    assert network.layer("context") == Layer("CONV", 16, 16, 25, 10, 3, 1, padding=(2, 0), dilation=(2, 1))
    assert load_layer(f"{EXAMPLE}:3").name == "attention"
    assert load_layer(f"{EXAMPLE}:attention") == Layer.gemm(125, 125, 64)
    assert load(EXAMPLE, "gamma").layer("conv1") == Layer("CONV", 64, 1, 49, 10, 10, 4)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


def test_an_unnamed_layer_goes_by_its_place_in_the_file(tiny: Path) -> None:
    network = load(tiny)
    assert [layer.name for layer in network.layers] == ["first", "layer1", "last"]
    assert network.source == str(tiny)
    assert layer_specs(str(tiny)) == tuple(f"{tiny}:{name}" for name in ("first", "layer1", "last"))
    assert load_layer(f"{tiny}:layer1").repeats == 3


def test_equal_layers_of_a_file_merge(tiny: Path) -> None:
    tiny.write_text(TINY + '[[layers]]\nname = "again"\ntype = "GEMM"\nM = 4\nN = 5\nK = 6\n')
    assert load(tiny).members == (("first",), ("layer1", "again"), ("last",))
    assert load_layer(f"{tiny}:again").repeats == 4


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('name = "tiny"', "", "lacks 'name'"),
        ('name = "tiny"', "name = 3", "name must be a line of text, got 3"),
        ('name = "tiny"', 'name = "tiny"\nsource = "\\n"', "source must be a line of text"),
        ('name = "tiny"', 'nam = "tiny"', "unknown key 'nam'"),
        ("stride = 2", "strid = 2", "unknown key 'strid' in network file"),
        (
            "stride = 2",
            "foo = 2",
            "bits, reads, beside, whole, whole_rows, also_read",
        ),
        ("stride = 2", "stride = nan", "layers[0] 'first': stride must be a whole number, got nan"),
        ("K = 8", "", "layers[0] 'first' lacks 'K'"),
        ("K = 8", "K = 8.0", "layers[0] 'first': K must be a whole number, got 8.0"),
        ("K = 8", "K = 2000000000\nrepeats = 9_000_000_000", "with all repeats do not fit in 64 bits"),
        ("M = 4", "M = 9223372036854775808", "layers[1]: M must be at most"),
        ("M = 4", 'M = 4\nname = "first"', "layers[1] 'first': the name 'first' is taken by layers[0]"),
        ('name = "last"', 'name = "layer1"', "layers[2] 'layer1': the name 'layer1' is taken by layers[1]"),
        ('name = "last"', 'name = "2"', "name must not be a number or hold ':'"),
        ('name = "last"', 'name = "a:b"', "name must not be a number or hold ':'"),
        ('name = "last"', 'name = "a\\nb"', "name must be a line of text, got 'a\\nb'"),
        ("inputs = 8", "inputs = 0", "layers[2] 'last': inputs must be at least 1, got 0"),
        ("R = 3", "R = 30", "layers[0] 'first': Y = 16 with padding 1 is smaller than its filter of 30"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tiny: Path, old: str, new: str, expected: str) -> None:
    assert old in TINY
    tiny.write_text(TINY.replace(old, new, 1), encoding="utf-8")
    text = refusal(f"{tiny}:0")
    assert expected in text
    assert text.count(f"network file {str(tiny)!r}") == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("name = 'x'\nlayers = []", "layers must be one or more [[layers]] tables, got []"),
        ("name = 'x'\nlayers = 3", "layers must be one or more [[layers]] tables, got 3"),
        ("name = 'x'\nlayers = [3]", "layers[0] must be a table of names and values, got 3"),
        ("name = 'x'\n[layers]\nK = 3", "layers must be one or more [[layers]] tables"),
        ("name = 'x'", "lacks 'layers'"),
        ("", "lacks 'name', 'layers'"),
        ("[[layers", "is not TOML"),
    ],
)
def test_a_file_without_layers_is_refused(tiny: Path, content: str, expected: str) -> None:
    tiny.write_text(content, encoding="utf-8")
    assert expected in refusal(f"{tiny}:0")


def test_a_file_that_cannot_be_read_says_why(tiny: Path, tmp_path: Path) -> None:
    tiny.write_bytes(b'name = "\xff"')
    assert "is not UTF-8 text" in refusal(f"{tiny}:0")
    assert refusal(f"{tmp_path}/none.toml:0").endswith(
        "cannot be read: No such file or directory; name a TOML file"
    )
    (tmp_path / "folder.toml").mkdir()
    assert refusal(f"{tmp_path}/folder.toml:0").endswith("cannot be read: Is a directory; name a TOML file")


def test_a_layer_that_a_file_lacks_is_refused_with_the_file(tiny: Path) -> None:
    assert f"{tiny}:3" in refusal(f"{tiny}:3")
    assert "tiny has layers 0 to 2" in refusal(f"{tiny}:3")
    assert f"{tiny}:lst" in refusal(f"{tiny}:lst")
    assert "did you mean 'last'?" in refusal(f"{tiny}:lst")
    assert "add one of its 3" in refusal(tiny)


def test_a_filter_that_only_padding_makes_room_for_is_refused_in_the_gamma_convention(tiny: Path) -> None:
    tiny.write_text(TINY.replace("Y = 16", "Y = 2"), encoding="utf-8")
    assert load_layer(f"{tiny}:first").output == (1, 8)
    with pytest.raises(InputError, match=r"tiny\.toml': layer 'first': Y = 2 with padding 0 is smaller"):
        load_layer(f"{tiny}:first", convention="gamma")


def test_a_path_with_colons_is_still_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    (folder / "net.toml").write_text(TINY, encoding="utf-8")
    assert len(load_layers(f"{folder}/net.toml")) == 3
    assert load_layer(f"{folder}/net.toml:last").K == 10


WHOLE = """
name = "whole"
[[layers]]
name = "grouped"
type = "CONV"
K = 64
C = 32
Y = 14
X = 14
R = 3
S = 3
padding = 2
dilation = 2
groups = 8
batch = 2
[[layers]]
name = "alike"
type = "CONV"
K = 8
C = 4
Y = 14
X = 14
R = 3
S = 3
padding = 2
dilation = 2
[[layers]]
name = "tokens"
type = "FC"
outputs = 10
inputs = 8
batch = 7
[[left_out]]
operator = "LSTM"
count = 2
macs = 1000
reason = "its state runs through time"
[[left_out]]
operator = "Mystery"
count = 1
"""


def test_groups_and_batches_fold_into_the_layers_that_are_mapped(tiny: Path) -> None:
    tiny.write_text(WHOLE)
    network = load(tiny)
    assert [(layer.name, layer.repeats) for layer in network.layers] == [
        ("grouped", 8 * 2 + 1),
        ("tokens", 1),
    ]
    assert network.layers == (
        Layer("CONV", 8, 4, 14, 14, 3, 3, padding=(2, 2), dilation=(2, 2)),
        Layer.gemm(7, 10, 8),
    )
    assert network.members == (("grouped", "alike"), ("tokens",))
    assert [layer.groups for layer in network.wholes[0]] == [8, 1]
    assert network.macs == sum(layer.macs for group in network.wholes for layer in group)


def test_a_file_says_what_of_its_model_was_left_out(tiny: Path, dse: Dse) -> None:
    tiny.write_text(WHOLE)
    lstm, mystery = load(tiny).left_out
    assert (lstm.operator, lstm.count, lstm.macs) == ("LSTM", 2, 1000)
    assert mystery.macs is None
    found = dse("list", "layers", str(tiny), "--json").json
    assert [entry["folded"] for entry in found["layers"]] == [["batch 2", "groups 8"], ["batch 7"]]
    assert found["layers"][0]["dilation"] == [2, 2]
    shares = [entry["share"] for entry in found["left_out"]]
    assert shares == [1000 / (1000 + load(tiny).macs), None]
    assert list(dse("list", "layers", f"{tiny}:tokens", "--json").json) == ["layers"]
    shown = dse("list", "layers", str(tiny)).out
    assert "its state runs through time" in shown
    assert "groups" in shown
    # Columns that say the same of every layer are not shown.
    assert "dilation" not in dse("list", "layers", "mlp").out
