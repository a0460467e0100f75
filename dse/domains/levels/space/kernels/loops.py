# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The loops over one dim, of vectors and of rows, and moves of factors and of lengths. See `SpaceTables`."""

from __future__ import annotations

import numpy as np

from dse.support.compiling import inlined, kernel, subroutine_with_arrays


@inlined
def write_factors(vector, dim, t, row):
    """Write the factors of one dim into a row whose own are all 1."""
    place, position = t.whole[dim], np.int64(0)
    for slot in range(t.first_slot[dim], t.first_slot[dim + 1]):
        edge = picked(vector, slot, place, t)
        row[t.column[slot]] = t.edge_factors[edge]
        if t.tile_start:
            position = write_tiles(row, dim, t, place, position, t.position[slot])
        place = t.edges[edge]
        if place == 0:
            # Nothing is left of the dim.
            break
    if t.tile_start:
        write_tiles(row, dim, t, place, position, 2 * np.int64(len(t.order_gene)))


@inlined
def write_tiles(row, dim, t, place, start, stop):
    """Write the length at `place` as that of tiles of the loops from one position on to before another, which
    is returned.
    """
    for position in range(start, stop):
        row[tile_column(t, position, dim)] = t.lengths[dim, place]
    return stop


@inlined
def tile_column(t, position, dim):
    """Where in a row the length of the tiles of a loop is."""
    return t.tile_start + position * len(t.whole) + dim


@inlined
def picked(vector, slot, place, t):
    """Which of the edges a vector takes at a slot, above which the length at `place` is left."""
    count, choice = t.edge_count[slot, place], 0
    if count > 1:
        gene, size = t.gene[slot], t.size[slot]
        # Where fewer factors are left than a gene has values, values next to each other share one.
        choice = vector[gene] if count == size else vector[gene] * count // size
    return t.edge_start[slot, place] + choice


@kernel
def encode_factors(row, dim, t, vector):
    """Write the smallest genes of one dim's factors in a row; False if they are no chain."""
    place = t.whole[dim]
    for slot in range(t.first_slot[dim], t.first_slot[dim + 1]):
        factor, length, count = row[t.column[slot]], t.lengths[dim, place], t.edge_count[slot, place]
        if t.tile_start:
            below = np.int64(row[tile_column(t, t.position[slot], dim)])
        elif factor < 1 or length % factor:
            return False
        else:
            below = length // factor
        start = t.edge_start[slot, place]
        found = choice_of(dim, slot, place, below, t)
        if found < 0:
            return False
        if t.gene[slot] >= 0:
            vector[t.gene[slot]] = (found * t.size[slot] + count - 1) // count
        place = t.edges[start + found]
    return t.lengths[dim, place] == 1


@inlined
def choice_of(dim, slot, place, below, t):
    """Which choice of a slot, above which the length at `place` is left, leaves a length; -1 if none does."""
    start, low, high = t.edge_start[slot, place], np.int64(0), t.edge_count[slot, place]
    # The largest length comes first.
    while low < high:
        middle = (low + high) // 2
        if t.lengths[dim, t.edges[start + middle]] > below:
            low = middle + 1
        else:
            high = middle
    if low < t.edge_count[slot, place] and t.lengths[dim, t.edges[start + low]] == below:
        return low
    return np.int64(-1)


@subroutine_with_arrays
def factor_move(row, dim, t, vector, wanted, scratch):
    """How many moves a dim has, up to the one that is `wanted` (-1: all); that one is made in `vector`.

    A move takes a prime factor from one slot to another. `row` is the vector's own, `vector` is canonical.
    """
    if t.tile_start:
        return tile_move(row, dim, t, vector, wanted, scratch)
    first, end = t.first_slot[dim], t.first_slot[dim + 1]
    count = 0
    for number in range(t.primes.shape[1]):
        prime = t.primes[dim, number]
        if prime == 0:
            break
        for source in range(first, end):
            if row[t.column[source]] % prime:
                continue
            # The row is the caller's: what is changed here is undone before the next move, and on return.
            row[t.column[source]] //= prime
            for target in range(first, end):
                if target != source:
                    row[t.column[target]] *= prime
                    # Some slots cannot have the factor: then genes are half written, and only in the copy.
                    scratch[:] = vector
                    possible = encode_factors(row, dim, t, scratch)
                    row[t.column[target]] //= prime
                    if possible:
                        if count == wanted:
                            vector[:] = scratch
                            row[t.column[source]] *= prime
                            return count + 1
                        count += 1
            row[t.column[source]] *= prime
    return count


@subroutine_with_arrays
def tile_move(row, dim, t, vector, wanted, scratch):
    """As `factor_move`, where tiles may be of any size: one of them takes another length that is near, or
    several, one inside the other, become two or three times as long, or that much shorter.
    """
    first, end = t.first_slot[dim], t.first_slot[dim + 1]
    count = 0
    above, outer = t.whole[dim], t.lengths[dim, t.whole[dim]]
    for slot in range(first, end - 1):
        column = tile_column(t, t.position[slot], dim)
        own = row[column]
        inner = np.int64(row[tile_column(t, t.position[slot + 1], dim)])
        place = t.edges[t.edge_start[slot, above] + choice_of(dim, slot, above, np.int64(own), t)]
        for edge in range(t.edge_start[slot, above], t.edge_start[slot, above] + t.edge_count[slot, above]):
            other = t.edges[edge]
            length = t.lengths[dim, other]
            if length < inner:
                break
            near = abs(other - place) == 1 or is_near(outer, np.int64(own), inner, length)
            if other != place and near and choice_of(dim, slot + 1, other, inner, t) >= 0:
                if count == wanted:
                    row[column] = length
                    encode_factors(row, dim, t, vector)
                    row[column] = own
                    return count + 1
                count += 1
        above, outer = place, np.int64(own)
    for start in range(first, end - 2):
        for stop in range(start + 2, end):
            for step in (-3, -2, 2, 3):
                if scaled(row, dim, t, start, stop, step):
                    scratch[:] = vector
                    possible = encode_factors(row, dim, t, scratch)
                    scaled(row, dim, t, start, stop, -step)
                    if possible:
                        if count == wanted:
                            vector[:] = scratch
                            return count + 1
                        count += 1
    return count


@inlined
def is_near(outer, own, inner, length):
    """Whether a tile of a length is one move from its `own`: by one tile more or fewer, of it in the outer
    one or of the inner one in it, or by a factor of two or three.
    """
    tiles, parts = (outer + own - 1) // own, (own + inner - 1) // inner
    return (
        length == (outer + tiles) // (tiles + 1)
        or (tiles > 1 and length == (outer + tiles - 2) // (tiles - 1))
        or length == inner * (parts + 1)
        or length == inner * (parts - 1)
        or length == inner * parts
        or length == 2 * own
        or length == 3 * own
        or length == (own + 1) // 2
        or length == (own + 2) // 3
    )


@subroutine_with_arrays
def scaled(row, dim, t, start, stop, step):
    """Multiplies the lengths of slots by a number, or divides them by one that is negative, and says so;
    changes none where one would leave a rest.
    """
    if step < 0:
        for slot in range(start, stop):
            if row[tile_column(t, t.position[slot], dim)] % -step:
                return False
    for slot in range(start, stop):
        column = tile_column(t, t.position[slot], dim)
        if step < 0:
            row[column] //= -step
        else:
            row[column] *= step
    return True
