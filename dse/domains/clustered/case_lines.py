"""What the lines of files of cases hold, as integers: see `cases`."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Any

from dse.core.layer import DIMS, TYPES
from dse.core.widths import Widths
from dse.domains.clustered.accelerator import WORD_BITS
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.support import strict_json
from dse.support.case_lines import KEYS, parts_of
from dse.support.errors import InputError, shorten, unknown
from dse.support.validation import INT64_MAX, keys, table, whole_number

INT64_MIN = -INT64_MAX - 1
HARDWARE = ("num_pes", "noc_bandwidth", "offchip_bandwidth", "noc_latency", "simd_lanes")
CAPACITIES = ("l1_size", "l2_size")
WIDTHS = ("W", "I", "O", "word_bits")
STEPS = ("stride", "padding", "dilation")

CaseRow = tuple[list[int], float]
"""A line as integers (layer, hardware, mapping, paddings, dilations, capacities, widths) and its clock."""


def case_row(text: str, where: str) -> CaseRow:
    """One line as its columns."""
    case = strict_json.parse(text, where)
    try:
        return _quick_row(case)
    except (KeyError, TypeError, ValueError):
        return _checked_row(case, where)


def _checked_row(case: object, where: str) -> CaseRow:
    """The columns of a parsed line, with a message for whatever is wrong with it."""
    entry = parts_of(case, where)
    mapping = Mapping.from_dict(entry["mapping"], f"{where}: mapping")
    layer, extent, bits = _layer_row(entry["layer"], f"{where}: layer")
    hardware, capacities, clock = _hardware_row(entry["hardware"], f"{where}: hardware")
    element = whole_number(entry["hardware"].get("word_bits", WORD_BITS), f"{where}: hardware.word_bits")
    widths = [*Widths.read(bits, f"{where}: layer.bits").filled(element).values(), element]
    row = MappingBatch.of([mapping]).rows[0].tolist()
    return [*layer, *hardware, *row, *extent, *capacities, *(widths if bits else (0, 0, 0, 0))], clock


def _layer_row(data: object, where: str) -> tuple[list[int], tuple[int, ...], Any]:
    """The columns of a layer; what is padding of its Y and X, on each side, and the dilations; its bits."""
    entry = table(data, where)
    kind = entry.get("type", TYPES[0])
    if kind not in TYPES:
        raise unknown("type", kind, TYPES, where)
    channels = DIMS if kind == "CONV" else DIMS[1:]
    keys(entry, where, required=("type", *channels), optional=("K", *STEPS, "name", "repeats", "bits"))
    sizes = {dim: _integer(entry.get(dim, 1), f"{where}.{dim}") for dim in DIMS}
    padding = _pair(entry.get("padding", 0), f"{where}.padding")
    for dim, pad in zip(("Y", "X"), padding, strict=True):
        # The input is the padded one, as MAESTRO knows no padding.
        sizes[dim] = min(sizes[dim] + 2 * pad, INT64_MAX) if pad >= 0 else 0
    stride = _pair(entry.get("stride", 1), f"{where}.stride")
    dilation = _pair(entry.get("dilation", 1), f"{where}.dilation")
    return [TYPES.index(kind), *sizes.values(), *stride], (*padding, *dilation), entry.get("bits")


def _hardware_row(data: object, where: str) -> tuple[list[int], list[int], float]:
    """The columns of HARDWARE, those of CAPACITIES (0: it is not said, -1: it is below 1), and the clock."""
    entry = table(data, where)
    keys(entry, where, required=HARDWARE[:3], optional=(*HARDWARE[3:], *CAPACITIES, "clock_ghz", "word_bits"))
    capacities = [0, 0]
    for place, name in enumerate(CAPACITIES):
        if name in entry:
            size = _integer(entry[name], f"{where}.{name}")
            capacities[place] = size if size > 0 else -1
    clock = _clock(entry.get("clock_ghz", 1), f"{where}.clock_ghz")
    return [_integer(entry.get(name, 1), f"{where}.{name}") for name in HARDWARE], capacities, clock


def _clock(value: object, what: str) -> float:
    """A number of any value: one that is no clock's is the case's own to be refused."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a number, got {shorten(value)}")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _integer(value: object, what: str) -> int:
    return whole_number(value, what, least=INT64_MIN)


def _pair(value: object, what: str) -> tuple[int, int]:
    if not isinstance(value, list):
        value = [value, value]
    if len(value) != 2:
        raise InputError(f"{what} must be one number or [rows, columns], got {shorten(value)}")
    return _integer(value[0], what), _integer(value[1], what)


# The quick way takes five times less than explaining, and only the lines that hold exactly the usual parts;
# it declines whatever else there is by raising.

_sizes = itemgetter(*DIMS)
_hardware = itemgetter(*HARDWARE)
_DIM_CODES = {dim: code for code, dim in enumerate(DIMS)}


def _quick_row(case: Any) -> CaseRow:
    layer, mapping, hardware = case["layer"], case["mapping"], case["hardware"]
    outer, inner = mapping["outer"], mapping["inner"]
    row = [
        *_sizes(layer),
        *layer["stride"],
        *_hardware(hardware),
        *_quick_level(outer),
        mapping["cluster_size"],
        *_quick_level(inner),
    ]
    known = case.keys() <= KEYS
    usual = (
        known and len(layer) == 8 and len(mapping) == 3 and len(hardware) == 5 and len(layer["stride"]) == 2
    )
    if not usual or set(map(type, row)) != {int} or min(row) < INT64_MIN or max(row) > INT64_MAX:
        raise ValueError
    return [TYPES.index(layer["type"]), *row, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0], 1.0


def _quick_level(level: Any) -> list[int]:
    order, tile = level["order"], level["tile"]
    codes = [_DIM_CODES[dim] for dim in order]
    usual = len(level) == 3 and len(tile) == 6 and type(order) is list
    if not usual or len(codes) != 6 or len(set(codes)) != 6:
        raise ValueError
    return [_DIM_CODES[level["parallel"]], *codes, *_sizes(tile)]
