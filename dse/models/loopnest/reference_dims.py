"""One dim of a mapping, piece by piece: what it contributes to every transition (docs, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Pe = tuple[int, int]
Position = tuple[int, int]


@dataclass(frozen=True)
class Move:
    """What one dim contributes to a transition between two steps, summed over the PEs that tell it apart.

    `pieces` PEs work after it, on `needed` indices and `window` input rows (or columns), of which they hold
    `kept` and `window_kept`. Of outputs, `left` were worked on before it and `stay` are in both steps.
    `busiest` is the first PE's piece before, `first` says that the dim is at its very start after it.
    """

    pieces: int
    needed: int
    kept: int
    window: int
    window_kept: int
    left: int
    stay: int
    busiest: int
    first: bool


@dataclass(frozen=True)
class Fill:
    """What one dim contributes to a transition of L2's contents: as a Move's, of all clusters together.

    `real` and `real_kept` are the input rows or columns without those of the padding.
    """

    needed: int
    kept: int
    window: int
    window_kept: int
    real: int
    real_kept: int
    left: int
    first: bool


@dataclass(frozen=True)
class Profile:
    """A dim inside one outer step: how often each Move occurs, by what its inner loop does."""

    stays: tuple[tuple[Move, int], ...]
    advances: tuple[tuple[Move, int], ...]
    reset: Move


Outer = tuple[Profile, Move, Fill]
"""A dim in a transition between outer steps: what the step before it was like, and what it moves."""


@dataclass(frozen=True)
class OuterMoves:
    """How often a dim stays or advances between two outer steps, and how it goes back to its start."""

    stays: Counter[Outer]
    advances: Counter[Outer]
    reset: Outer


class Dim:
    """One dim of a mapping: its pieces by position (outer and inner index), and its moves."""

    def __init__(
        self, size: int, tiles: tuple[int, int], units: tuple[int, int], rows: Sequence[frozenset[int]],
        real: frozenset[int],
    ) -> None:  # fmt: skip
        self._rows, self._real = rows, real
        self._tiles, self._units, self._size = tiles, units, size
        outer_step = tiles[0] * units[0]
        self._spans = [range(i, min(i + outer_step, size)) for i in range(0, size, outer_step)]
        self._pieces = [list(self._inner_steps(span)) for span in self._spans]

    def _inner_steps(self, span: range) -> Iterator[dict[Pe, range]]:
        """The pieces of the PEs that work, for each inner step."""
        (outer, inner), places = self._tiles, self._units[1]
        for start in range(0, min(outer, len(span)), inner * places):
            pieces = {}
            for c in range(-(-len(span) // outer)):
                whole = span[c * outer : (c + 1) * outer]
                for q in range(min(places, max(0, -(-(len(whole) - start) // inner)))):
                    piece = whole[start + q * inner : start + (q + 1) * inner]
                    pieces[c, q] = piece
            yield pieces

    def _used(self, span: range) -> frozenset[int]:
        """Input rows (or columns) that the outputs of a span use; for K and C the indices themselves."""
        return frozenset().union(*self._rows[span.start : span.stop])

    def _move(self, before: dict[Pe, range], held: dict[Pe, range], to: Position) -> Move:
        """The move to a position, with the pieces of the step before it and what PEs worked on last."""
        after = self._pieces[to[0]][to[1]]
        pairs = [(piece, held[pe]) for pe, piece in after.items() if pe in held]
        return Move(
            pieces=len(after),
            needed=sum(map(len, after.values())),
            kept=sum(shared(piece, last) for piece, last in pairs),
            window=sum(len(self._used(piece)) for piece in after.values()),
            window_kept=sum(len(self._used(piece) & self._used(last)) for piece, last in pairs),
            left=sum(map(len, before.values())),
            stay=sum(shared(piece, before[pe]) for pe, piece in after.items() if pe in before),
            busiest=len(before[0, 0]) if before else 0,
            first=to == (0, 0),
        )

    def _fill(self, before: int | None, to: int) -> Fill:
        after, last = self._spans[to], self._spans[before] if before is not None else range(0)
        used, held = self._used(after), self._used(last)
        return Fill(
            needed=len(after),
            kept=shared(after, last),
            window=len(used),
            window_kept=len(used & held),
            real=len(used & self._real),
            real_kept=len(used & held & self._real),
            left=len(last),
            first=to == 0,
        )

    def begin(self) -> tuple[Move, Fill]:
        """The very first step's."""
        return self._move({}, {}, (0, 0)), self._fill(None, 0)

    def end(self) -> tuple[int, int]:
        """Indices that all PEs work on in the very last step, and that the last outer step spans."""
        return sum(map(len, self._pieces[-1][-1].values())), len(self._spans[-1])

    def first_piece(self) -> tuple[int, int]:
        """Indices, and rows or columns, of the first PE in the first step."""
        piece = self._pieces[0][0][0, 0]
        return len(piece), len(self._used(piece))

    def first_span(self) -> tuple[int, int]:
        """Indices, and rows or columns, of the first outer step."""
        return len(self._spans[0]), len(self._used(self._spans[0]))

    def outer_moves(self) -> OuterMoves:
        """The dim's part in all transitions between outer steps."""
        held: dict[Pe, range] = {}
        stays: Counter[Outer] = Counter()
        advances: Counter[Outer] = Counter()
        profile: Profile | None = None
        for i in range(len(self._pieces)):
            if profile is not None:
                move = self._move(self._pieces[i - 1][-1], held, (i, 0))
                advances[profile, move, self._fill(i - 1, i)] += 1
            profile = self._profile(i, held)
            stays[profile, profile.reset, self._fill(i, i)] += 1
        assert profile is not None
        back = self._move(self._pieces[-1][-1], held, (0, 0))
        return OuterMoves(stays, advances, (profile, back, self._fill(len(self._pieces) - 1, 0)))

    def _profile(self, i: int, held: dict[Pe, range]) -> Profile:
        """The moves inside outer step `i`; `held` follows what PEs worked on last."""
        stays: Counter[Move] = Counter()
        advances: Counter[Move] = Counter()
        for j, pieces in enumerate(self._pieces[i]):
            if j:
                advances[self._move(self._pieces[i][j - 1], held, (i, j))] += 1
            held |= pieces
            stays[self._move(pieces, pieces, (i, j))] += 1
        reset = self._move(self._pieces[i][-1], held, (i, 0))
        return Profile(tuple(stays.items()), tuple(advances.items()), reset)


def shared(one: range, other: range) -> int:
    """Indices in both."""
    return max(0, min(one.stop, other.stop) - max(one.start, other.start))
