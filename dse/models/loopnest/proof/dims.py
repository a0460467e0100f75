"""One dim of a mapping of perfect factors: its outer and inner steps, and what stays as they advance.

Pieces are never cut, only missing: in the last outer step of the outer parallel dim some clusters may be
idle, in the last inner step of the inner parallel dim some PEs. So every PE at work does the same, and all
figures of the other dims are those of one cluster and one PE.
"""

from __future__ import annotations

from dse.models.loopnest.extents import positive
from dse.models.loopnest.params import PARAMS, SIZES
from dse.models.loopnest.timing import cycles_of
from dse.support.compiling import subroutine

DIMS = 4

# Behind the price kernel's figures: pitches and overlaps of the four dims, of which K and C have 1 and 0; the
# room in buffers, how ties are broken, what all outputs take, of the PEs and of DRAM, and the most steps that
# limits leave to the busiest PE.
DIM_PITCHES, DIM_OVERLAPS = PARAMS, PARAMS + 4
L1, L2, TIES_BY_CYCLES, OUTPUTS, LINK_OUTPUTS, MOST_WORK = range(PARAMS + 8, PARAMS + 14)
FIGURES = PARAMS + 14

# Columns of a dim. TILE, CLUSTERS, LAST_CLUSTERS: the outer tile, the clusters at work in any outer step but
# the last, and in the last one; SPAN, LAST_SPAN: the indices of those steps. Both are the last step's where
# that is the only one.
OUTER_STEPS, TILE, CLUSTERS, LAST_CLUSTERS, SPAN, LAST_SPAN, L2_BACK = range(7)
# Inside a cluster: steps, the inner tile, PEs at work in any step but the last, in the last and in the first.
STEPS, PIECE, PLACES, LAST_PLACES, FIRST_PLACES = range(7, 12)
# Of a cluster: indices of the first inner step and of the last one, input rows or columns of the first.
NEEDED, LEFT, WINDOW = range(12, 15)
# Rows or columns that stay: ADVANCE of each PE as the inner loop advances, BACK as it goes back, NEXT as the
# outer loop advances, all three of a cluster; OUTER_BACK of all clusters, as the outer loop goes back.
ADVANCE, BACK, NEXT, OUTER_BACK = range(15, 19)
# Outputs that stay as the inner loop goes back; input rows or columns of all pieces of the dim. PEs at work,
# added up over all steps of the dim, and over the first inner steps of its outer ones.
STAY, EVERY_WINDOW, ALL_PLACES, ALL_FIRST_PLACES = range(19, 23)
# The largest share of a PE's tile that stays in a step that changes it along the dim, in parts of SHARES.
SHARED = 23
COLUMNS = 24

SHARES = 2**30


@subroutine
def set_outer(dims, dim, tile, clusters, params):
    """Fills what depends on the outer tile of `dim` and the clusters that it is spread over."""
    size, pitch, overlap = params[SIZES + dim], params[DIM_PITCHES + dim], params[DIM_OVERLAPS + dim]
    steps = cycles_of(size, tile * clusters)
    last = size // tile - (steps - 1) * clusters
    dims[dim, OUTER_STEPS], dims[dim, TILE] = steps, tile
    dims[dim, CLUSTERS], dims[dim, LAST_CLUSTERS] = clusters if steps > 1 else last, last
    span = tile * dims[dim, CLUSTERS]
    dims[dim, SPAN], dims[dim, LAST_SPAN] = span, tile * last
    dims[dim, L2_BACK] = positive(overlap - (steps - 2) * span * pitch)


@subroutine
def set_inner(dims, dim, piece, places, params):
    """Fills what depends on the inner tile of `dim` and the PEs of a cluster that it is spread over."""
    size, pitch, overlap = params[SIZES + dim], params[DIM_PITCHES + dim], params[DIM_OVERLAPS + dim]
    tile, step = dims[dim, TILE], piece * places
    steps = cycles_of(tile, step)
    last = tile // piece - (steps - 1) * places
    first = places if steps > 1 else last
    dims[dim, STEPS], dims[dim, PIECE] = steps, piece
    dims[dim, PLACES], dims[dim, LAST_PLACES], dims[dim, FIRST_PLACES] = places, last, first
    dims[dim, NEEDED], dims[dim, LEFT] = first * piece, last * piece
    dims[dim, WINDOW] = first * (piece * pitch + overlap)
    dims[dim, STAY] = first * piece if steps == 1 else 0
    dims[dim, ADVANCE] = positive(overlap - (places - 1) * piece * pitch)
    dims[dim, EVERY_WINDOW] = size * pitch + size // piece * overlap
    dims[dim, ALL_PLACES], dims[dim, ALL_FIRST_PLACES] = size // piece, size // tile * first
    dims[dim, BACK] = kept(dims, dim, 0, pitch, overlap)
    set_next(dims, dim, pitch, overlap)
    share = 0.0
    if steps > 1:
        share = max(dims[dim, ADVANCE] / (piece * pitch + overlap), dims[dim, BACK] / dims[dim, WINDOW])
    if dims[dim, OUTER_STEPS] > 1:
        back = dims[dim, OUTER_BACK] / (dims[dim, WINDOW] * dims[dim, CLUSTERS])
        share = max(share, max(dims[dim, NEXT] / dims[dim, WINDOW], back))
    # Rounded up: a bound that takes it is never too high.
    dims[dim, SHARED] = 0 if share == 0.0 else min(SHARES, int(share * SHARES) + 2)


@subroutine
def set_next(dims, dim, pitch, overlap):
    """Fills what stays as the outer loop advances, and as it goes back."""
    steps, piece = dims[dim, STEPS], dims[dim, PIECE]
    step = piece * dims[dim, PLACES]
    first, last = dims[dim, FIRST_PLACES], dims[dim, LAST_PLACES]
    if dims[dim, OUTER_STEPS] == 1:
        dims[dim, NEXT], dims[dim, OUTER_BACK] = 0, dims[dim, LAST_CLUSTERS] * dims[dim, BACK]
        return
    stride, working = dims[dim, SPAN], dims[dim, LAST_CLUSTERS]
    idle = dims[dim, CLUSTERS] - working
    base = (dims[dim, OUTER_STEPS] - 2) * stride
    dims[dim, OUTER_BACK] = working * kept(dims, dim, base + stride, pitch, overlap)
    dims[dim, OUTER_BACK] += idle * kept(dims, dim, base, pitch, overlap)
    gap = stride - (steps - 1) * step
    following = min(first, last) * positive(overlap - (gap - piece) * pitch)
    following += positive(first - last) * positive(overlap - (gap + step - piece) * pitch)
    dims[dim, NEXT] = following


@subroutine
def kept(dims, dim, base, pitch, overlap):
    """Rows or columns that a cluster keeps as it goes back to its first inner step by `base` indices.

    A PE that is idle in the last inner step has what it worked on in the one before.
    """
    steps, piece = dims[dim, STEPS], dims[dim, PIECE]
    step = piece * dims[dim, PLACES]
    first, last = dims[dim, FIRST_PLACES], dims[dim, LAST_PLACES]
    end = base + (steps - 1) * step - piece
    return min(first, last) * positive(overlap - end * pitch) + positive(first - last) * positive(
        overlap - (end - step) * pitch
    )
