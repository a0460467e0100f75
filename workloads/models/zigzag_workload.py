"""The layers of a ZigZag workload: a list of entries, each with an equation and the sizes of its loops.

Layers are those whose equation is a convolution's or a product's over B, G, K, C, OY, OX, FY and FX, whatever
of these it has; the others are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dse.core.layer import Layer
from dse.core.widths import MAX_BITS, NO_WIDTHS, Widths
from dse.support.errors import InputError, errors_within, shorten, unknown_name
from dse.support.strict_yaml import line_of
from dse.support.validation import check_table, whole_number
from workloads.models.collected import Collected

KEYS = ("id", "name", "operator_type", "equation", "loop_dims", "loop_sizes", "dimension_relations",
        "pr_loop_dims", "pr_loop_sizes", "padding", "operand_precision", "operand_source")  # fmt: skip
"""What an entry may have: `id` and `operand_source` say who reads what, and change no layer; sizes of
partially relevant loops follow from the others."""
WORD_BITS = 8
"""Of a word of ZigZag's machines, as they are read here."""
LOOPS = ("B", "G", "K", "C", "OY", "OX", "FY", "FX")
PARTS = {"W": {"G", "K", "C", "FY", "FX"}, "I": {"B", "G", "C", "IY", "IX"}, "O": {"B", "G", "K", "OY", "OX"}}
_OPERAND = re.compile(r"\b([OWI])((?:\[\w*\])+)")
_RELATION = re.compile(r"\s*(\w+)\s*=\s*(?:(\d{1,9})\s*\*\s*)?(\w+)\s*\+\s*(?:(\d{1,9})\s*\*\s*)?(\w+)\s*")


def collect_workload(found: Collected, entries: list[Any], where: str) -> None:
    """Enter the layers and what is none, in their order. InputError, beginning with `where`, if wrong."""
    for place, entry in enumerate(entries):
        _collect(found, check_table(entry, f"{where}: [{place}]"), f"{where}: [{place}]")


def _collect(found: Collected, entry: Mapping[str, Any], where: str) -> None:
    """Enter the layer of one entry, or that it is none."""
    for key in entry:
        if key not in KEYS:
            line = line_of(entry, (key,))
            raise unknown_name("key", key, KEYS, f"{where}, line {line}" if line else where)
    operator = str(entry.get("operator_type", "layer"))
    name = str(entry.get("name") or f"{operator}_{entry.get('id', '')}")
    dims = [str(dim).upper() for dim in _list(entry.get("loop_dims"), f"{where}.loop_dims")]
    counts = _list(entry.get("loop_sizes"), f"{where}.loop_sizes")
    if len(dims) != len(counts):
        raise InputError(
            f"{where}: loop_dims and loop_sizes must be as many, got {len(dims)} and {len(counts)}"
        )
    sizes = (whole_number(count, f"{where}.loop_sizes") for count in counts)
    large = {dim: count for dim, count in zip(dims, sizes, strict=True) if count > 1}
    size = dict.fromkeys(LOOPS, 1) | large
    if not _known(str(entry.get("equation")), size):
        found.leave_out(operator, None, f"its equation is no convolution's over {', '.join(LOOPS)}")
        return
    with errors_within(where):
        found.add(name, operator, [_layer(entry, size, where)])


def _known(equation: str, size: Mapping[str, int]) -> bool:
    """Whether the equation's operands have the dims of a convolution, but for those that are 1."""
    operands = {
        operand: {dim.upper() for dim in re.findall(r"\w+", dims)}
        for operand, dims in _OPERAND.findall(equation)
    }
    if set(operands) != set(PARTS) or set(size) != set(LOOPS):
        return False
    large = {dim for dim, count in size.items() if count > 1}
    for operand, dims in PARTS.items():
        # A depthwise layer may have its channels in C, which its outputs then have as well.
        wanted = dims | ({"C"} & operands["O"] if operand == "O" else set())
        if operands[operand] & large != wanted & large:
            return False
    return True


