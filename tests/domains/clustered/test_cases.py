"""`dse evaluate --cases` prices what is written, under `maestro` as MAESTRO did; it refuses the malformed."""

from __future__ import annotations

import copy
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.core.cost_models import cost_model, cost_models
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.cases import PRINTED, case_line, read_cases
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.templates import TEMPLATES
from tests import DATA
from tests.conftest import Dse

GOLDEN = DATA / "golden.jsonl.gz"
RESULT_KEYS = ["status", "reason", *PRINTED]
EXACT, CLOSE = ("cycles", "macs", "l1_size", "l2_size"), ("energy_nj", "power", "area")
LAYER = Layer("CONV", 64, 64, 56, 56, 3, 3, padding=(1, 1))


def good_case() -> dict[str, Any]:
    """A case that prices: the NVDLA-like mapping of a ResNet layer."""
    lowered, edge = LAYER.lowered(), PRESETS["edge"]
    return case_line(lowered, TEMPLATES["nvdla"](lowered, edge), edge)


def changed(path: str, value: Any) -> dict[str, Any]:
    """The good case with the value at a dotted path replaced."""
    case = copy.deepcopy(good_case())
    *parents, last = path.split(".")
    place = case
    for key in parents:
        place = place[key]
    place[last] = value
    return case


def without(path: str) -> dict[str, Any]:
    """The good case without the key at a dotted path."""
    case = changed(path, None)
    *parents, last = path.split(".")
    place = case
    for key in parents:
        place = place[key]
    del place[last]
    return case


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Writes cases, or lines of text, to a file; returns its name."""

    def write_lines(*lines: dict[str, Any] | str) -> str:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path = tmp_path / "cases.jsonl"
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
        return str(path)

    return write_lines


def priced(dse: Dse, path: str, model: str = "maestro") -> list[dict[str, Any]]:
    outcome = dse("evaluate", "--cases", path, "--cost-model", model, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.lines


def test_all_recorded_cases_agree_with_what_maestro_printed(dse: Dse) -> None:
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as stream:
        expected = [json.loads(line)["expected"] for line in stream]
    results = priced(dse, str(GOLDEN))
    assert len(results) == len(expected) == 3160
    for number, (result, recorded) in enumerate(zip(results, expected, strict=True), 1):
        assert list(result) == RESULT_KEYS
        assert result["status"] == recorded["status"], number
        if recorded["status"] == "invalid":
            assert result["reason"]
            assert all(result[name] is None for name in PRINTED)
        else:
            assert [result[name] for name in EXACT] == [recorded[name] for name in EXACT], number
            for name in CLOSE:
                assert result[name] == pytest.approx(recorded[name], rel=1e-9), (number, name)


def test_a_case_line_prices_as_the_mapping_that_it_was_made_of(dse: Dse, write: Any) -> None:
    edge = PRESETS["edge"]
    mapping = TEMPLATES["shidiannao"](LAYER, edge)
    costs = cost_model("maestro").evaluate(LAYER, edge, MappingBatch.of([mapping]))
    for layer in (LAYER, LAYER.lowered()):
        [result] = priced(dse, write(case_line(layer, mapping, edge)))
        assert result["status"] == "ok"
        assert [result[name] for name in PRINTED] == [getattr(costs, name)[0] for name in PRINTED]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mapping.outer.tile.K", 0),
        ("mapping.inner.tile.X", -5),
        ("mapping.outer.tile.Y", 10**9),
        ("mapping.outer.tile.C", 2**63 - 1),
        ("mapping.inner.tile.C", -(2**63)),
        ("mapping.cluster_size", 0),
        ("mapping.cluster_size", 257),
        ("mapping.cluster_size", 2**63 - 1),
        ("layer.K", 0),
        ("layer.Y", -1),
        ("layer.R", 2**63 - 1),
        ("layer.stride", [0, 1]),
        ("layer.padding", [-1, 0]),
        ("layer.padding", 2**63 - 1),
        ("hardware.num_pes", 0),
        ("hardware.noc_bandwidth", -1),
        ("hardware.offchip_bandwidth", 0),
        ("hardware.simd_lanes", 0),
        ("hardware.l1_size", 0),
        ("hardware.l2_size", -(2**63)),
        ("hardware.clock_ghz", 1e-300),
        ("hardware.clock_ghz", -1),
        ("hardware.clock_ghz", 10**400),
    ],
)
@pytest.mark.parametrize("model", cost_models())
def test_a_line_of_the_right_types_gets_a_result_whatever_its_values(
    dse: Dse, write: Any, path: str, value: Any, model: str
) -> None:
    before, result, after = priced(dse, write(good_case(), changed(path, value), good_case()), model)
    assert before == after
    assert before["status"] == "ok"
    assert result["status"] in ("ok", "invalid")
    if result["status"] == "invalid":
        assert result["reason"]
        assert all(result[name] is None for name in PRINTED)


@pytest.mark.parametrize("model", cost_models())
def test_layers_and_hardware_that_cannot_be_are_invalid_with_a_reason(
    dse: Dse, write: Any, model: str
) -> None:
    reasons = {
        ("layer.K", 0): "a layer size is out of range: K must be at least 1, got 0",
        ("layer.stride", 0): "a layer size is out of range: stride must be at least 1, got 0",
        ("hardware.num_pes", 0): "a hardware figure is out of range: num_pes must be at least 1, got 0",
        ("hardware.clock_ghz", -1): (
            "a hardware figure is out of range: clock_ghz must be a finite number above 0, got -1.0"
        ),
        ("mapping.cluster_size", 257): (
            "the cluster size is not between 1 and the PE count: "
            "mapping.cluster_size is 257, hardware.num_pes is 256"
        ),
        ("mapping.inner.tile.X", -5): "a tile size is zero or negative: mapping.inner.tile.X is -5",
        ("mapping.outer.tile.R", 2): (
            "a filter dim (R or S) is neither parallel nor whole: mapping.outer.tile.R is 2"
        ),
    }
    results = priced(dse, write(*(changed(*change) for change in reasons)), model)
    assert [result["status"] for result in results] == ["invalid"] * len(reasons)
    assert [result["reason"] for result in results] == list(reasons.values())


@pytest.mark.parametrize("model", cost_models())
def test_what_may_be_left_out_has_its_default(dse: Dse, write: Any, model: str) -> None:
    short = good_case()
    for part, keys in {"layer": ("stride", "padding"), "hardware": ("noc_latency", "simd_lanes")}.items():
        for key in keys:
            del short[part][key]
    whole, brief = priced(dse, write(good_case(), short), model)
    assert whole == brief


def test_capacities_and_labels_change_nothing(dse: Dse, write: Any) -> None:
    more = {**good_case(), "expected": {"cycles": 1}, "note": [None, True, 1.5]}
    more["hardware"] |= {"l1_size": 1, "l2_size": 1, "clock_ghz": 0.5}
    more["layer"] |= {"name": "conv2_1", "repeats": 4}
    plain, dressed = priced(dse, write(good_case(), more))
    assert plain == dressed


@pytest.mark.parametrize("model", cost_models())
def test_a_stride_is_priced_as_written_and_not_lowered(dse: Dse, write: Any, model: str) -> None:
    plain, strided = priced(dse, write(good_case(), changed("layer.stride", [2, 2])), model)
    assert plain["status"] == strided["status"] == "ok"
    assert plain["cycles"] != strided["cycles"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "is blank"),
        ("nonsense", "not JSON: expecting value at column 1"),
        ('{"layer": ', "not JSON"),
        ("[1, 2]", "must be a table of names and values"),
        ("null", "must be a table of names and values"),
        ('{"layer": NaN}', "NaN is not a JSON number"),
        ('{"layer": -Infinity}', "-Infinity is not a JSON number"),
        ('{"mapping": {}, "mapping": {}}', "the key 'mapping' is there twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"layer": ' + "9" * 5000 + "}", "too many digits"),
        (without("mapping"), "lacks 'mapping'"),
        (without("layer.type"), "layer lacks 'type'"),
        (without("layer.S"), "layer lacks 'S'"),
        (without("hardware.num_pes"), "hardware lacks 'num_pes'"),
        (without("mapping.inner.tile.R"), "mapping.inner.tile lacks 'R'"),
        (changed("layer", 3), "layer must be a table of names and values, got 3"),
        (changed("layer.type", "FC"), "unknown type 'FC'"),
        (changed("layer.type", ["CONV"]), "unknown type"),
        (changed("layer.K", "64"), "layer.K must be a whole number, got '64'"),
        (changed("layer.K", 64.0), "layer.K must be a whole number, got 64.0"),
        (changed("layer.K", True), "layer.K must be a whole number, got True"),
        (changed("layer.K", None), "layer.K must be a whole number, got None"),
        (changed("layer.K", 10**30), "layer.K must be at most what 64 bits hold"),
        (changed("layer.stride", [1]), "layer.stride must be one number or [rows, columns]"),
        (changed("layer.stride", "11"), "layer.stride must be a whole number"),
        (changed("layer.strde", [1, 1]), "unknown key 'strde' in"),
        (changed("mapping.outer.order", "KCYXRS"), "order must be a list of dims"),
        (changed("mapping.outer.order", ["K"] * 6), "order must hold each of K C Y X R S once"),
        (changed("mapping.outer.order", [["K"], "C", "Y", "X", "R", "S"]), "order must be a list of dims"),
        (changed("mapping.outer.parallel", "N"), "unknown dim 'N'"),
        (changed("mapping.outer.parallel", {}), "unknown dim"),
        (changed("mapping.outer.tile", [1] * 6), "mapping.outer.tile must be a table"),
        (changed("mapping.outer.tile.Q", 1), "unknown key 'Q'"),
        (changed("mapping.middle", {}), "unknown key 'middle'"),
        (changed("mapping.cluster_size", -(2**63) - 1), "mapping.cluster_size must be at least"),
        (changed("hardware.num_pes", 1e400), "hardware.num_pes must be a whole number, got inf"),
        (changed("hardware.frequency", 1), "unknown key 'frequency'"),
        (changed("hardware.clock_ghz", "1"), "hardware.clock_ghz must be a number, got '1'"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number_before_any_output(
    dse: Dse, write: Any, line: dict[str, Any] | str, complaint: str
) -> None:
    text = line if isinstance(line, str) else json.dumps(line).replace("Infinity", "1e400")
    path = write(good_case(), good_case(), text, good_case())
    message = dse("evaluate", "--cases", path, "--json").refused()
    assert f"{path} line 3" in message
    assert complaint in message
    assert len(message) < 400


def test_a_line_of_ten_megabytes_is_refused_in_a_short_line(dse: Dse, write: Any) -> None:
    message = dse("evaluate", "--cases", write(changed("layer.K", "x" * 10**7))).refused()
    assert len(message) < 300


def test_bytes_that_are_no_text_are_refused_with_their_line(dse: Dse, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(json.dumps(good_case()).encode() + b"\n\xff\xfe{}\n")
    assert "line 2 is not UTF-8: byte 1 is 0xff" in dse("evaluate", "--cases", str(path)).refused()


@pytest.mark.parametrize("content", ["", "\n", "\n\n\n"])
def test_a_file_without_cases_is_refused(dse: Dse, tmp_path: Path, content: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(content, encoding="utf-8")
    assert "holds no cases" in dse("evaluate", "--cases", str(path)).refused()


def test_blank_lines_are_forgiven_at_the_end_only(dse: Dse, write: Any) -> None:
    assert len(priced(dse, write(good_case(), "", "  "))) == 1
    assert "line 1 is blank" in dse("evaluate", "--cases", write("", good_case())).refused()


def test_files_that_cannot_be_read_are_refused_by_name(dse: Dse, tmp_path: Path) -> None:
    absent, folder = str(tmp_path / "absent.jsonl"), str(tmp_path)
    assert (
        dse("evaluate", "--cases", absent).refused() == f"{absent} cannot be read: No such file or directory"
    )
    assert dse("evaluate", "--cases", folder).refused() == f"{folder} cannot be read: Is a directory"


def test_gzipped_files_are_unpacked_whatever_they_are_called(dse: Dse, tmp_path: Path) -> None:
    path = tmp_path / "cases"
    path.write_bytes(gzip.compress(json.dumps(good_case()).encode()))
    assert [result["status"] for result in priced(dse, str(path))] == ["ok"]


@pytest.mark.parametrize("cut", [5, 40, -1])
def test_a_torn_gzip_file_is_refused(dse: Dse, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cases.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(good_case()).encode() * 50)[:cut])
    assert "is not a whole gzip file" in dse("evaluate", "--cases", str(path)).refused()


def test_cases_can_come_from_standard_input(tmp_path: Path, dse: Dse) -> None:
    text, path, before = json.dumps(good_case()) + "\n", tmp_path / "sent", os.dup(0)
    try:
        for sent in (text.encode(), gzip.compress(text.encode())):
            path.write_bytes(sent)
            with path.open("rb") as stream:
                os.dup2(stream.fileno(), 0)
            assert dse("evaluate", "--cases", "-", "--json").json["status"] == "ok"
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_people_get_a_table_with_counts(dse: Dse) -> None:
    outcome = dse("evaluate", "--cases", str(GOLDEN), "--cost-model", "maestro")
    assert outcome.code == 0
    assert "3,160 cases: 2,715 ok, 445 invalid" in outcome.out
    assert "78,163,569" in outcome.out
    assert "3,140 more" in outcome.out


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=6, max_size=6),
    st.permutations("KCYXRS"),
    st.booleans(),
)
def test_quickly_read_lines_and_explained_ones_give_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, tiles: list[int], order: list[str], depthwise: bool
) -> None:
    case = changed("mapping.inner.tile", dict(zip("KCYXRS", tiles, strict=True)))
    case["mapping"]["outer"]["order"] = order
    del case["layer"]["padding"]
    case["layer"]["type"] = "DSCONV" if depthwise else "CONV"
    # A label sends a line the long way, and changes nothing.
    labelled = copy.deepcopy(case)
    labelled["layer"]["name"] = "conv2_1"
    path = tmp_path_factory.mktemp("cases") / "two.jsonl"
    path.write_text(json.dumps(case) + "\n" + json.dumps(labelled) + "\n", encoding="utf-8")
    cases = read_cases(str(path))
    for array in (cases.layers, cases.hardware, cases.mappings.rows):
        assert np.array_equal(array[0], array[1])
    assert cases.mappings[0].to_dict() == case["mapping"]
    assert cases.layers[0].tolist() == [int(depthwise), 64, 64, 58, 58, 3, 3, 1, 1]
    assert cases.hardware[0].tolist() == [256, 32, 8, 1, 1]
