"""Accelerators in ZigZag's YAML come in as machines."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from dse.models.timeloop.presets import load_machine
from dse.support.errors import InputError

pytest.importorskip("yaml")

TPU = """
name: small_tpu
memories:
  rf_W: &rf
    {size: 1024, r_cost: 0.1, w_cost: 0.2, area: 0, latency: 1, operands: [I2], served_dimensions: [],
     ports: [{name: r_port_1, type: read, bandwidth_min: 8, bandwidth_max: 8, allocation: ["I2, tl"]},
             {name: w_port_1, type: write, bandwidth_min: 8, bandwidth_max: 8, allocation: ["I2, fh"]}]}
  rf_O:
    {size: 16, r_cost: 0.03, w_cost: 0.03, area: 0, latency: 1, operands: [O], served_dimensions: [D2],
     ports: [{name: rw_port_1, type: read_write, bandwidth_min: 16, bandwidth_max: 16,
              allocation: ["O, tl", "O, th", "O, fl", "O, fh"]}]}
  sram:
    {size: 16777216, r_cost: 416.0, w_cost: 384.0, area: 0, latency: 1, operands: [I1, O],
     served_dimensions: [D1, D2],
     ports: [{name: rw_port_1, type: read_write, bandwidth_min: 64, bandwidth_max: 2048,
              allocation: ["I1, fh", "I1, tl", "O, tl", "O, th", "O, fl", "O, fh"]}]}
  dram:
    {size: 10000000000000, r_cost: 700, w_cost: 750, area: 0, latency: 1, operands: [I1, I2, O],
     served_dimensions: [D1, D2],
     ports: [{name: rw_port_1, type: read_write, bandwidth_min: 64, bandwidth_max: 64, allocation: []}]}
operational_array:
  {unit_energy: 0.04, unit_area: 1, dimensions: [D1, D2], sizes: [32, 16]}