def _layer(entry: Mapping[str, Any], size: Mapping[str, int], where: str) -> Layer:
    step = dict.fromkeys(("OY", "OX", "FY", "FX"), 1)
    for text in _list(entry.get("dimension_relations") or [], f"{where}.dimension_relations"):
        relation = _RELATION.fullmatch(str(text))
        if not relation:
            raise InputError(f"dimension_relations must be as in iy=2*oy+1*fy, got {shorten(text)}")
        _, first, one, second, other = relation.groups()
        step |= {one.upper(): int(first or 1), other.upper(): int(second or 1)}
    padding = _padding(entry, where)
    reach, pads = [], []
    for axis, (out, taps) in enumerate((("OY", "FY"), ("OX", "FX"))):
        used = (size[out] - 1) * step[out] + (size[taps] - 1) * step[taps] + 1
        # A layer with more padding at its end is its mirror image, with more at its begin.
        after, before = sorted(padding[axis])
        # A layer of ours has as much padding on both sides, of which the last filter need not read all.
        if used - before - after <= 0 or before >= after + step[out]:
            raise InputError(
                f"padding {list(padding[axis])} of {'IX' if axis else 'IY'} is not read: it must be as "
                "much on both sides, but for what the stride leaves over; leave it out to count it as data"
            )
        reach.append(used - before - after)
        pads.append(before)
    options: dict[str, Any] = {
        "bits": _widths(entry, where),
        "R": size["FY"],
        "S": size["FX"],
        "stride": (step["OY"], step["OX"]),
        "dilation": (step["FY"], step["FX"]),
        "padding": tuple(pads),
        "batch": size["B"],
    }
    grouped = "[c]" in str(entry.get("equation")).lower().partition("=")[0] and size["C"] > 1
    groups = size["C"] if grouped else size["G"]
    inputs, outputs = (1, size["K"]) if grouped else (size["C"], size["K"])
    if groups > 1 and inputs == outputs == 1:
        return Layer("DSCONV", K=1, C=groups, Y=reach[0], X=reach[1], **options)
    outputs, inputs = groups * outputs, groups * inputs
    return Layer("CONV", K=outputs, C=inputs, Y=reach[0], X=reach[1], groups=groups, **options)


def _widths(entry: Mapping[str, Any], where: str) -> Widths:
    """The bits of words; none where all are words of the machine. Sums and outputs are words alike here."""
    given = check_table(entry.get("operand_precision") or {}, f"{where}.operand_precision")
    for name, bits in given.items():
        if name not in (*PARTS, "O_final"):
            raise unknown_name("operand", name, (*PARTS, "O_final"), f"{where}.operand_precision")
        whole_number(bits, f"{where}.operand_precision.{name}", most=MAX_BITS)
    bits = {name: given[name] for name in PARTS if name in given}
    return NO_WIDTHS if set(bits.values()) <= {WORD_BITS} else Widths(**bits)


def _padding(entry: Mapping[str, Any], where: str) -> list[tuple[int, int]]:
    """Of rows and of columns, the padding before and after."""
    names, given = (_list(entry.get(key) or [], f"{where}.{key}") for key in ("pr_loop_dims", "padding"))
    pairs = dict(zip((str(name).upper() for name in names), given, strict=False))
    found = []
    for axis in ("IY", "IX"):
        pair = _list(pairs.get(axis, [0, 0]), f"{where}.padding")
        if len(pair) != 2:
            raise InputError(f"{where}.padding must be pairs of before and after, got {shorten(pair)}")
        found.append(tuple(whole_number(count, f"{where}.padding", least=0) for count in pair))
    return found  # type: ignore[return-value]


def _list(given: Any, where: str) -> list[Any]:
    if not isinstance(given, list):
        raise InputError(f"{where} must be a list, got {shorten(given)}")
    return given
