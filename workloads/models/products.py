"""Matrix products of any number of dimensions, attention and recurrent cells, as layers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import zip_longest
from math import prod

from dse.core.layer import Layer
from dse.support.errors import InputError
from workloads.models.collected import NoLayerError

Shape = Sequence[int]


def product(left: Shape, right: Shape) -> list[Layer]:
    """The layer of numpy's `left @ right`, broadcast over the dimensions in front of the last two.

    What the left alone has in front is more rows, what the right alone has is more columns: the other matrix
    is the same for all of them. What both have is repeats.
    """
    left = (1, *left) if len(left) == 1 else left
    right = (*right, 1) if len(right) == 1 else right
    rows, columns, repeats = left[-2], right[-1], 1
    for ours, theirs in zip_longest(reversed(left[:-2]), reversed(right[:-2]), fillvalue=1):
        if theirs == 1:
            rows *= ours
        elif ours == 1:
            columns *= theirs
        else:
            repeats *= ours
    return [Layer.gemm(rows, columns, left[-1], repeats=repeats)]


def einsum(equation: str, shapes: Sequence[Shape]) -> list[Layer]:
    """The layer of an Einstein sum of two operands in which each index is a row, a column or summed over."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != 2 or len(shapes) != 2 or "->" not in equation:
        raise NoLayerError(f"the sum {equation!r} is none of two operands with a named output")
    left, right = (_indices(term, shape, equation) for term, shape in zip(terms, shapes, strict=True))
    sizes = left | right
    for index in left.keys() & right.keys():
        if left[index] != right[index]:
            raise InputError(f"the sum {equation!r} has {index!r} of {left[index]} and of {right[index]}")
    hidden = {index for index in sizes if len(index) > 1 and "..." in output}
    summed = sizes.keys() - set(output) - hidden
    if summed - (left.keys() & right.keys()):
        raise NoLayerError(f"the sum {equation!r} sums over an index of one operand", prod(sizes.values()))

    def size(indices: Set[str]) -> int:
        return prod(sizes[index] for index in indices)

    return [
        Layer.gemm(
            *(size(left.keys() - right.keys()), size(right.keys() - left.keys()), size(summed)),
            repeats=size((left.keys() & right.keys()) - summed),
        )
    ]


def _indices(term: str, shape: Shape, equation: str) -> dict[str, int]:
    """The sizes of an operand's indices, those of an ellipsis by their places from its end.

    Without those of 1, which may stand for any and are no work.
    """
    before, ellipsis, after = term.partition("...")
    hidden = len(shape) - len(before) - len(after) if ellipsis else 0
    indices = [*before, *(f"...{place}" for place in range(hidden, 0, -1)), *after]
    if len(indices) != len(shape):
        raise InputError(f"the sum {equation!r} does not fit an operand of {len(shape)} dimensions")
    if len(set(indices)) < len(indices):
        raise NoLayerError(f"the sum {equation!r} repeats an index")
    return {index: size for index, size in zip(indices, shape, strict=True) if size > 1}


def attention(query: Shape, key: Shape, value: Shape) -> list[Layer]:
    """The scores and the context of attention over (..., heads, tokens, width).

    Whole products: a mask is applied to the scores afterwards. Where several heads of the query share those
    of key and value, they are more rows of the same product.
    """
    heads, shared = query[-3] if len(query) > 2 else 1, key[-3] if len(key) > 2 else 1
    runs, rows = prod(query[:-3]) * shared, query[-2] * (heads // shared)
    return [
        Layer.gemm(rows, key[-2], query[-1], name="scores", repeats=runs),
        Layer.gemm(rows, value[-1], key[-2], name="context", repeats=runs),
    ]


def recurrent(steps: int, samples: int, from_input: Shape, from_state: Sequence[Shape]) -> list[Layer]:
    """One direction of a recurrent layer, as (outputs, inputs) of its matrices.

    Its inputs are one product of all steps; what is done to its state is one product a step.
    """
    return [
        Layer.gemm(steps * samples, *from_input, name="input"),
        *(Layer.gemm(samples, *shape, name="state", repeats=steps) for shape in from_state),
    ]
