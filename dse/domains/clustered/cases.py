"""Cases: lines of JSON that each hold a layer, a mapping and the hardware to price it on, as written.

The format is that of the recorded MAESTRO runs, in which a layer may have a padding, and the hardware
capacities and a clock. Types and names are checked strictly, values are not: a zero tile or an oversized
cluster is priced like anything else, and comes back as invalid with its reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from dse.core.figures import CostBatch
from dse.core.layer import DIMS, TYPES, Layer
from dse.core.reasons import Reason
from dse.core.widths import NO_WIDTHS, Widths
from dse.domains.clustered.accelerator import CLOCK_GHZ, WORD_BITS, Accelerator
from dse.domains.clustered.cost_model import CaseExtras, CostModel
from dse.domains.clustered.mapping import COLUMNS as ROW_COLUMNS
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.support import strict_json
from dse.support.arrays import BoolArray, IntArray
from dse.support.case_lines import KEYS, name_of, numbered_lines, parts_of
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import INT64_MAX, check_keys, check_table, whole_number

INT64_MIN = -INT64_MAX - 1
HARDWARE = ("num_pes", "noc_bandwidth", "offchip_bandwidth", "noc_latency", "simd_lanes")
CAPACITIES = ("l1_size", "l2_size")
WIDTHS = ("W", "I", "O", "word_bits")
STEPS = ("stride", "padding", "dilation")

CaseRow = tuple[list[int], float]
"""A line as integers (layer, hardware, mapping, paddings, dilations, capacities, widths) and its clock."""
LAYER_COLUMNS = 9
PRINTED = ("cycles", "macs", "energy_nj", "power", "area", "l1_size", "l2_size")


@dataclass(frozen=True)
class Cases:
    """n cases as integer arrays, as cost models price them.

    `layers` (n, 9): type (position in TYPES), K, C, Y, X, R, S, stride rows, stride columns; the padding is
    part of Y and X. `hardware` (n, 5): the columns of HARDWARE. `mappings`: the rows of a MappingBatch.
    `extras`: what of Y and X is padding, the capacities, the clock and the widths, for cost models that
    know them.
    """

    layers: IntArray
    hardware: IntArray
    mappings: MappingBatch
    extras: CaseExtras

    def __len__(self) -> int:
        return len(self.layers)


def read_cases(path: str) -> Cases:
    """The cases in a file of JSON lines, plain or gzipped; `-` is standard input.

    Raises InputError naming the file and the line at the first one that is malformed.
    """
    name = name_of(path)
    cases = parse_cases(numbered_lines(path, name), name)
    if not len(cases):
        raise InputError(f"{name} holds no cases; expected one JSON object a line")
    return cases


def parse_cases(lines: Iterable[tuple[int, str]], name: str) -> Cases:
    """The cases in numbered lines of JSON; InputError naming `name` and the line that is malformed."""
    rows = [case_row(text, f"{name} line {number}") for number, text in lines]
    if not rows:
        nothing = MappingBatch(np.empty((0, ROW_COLUMNS), np.int64))
        empty = np.empty((0, LAYER_COLUMNS), np.int64), np.empty((0, len(HARDWARE)), np.int64)
        return Cases(*empty, nothing, CaseExtras.none(0))
    array = np.array([integers for integers, _ in rows], dtype=np.int64)
    widths = (LAYER_COLUMNS, len(HARDWARE), ROW_COLUMNS, 2, 2, len(CAPACITIES), len(WIDTHS))
    parts = np.split(array, np.cumsum(widths)[:-1], axis=1)
    layers, hardware, mappings, paddings, dilations, capacities, bits = (part.copy() for part in parts)
    clocks = np.array([clock for _, clock in rows])
    extras = CaseExtras(paddings, dilations, capacities, clocks, bits)
    return Cases(layers, hardware, MappingBatch(mappings), extras)


def case_line(
    layer: Layer, mapping: Mapping, accelerator: Accelerator, *, whole: bool = False
) -> dict[str, Any]:
    """The case that prices `mapping` of `layer`, as it is, on `accelerator`: one line of a cases file.

    With `whole` it has the accelerator's capacities and clock too, which some cost models ask for.
    """
    figures = accelerator.figures
    bits = figures.pop("bits", None)
    hardware = figures if whole else {name: figures[name] for name in HARDWARE}
    said = layer.to_dict() | ({} if bits is None else {"bits": bits})
    return {"layer": said, "mapping": mapping.to_dict(), "hardware": hardware}


def case_results(costs: CostBatch) -> Iterator[dict[str, Any]]:
    """Each row of `costs` as plain data: status, reason and the figures, which are None where invalid."""
    columns = [getattr(costs, name).tolist() for name in PRINTED]
    for valid, code, *figures in zip(costs.valid.tolist(), costs.reason.tolist(), *columns, strict=True):
        if valid:
            numbers = [value if math.isfinite(value) else None for value in figures]
            yield {"status": "ok", "reason": None, **dict(zip(PRINTED, numbers, strict=True))}
        else:
            yield {"status": "invalid", "reason": Reason(code).text, **dict.fromkeys(PRINTED)}


def price_cases(model: CostModel, cases: Cases) -> Iterator[dict[str, Any]]:
    """The result of each case under a cost model, as `case_results` has it; a reason names the field."""
    if cases.extras.bits.any() and not model.prices_widths:
        raise InputError(f"cost model {model.name!r} has elements of one width: its cases have no 'bits'")
    costs = model.price_cases(cases.layers, cases.hardware, cases.mappings.rows, cases.extras)
    # No figure of some models depends on the clock, but no machine has such a one.
    impossible = ~((cases.extras.clocks >= CLOCK_GHZ[0]) & (cases.extras.clocks <= CLOCK_GHZ[1]))
    _refuse(costs, impossible, Reason.BAD_HARDWARE)
    if not model.prices_strides:
        _refuse(costs, (cases.extras.dilations != 1).any(axis=1), Reason.DILATED)
    for place, result in enumerate(case_results(costs)):
        if not costs.valid[place]:
            field = _field_at_fault(cases, place, Reason(int(costs.reason[place])))
            result["reason"] += f": {field}" if field else ""
        yield result


def _refuse(costs: CostBatch, cases: BoolArray, reason: Reason) -> None:
    """Make the valid ones of some cases invalid."""
    refused = cases & costs.valid
    costs.valid[refused] = False
    costs.reason[refused] = reason


def _field_at_fault(cases: Cases, place: int, reason: Reason) -> str:
    """The first field of a case that the reason is about, with its value; empty where no single one is."""
    mapping = cases.mappings[place]
    layer, hardware = cases.layers[place], cases.hardware[place]
    match reason:
        case Reason.ZERO_TILE:
            dims = DIMS[1:] if TYPES[layer[0]] == "DSCONV" else DIMS
            return _tile_at_fault(mapping, dims, lambda level, dim: level[dim] < 1)
        case Reason.PARTIAL_FILTER:
            filters = dict(zip(DIMS, layer[1:7].tolist(), strict=True))
            return _tile_at_fault(
                mapping, "RS", lambda level, dim: level.parallel != dim and level[dim] != filters[dim]
            )
        case Reason.CLUSTER_TOO_LARGE:
            return f"mapping.cluster_size is {mapping.cluster_size}, hardware.num_pes is {hardware[0]}"
        case Reason.BAD_HARDWARE:
            return _complaint(lambda: machine_of(hardware, cases.extras, place))
        case Reason.BAD_LAYER:
            return _complaint(lambda: layer_of(layer, cases.extras, place))
        case Reason.DILATED:
            return f"layer.dilation is {cases.extras.dilations[place].tolist()}"
    return ""


def layer_of(row: IntArray, extras: CaseExtras, place: int) -> Layer:
    """The layer of a case, whose Y and X are those of the padded input. InputError if there is none such."""
    kind, k, c, y, x, r, s, *stride = row.tolist()
    rows, columns = extras.paddings[place].tolist()
    bits = extras.bits[place]
    return Layer(
        TYPES[kind],
        *(k, c, y - 2 * rows, x - 2 * columns, r, s),
        (stride[0], stride[1]),
        (rows, columns),
        dilation=tuple(extras.dilations[place].tolist()),
        bits=Widths(*bits[:3].tolist()) if bits.any() else NO_WIDTHS,
    )


def machine_of(row: IntArray, extras: CaseExtras, place: int) -> Accelerator:
    """The machine of a case, unknown buffers of one element. InputError if there is none such."""
    pes, noc, offchip, latency, lanes = row.tolist()
    l1, l2 = (capacity or 1 for capacity in extras.capacities[place].tolist())
    clock, element = float(extras.clocks[place]), int(extras.bits[place, 3]) or WORD_BITS
    return Accelerator(pes, l1, l2, noc, offchip, latency, lanes, clock, word_bits=element)


def _tile_at_fault(mapping: Mapping, dims: Iterable[str], wrong: Callable[[Level, str], bool]) -> str:
    """The first tile, the outer level's first, that is wrong."""
    for name, level in (("outer", mapping.outer), ("inner", mapping.inner)):
        for dim in dims:
            if wrong(level, dim):
                return f"mapping.{name}.tile.{dim} is {level[dim]}"
    return ""


def _complaint(make: Callable[[], object]) -> str:
    """What a layer or an accelerator refuses, without its name in front."""
    try:
        make()
    except InputError as error:
        return re.sub(r"^(accelerator|layer): ", "", str(error))
    return ""


def case_row(text: str, where: str) -> CaseRow:
    """One line as its columns."""
    case = strict_json.parse_json(text, where)
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
    entry = check_table(data, where)
    kind = entry.get("type", TYPES[0])
    if kind not in TYPES:
        raise unknown_name("type", kind, TYPES, where)
    channels = DIMS if kind == "CONV" else DIMS[1:]
    check_keys(entry, where, required=("type", *channels), optional=("K", *STEPS, "name", "repeats", "bits"))
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
    entry = check_table(data, where)
    check_keys(
        entry, where, required=HARDWARE[:3], optional=(*HARDWARE[3:], *CAPACITIES, "clock_ghz", "word_bits")
    )
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
