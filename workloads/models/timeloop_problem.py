"""The layer of a Timeloop problem: `shape` with its dimensions and data spaces, and an `instance`.

The dims are those of Timeloop's published problems (M or K, C, P, Q, R, S, N, and G of groups; or M, N, K of
a matrix product), each with its size in the instance; the data spaces must be what a convolution, a depthwise
one, one of groups or a product has. There is no padding. Any other key is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dse.core.layer import Layer
from dse.support.errors import InputError, errors_within, shorten, unknown_name
from dse.support.strict_yaml import Table, line_of
from dse.support.validation import check_table, whole_number

Axes = frozenset[frozenset[tuple[str, int]]]
"""The axes of a tensor, each with the dims that it sums, of those that are more than 1, and their steps."""

READ = {
    "problem": ("shape", "instance"),
    "shape": ("dimensions", "coefficients", "data_spaces"),
    "coefficient": ("name", "default"),
    "data space": ("name", "projection"),
}
"""The keys that are read, by table; of an instance those that the shape names."""
NO_CHANGE = {
    "problem": ("version", "name"),
    "shape": ("name",),
    "coefficient": (),
    "data space": ("read_write",),
}
"""Keys that change nothing: labels, and which data space is written, which is the one of the outputs."""
WEIGHTS, INPUTS, OUTPUTS = "weights", "inputs", "outputs"
DIMS = {"K": "M"} | {dim: dim for dim in "MCPQRSN"}
ROWS, COLUMNS = ("P", "R"), ("Q", "S")


def problem_layer(problem: Mapping[str, Any], where: str) -> Layer:
    """The layer; InputError, beginning with `where`, where it is none that can be mapped."""
    shape = problem.get("shape")
    if not isinstance(shape, Mapping):
        raise InputError(
            f"{where}.shape must be a table with dimensions and data_spaces, got {shorten(shape)}"
        )
    instance = check_table(problem.get("instance"), f"{where}.instance")
    _known(problem, "problem", where)
    shape = _known(shape, "shape", f"{where}.shape")
    if instance.get("densities"):
        raise InputError(f"{where}.instance: densities are not read: sparse data are not modelled here")
    numbers = {
        str(name): whole_number(value, f"{where}.instance.{name}")
        for name, value in instance.items()
        if name != "densities"
    }
    coefficients = [
        _known(one, "coefficient", f"{where}.shape.coefficients")
        for one in _entries(shape, "coefficients", where)
    ]
    steps = {
        str(one.get("name")): numbers.get(str(one.get("name")), one.get("default", 1)) for one in coefficients
    }
    dims = [str(name) for name in _list(shape.get("dimensions"), f"{where}.shape.dimensions")]
    _see_sizes(instance, numbers, dims, steps, f"{where}.instance")
    sizes = {dim: numbers[dim] for dim in dims}
    entries = list(_entries(shape, "data_spaces", where))
    for space in entries:
        _known(space, "data space", f"{where}.shape.data_spaces")
    _see_once(dims, f"{where}.shape: dimension")
    _see_once([str(space.get("name")) for space in entries], f"{where}.shape: data space")
    spaces = {
        str(space.get("name")).lower(): _axes(
            space.get("projection"), sizes, steps, f"{where}.shape.data_spaces"
        )
        for space in entries
    }
    with errors_within(where):
        found = _product(sizes, spaces) or _convolution(sizes, spaces)
    if found is None:
        raise InputError(
            f"{where}: its data spaces must be Weights, Inputs and Outputs of a convolution, depthwise or "
            "not, over M, C, P, Q, R, S and N, or of a matrix product over M, N and K"
        )
    return found


def _see_sizes(
    instance: Mapping[str, Any],
    numbers: Mapping[str, int],
    dims: list[str],
    steps: Mapping[str, Any],
    where: str,
) -> None:
    """InputError of a name that the shape does not have, and of a dim without a size."""
    for name in numbers:
        if name not in dims and name not in steps:
            line = line_of(instance, (name,))
            place = f"{where}, line {line}" if line else where
            raise unknown_name("dim or coefficient", name, (*dims, *steps), place)
    lacking = [dim for dim in dims if dim not in numbers]
    if lacking:
        raise InputError(f"{where} lacks {', '.join(lacking)}: each dim of the shape has its size there")


def _see_once(names: list[str], what: str) -> None:
    """InputError of a name that is there twice."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{what} {shorten(name)} is there twice; write it once")


def _known(data: Mapping[str, Any], kind: str, where: str) -> Mapping[str, Any]:
    """The table, its keys with underscores; InputError of a key that is not known, with its line."""
    known = (*READ[kind], *NO_CHANGE[kind])
    found = Table({}, getattr(data, "line", 0), {})
    for key, value in data.items():
        name = key.replace("-", "_")
        if name not in known:
            line = line_of(data, (key,))
            raise unknown_name("key", key, known, f"{where}, line {line}" if line else where)
        if name in found:
            raise InputError(f"{where}: {name} is there with - and with _; write it once")
        found[name] = value
    return found