"""


def read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "tpu.yaml"
    path.write_text(text)
    return load_machine(str(path))


def test_memories_are_levels_and_dims_of_the_array_are_fan_outs(tmp_path: Path) -> None:
    machine = read(tmp_path, TPU)
    levels = {level.name: level for level in machine.levels}  # type: ignore[attr-defined]
    assert list(levels) == ["dram", "sram", "D1", "rf_O", "D2", "rf_W"]
    assert (machine.name, machine.macs, machine.mac_pj) == ("small_tpu", 512, 0.04)  # type: ignore[attr-defined]
    assert (levels["dram"].capacity, levels["sram"].capacity, levels["rf_O"].capacity) == (None, 2**21, 2)
    assert [levels[name].keeps for name in ("dram", "sram", "rf_O", "rf_W")] == [
        ("W", "I", "O"),
        ("I", "O"),
        ("O",),
        ("W",),
    ]
    assert (levels["D1"].fan_out, levels["D2"].fan_out) == (32, 16)
    # An access of 8 words is the 32nd part of what the port moves for its cost.
    assert (levels["sram"].block, levels["sram"].bandwidth.shared) == (8, 256)
    assert (levels["sram"].energy.read_pj, levels["sram"].energy.update_pj) == (13.0, 12.0)
    assert vars(levels["rf_W"].bandwidth) == {"read": 1.0, "write": 1.0, "shared": None}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("unit_energy", "is_imc: true, unit_energy", r"computes in its memory \(is_imc\) is not read"),
        ("size: 1024, ", "size: 1024, auto_cost_extraction: true, ", "from CACTI, which is not run"),
        ("size: 1024", "size: 4", "size must be bits of 1 to"),
        ("size: 1024", "size: big", "size must be a whole number"),
        ("r_cost: 0.1", "r_cost: cheap", "r_cost must be a number"),
        ("w_cost: 0.2", "w_cost: -1", "w_cost must not be negative"),
        ("operands: [I2]", "operands: [I3]", "unknown operand 'I3'"),
        ("operands: [I2]", "operands: I2", "operands must be a list"),
        ("served_dimensions: []", "served_dimensions: [D3]", "unknown dimension 'D3'"),
        ("served_dimensions: []", "served_dimensions: [D1]", "'rf_O' and 'rf_W' serve dims of their own"),
        ("operands: [I1, I2, O]", "operands: [I1, O]", "the last memory, 'dram', must hold I1, I2 and O"),
        ("type: read,", "type: peek,", "unknown type 'peek'"),
        (
            "bandwidth_min: 8, bandwidth_max: 8",
            "bandwidth_min: 9, bandwidth_max: 8",
            "must be at most 8, got 9",
        ),
        ("unit_energy: 0.04, ", "", "must be there once: there is nothing"),
        ("unit_energy", "multiplier_energy: 1, unit_energy", "there is unit_energy and multiplier_energy"),
        ("unit_area", "unit_are", "unknown key 'unit_are'.*did you mean 'unit_area'"),
        ("unit_area: 1", "unit_area: 1, systolic_dimensions: [D1]", "no cycles of filling are counted"),
        ("size: 1024, ", "size: 1024, double_buffering_support: true, ", "say so by its size"),
        ("r_cost: 0.1", "r_costs: 0.1", "unknown key 'r_costs'.*line"),
        ("type: read,", "kind: read,", "unknown key 'kind'|unknown type"),
        ("sizes: [32, 16]", "sizes: [32]", "must have dimensions, such as"),
        ("sizes: [32, 16]", "sizes: [32, 0]", "sizes must be at least 1"),
        ("operational_array:", "array:", "operational_array must be a table"),
        ("memories:\n", "memories: {}\nothers:\n", "memories must be one or more"),
    ],
)
def test_what_is_not_right_is_said_in_a_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TPU
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, TPU.replace(old, new, 1))
    assert "\n" not in str(caught.value)
    assert "tpu.yaml" in str(caught.value)


def test_the_order_of_two_memories_that_share_no_operand_says_nothing(tmp_path: Path) -> None:
    first, second = TPU.index("  rf_W:"), TPU.index("  rf_O:")
    end = TPU.index("  sram:")
    swapped = TPU[:first] + TPU[second:end] + TPU[first:second] + TPU[end:]
    assert swapped != TPU
    assert read(tmp_path, swapped) == read(tmp_path, TPU)


def test_memories_that_share_an_operand_stay_in_their_order(tmp_path: Path) -> None:
    text = TPU.replace(
        "operands: [I2], served_dimensions: []", "operands: [I2, O], served_dimensions: [D1, D2]"
    )
    with pytest.raises(InputError, match="memories 'rf_O' and 'rf_W' serve dims of their own"):
        read(tmp_path, text)


OWN_DIMS = "memories 'rf_2B' and 'rf_1B' serve dims of their own; levels here are one below another"
SHIPPED = {
    "aimc": r"computes in its memory \(is_imc\) is not read",
    "ascend_like": "the last memory, 'dram', does not serve D3, D4, so there are several of it",
    "dimc": r"computes in its memory \(is_imc\) is not read",
    "edge_tpu_like": OWN_DIMS,
    "eyeriss_like": "",
    "gemm_l1": "",
    "gemm_l1_l3": "force_double_buffering is not read",
    "generic_array_cacti": "",
    "meta_prototype": "memories 'rf_2B' and 'rf_1B' serve dims of their own",
    "tesla_npu_like": "",
    "tpu_like": "the key 'ports' is there twice, again in line 74",
}
"""What comes of ZigZag's own files: nothing is said of those that are read."""


@pytest.mark.parametrize("name", SHIPPED)
def test_what_comes_of_the_files_that_zigzag_brings_along(name: str) -> None:
    spec = find_spec("zigzag")
    if spec is None or spec.origin is None:
        pytest.skip("needs zigzag-dse")
    path = Path(spec.origin).parent / "inputs" / "hardware" / f"{name}.yaml"
    if not path.exists():
        pytest.skip("this zigzag-dse brings no such file")
    if not SHIPPED[name]:
        assert load_machine(str(path)).macs > 1
        return
    with pytest.raises(InputError, match=SHIPPED[name]):
        load_machine(str(path))
