"""Words and pieces of every chain of a component, compiled: see `ragged_counts`."""

from __future__ import annotations

from typing import NamedTuple

from dse.models.timeloop.pieces import axis_words, make_cuts, pieces_along
from dse.support.compiling import kernel


class Asked(NamedTuple):
    """Of which tensor, or of none, a level is asked for words by a child: the first instance, or `every` one.

    Loops of levels from `run` inwards that leave it in place do not step; of `outer` and `dim` is the
    innermost loop, where it slides along a window.
    """

    tensor: int
    level: int
    child: int
    run: int
    outer: int
    dim: int
    every: bool


@kernel
def count_words(tiles, dims, counted, known, axes, asked, found):
    """Writes what each chain (n) contributes to the words that are asked for; without a tensor, the pieces of
    those dims that are `counted`.
    """
    cuts = make_cuts(known)
    cuts.lengths[:] = 1
    tensor, question = asked.tensor, (asked.level, asked.child, asked.every)
    for chain in range(len(tiles)):
        for place in range(len(dims)):
            dim = dims[place]
            cuts.lengths[dim] = tiles[chain, place]
            moves = tensor >= 0 and known.moves[tensor, dim, 0, 1] != 0
            cuts.free[dim] = asked.child if moves else asked.run
        words = 1.0
        for place in range(len(dims)):
            dim = dims[place]
            if counted[place] and (tensor < 0 or known.moves[tensor, dim, 0, 1] == 0):
                words *= pieces_along(known, cuts, dim, tensor, asked.level, asked.child, asked.every)
        if tensor >= 0:
            for number in range(known.first_axis[tensor], known.first_axis[tensor + 1]):
                axis = axes[number]
                own = False
                for place in range(len(dims)):
                    own = own or dims[place] == axis[0, 0] or dims[place] == axis[1, 0]
                if not own:
                    continue
                slides = asked.dim >= 0 and (asked.dim == axis[0, 0] or asked.dim == axis[1, 0])
                if not slides:
                    words *= axis_words(known, axis, cuts, tensor, question, -1)
                    continue
                new = axis_words(known, axis, cuts, tensor, question, asked.dim)
                cuts.free[asked.dim] = asked.outer
                new -= axis_words(known, axis, cuts, tensor, question, asked.dim)
                words *= new + axis_words(known, axis, cuts, tensor, question, -1)
                cuts.free[asked.dim] = asked.child
        found[chain] = words