def _axes(projection: Any, sizes: Mapping[str, int], steps: Mapping[str, Any], where: str) -> Axes:
    axes = []
    for axis in _list(projection, f"{where}: projection"):
        found = []
        for term in _list(axis, f"{where}: projection"):
            parts = _list(term, f"{where}: projection")
            if not parts or str(parts[0]) not in sizes:
                raise InputError(f"{where}: {shorten(term)} is over no dimension of the shape")
            step = parts[1] if len(parts) > 1 else 1
            step = whole_number(
                steps.get(step, step) if isinstance(step, str) else step, f"{where}: a coefficient"
            )
            if sizes[str(parts[0])] > 1:
                found.append((str(parts[0]), step))
        axes.append(frozenset(found))
    return frozenset(axis for axis in axes if axis)


def _convolution(sizes: Mapping[str, int], spaces: Mapping[str, Axes]) -> Layer | None:
    """The layer whose data spaces these are, if they are a convolution's; with a dim G, of so many groups."""
    groups, over = sizes.get("G", 1), frozenset([frozenset([("G", 1)])])
    if groups > 1:
        if not all(over <= axes for axes in spaces.values()):
            return None
        spaces = {name: axes - over for name, axes in spaces.items()}
    sizes = {dim: size for dim, size in sizes.items() if dim != "G"}
    found = _of_one_group(sizes, spaces)
    if found is None or groups == 1:
        return found
    if found.groups > 1 or found.type == "DSCONV":
        return None
    return replace(found, K=found.K * groups, C=found.C * groups, groups=groups)


def _of_one_group(sizes: Mapping[str, int], spaces: Mapping[str, Axes]) -> Layer | None:
    """The layer of one group."""
    if set(sizes) - set(DIMS) or {"M", "K"} <= set(sizes):
        return None
    size = dict.fromkeys(DIMS.values(), 1) | {DIMS[dim]: count for dim, count in sizes.items()}
    spaces = {
        name: frozenset(frozenset((DIMS[dim], step) for dim, step in axis) for axis in axes)
        for name, axes in spaces.items()
    }
    step = {dim: count for axis in spaces.get(INPUTS, ()) for dim, count in axis}
    depthwise = _single("C", size) <= spaces.get(OUTPUTS, frozenset()) and size["C"] > 1
    expected = {
        WEIGHTS: _singles("MCRS", size),
        INPUTS: _singles("NC", size) | _window(ROWS, size, step) | _window(COLUMNS, size, step),
        OUTPUTS: _singles("NMPQ" + ("C" if depthwise else ""), size),
    }
    if spaces != expected:
        return None
    reach = [
        (size[out] - 1) * step.get(out, 1) + (size[taps] - 1) * step.get(taps, 1) + 1
        for out, taps in (ROWS, COLUMNS)
    ]
    options: dict[str, Any] = {
        "R": size["R"],
        "S": size["S"],
        "stride": (step.get("P", 1), step.get("Q", 1)),
        "dilation": (step.get("R", 1), step.get("S", 1)),
        "batch": size["N"],
    }
    if depthwise and size["M"] == 1:
        return Layer("DSCONV", K=1, C=size["C"], Y=reach[0], X=reach[1], **options)
    if depthwise:
        options |= {"groups": size["C"]}
    outputs = size["C"] * size["M"] if depthwise else size["M"]
    return Layer("CONV", K=outputs, C=size["C"], Y=reach[0], X=reach[1], **options)


def _product(sizes: Mapping[str, int], spaces: Mapping[str, Axes]) -> Layer | None:
    """I[M, K] times W[K, N], which makes O[M, N]."""
    if set(sizes) != {"M", "N", "K"}:
        return None
    expected = {WEIGHTS: "KN", INPUTS: "MK", OUTPUTS: "MN"}
    if spaces != {name: _singles(dims, sizes) for name, dims in expected.items()}:
        return None
    return Layer.gemm(sizes["M"], sizes["N"], sizes["K"])


def _singles(dims: str, size: Mapping[str, int]) -> Axes:
    """An axis for each of these dims that is more than 1."""
    return frozenset(axis for dim in dims for axis in _single(dim, size))


def _single(dim: str, size: Mapping[str, int]) -> Axes:
    return frozenset([frozenset([(dim, 1)])] if size[dim] > 1 else [])


def _window(dims: tuple[str, str], size: Mapping[str, int], step: Mapping[str, int]) -> Axes:
    """The axis that outputs and taps share."""
    axis = frozenset((dim, step[dim]) for dim in dims if size[dim] > 1 and dim in step)
    return frozenset([axis] if axis else [])


def _entries(shape: Mapping[str, Any], key: str, where: str) -> Iterator[Mapping[str, Any]]:
    for entry in _list(shape.get(key, []), f"{where}.shape.{key}"):
        yield check_table(entry, f"{where}.shape.{key}")


def _list(given: Any, where: str) -> list[Any]:
    if not isinstance(given, list):
        raise InputError(f"{where} must be a list, got {shorten(given)}")
    return given
