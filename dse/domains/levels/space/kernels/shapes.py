# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled shapes of mappings: tiles, what fits, what comes again, what is moved (see `ShapeTables`)."""

from __future__ import annotations

import numpy as np

from dse.support.compiling import kernel, subroutine
from dse.support.numerics.elementary import log2_of


@kernel
def measure(rows, s, words, wide):
    """Write what each level has to hold (levels, n), and the children that it spreads over."""
    tensors, dims = len(s.first_axis) - 1, len(s.sizes)
    levels = len(s.holds)
    width = 3 * dims + tensors
    box = np.empty(dims, dtype=np.int64)
    # Where tiles need not divide, rows have their lengths behind all levels.
    said = rows.shape[1] > levels * width
    for i in range(len(rows)):
        box[:] = 1
        for level in range(levels - 1, -1, -1):
            base = level * width
            spread = np.int64(1)
            for dim in range(dims):
                across = np.int64(rows[i, base + dims + dim])
                spread *= across
                box[dim] *= rows[i, base + dim] * across
                if said:
                    box[dim] = tile_above(rows[i], s, level, dim)
            held = 0
            if s.holds[level]:
                for tensor in range(tensors):
                    if rows[i, base + 3 * dims + tensor] and not s.beside[level, tensor]:
                        held += tile_words(box, s, tensor) * s.bits[tensor]
            words[level, i], wide[level, i] = held, spread


@subroutine
def tile_above(row, s, level, dim):
    """How long a dim is above the loops of a level, of a row with lengths."""
    dims, levels = len(s.sizes), len(s.holds)
    if level == 0:
        return s.sizes[dim]
    first = levels * (3 * dims + len(s.first_axis) - 1)
    return np.int64(row[first + (2 * level - 1) * dims + dim])


@subroutine
def tile_words(box, s, tensor):
    """Words of a tensor that a box touches."""
    words = 1
    for axis in range(s.first_axis[tensor], s.first_axis[tensor + 1]):
        extent = 1
        for term in range(s.first_term[axis], s.first_term[axis + 1]):
            # From the first to the last index that the dims reach, so a window's halo is in it.
            extent += s.words[term] * (box[s.dim[term]] - 1)
        words *= extent
    return words


@subroutine
def moves_it(s, tensor, dim):
    """Whether a loop over a dim moves a tensor."""
    moved = False
    for term in range(s.first_term[s.first_axis[tensor]], s.first_term[s.first_axis[tensor + 1]]):
        moved = moved or s.dim[term] == dim
    return moved


@kernel
def describe(rows, s, out):
    """Write log2 of what the loops of each row imply into `out`, a Described."""
    tensors, dims = len(s.first_axis) - 1, len(s.sizes)
    levels = len(s.holds)
    width = 3 * dims + tensors
    box = np.empty(dims, dtype=np.int64)
    said = rows.shape[1] > levels * width
    for i in range(len(rows)):
        row = rows[i]
        box[:] = 1
        out.held[i] = 0.0
        out.returns[i] = 0.0
        out.moved[i] = 0.0
        out.served[i] = 0.0
        total = 0.0
        for level in range(levels - 1, -1, -1):
            base = level * width
            for dim in range(dims):
                factor, across = row[base + dim], row[base + dims + dim]
                box[dim] *= np.int64(factor) * across
                if said:
                    box[dim] = tile_above(row, s, level, dim)
                out.lengths[i, level, dim] = log2_of(box[dim])
                out.spread[i, level, dim] = log2_of(across)
                total += log2_of(factor)
            for tensor in range(tensors):
                if s.holds[level] and row[base + 3 * dims + tensor]:
                    out.held[i, level, tensor] = log2_of(tile_words(box, s, tensor))
        out.steps[i] = total
        for tensor in range(tensors):
            for level in range(levels + 1):
                if level == levels or (s.holds[level] and row[level * width + 3 * dims + tensor]):
                    every, own, here, there = flow(row, s, tensor, level, width)
                    words = out.held[i, level, tensor] if level < levels else 0.0
                    if level < levels:
                        out.returns[i, level, tensor] = every
                        out.moved[i, level, tensor] = words + every + there
                    out.served[i, level, tensor] = words + every + own + here


@subroutine
def flow(row, s, tensor, level, width):
    """log2 of how often a tile comes anew to an instance, of how many instances below the next level that
    keeps it get different ones, of the instances at work of that level, and of those of this one.
    """
    dims, levels = len(s.sizes), len(s.holds)
    # A MAC asks for its words in every step; a level only once a loop moves its tile.
    every, started = 0.0, level == levels
    different, parents, instances = 0.0, 0.0, 0.0
    kept_above = False
    for outer in range(level - 1, -1, -1):
        base = outer * width
        for dim in range(dims):
            across = log2_of(row[base + dims + dim])
            instances += across
            # Beyond the next level that keeps the tensor, a spread has more instances of that level, not more
            # children of one.
            if kept_above:
                parents += across
            elif moves_it(s, tensor, dim):
                different += across
        kept_above = kept_above or row[base + 3 * dims + tensor] != 0
        for place in range(dims - 1, -1, -1):
            dim = row[base + 2 * dims + place]
            factor = row[base + dim]
            if factor > 1:
                # Loops inside the first that moves the tensor leave it in place (docs/timeloop.md, rule 2).
                started = started or moves_it(s, tensor, dim)
                if started:
                    every += log2_of(factor)
    return every, different, parents, instances
