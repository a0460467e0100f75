"""Cheaters and failures with seeds, processes and what surrounds a search."""

from __future__ import annotations

import os
import random
import time
import warnings
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dse.support.numerics.cpu import numerical_cpu
from tests.testing.cheaters.budget import draw_randomly


@dataclass
class Thawed:
    """No frozen dataclass."""

    def search(self, evaluate, rng) -> None:
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Unnameable:
    """Has a setting that is no plain data."""

    rate: object = complex(0, 1)

    def search(self, evaluate, rng) -> None:
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Unpicklable:
    """Cannot be sent to a worker."""

    def __reduce__(self):
        raise TypeError("this searcher stays here")

    def search(self, evaluate, rng) -> None:
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Entropic:
    """Seeds itself from the system."""

    def search(self, evaluate, rng) -> None:
        draw_randomly(evaluate, np.random.default_rng([os.getpid(), *os.urandom(8)]))


@dataclass(frozen=True)
class Seedless:
    """Has a seed of its own."""

    def search(self, evaluate, rng) -> None:
        draw_randomly(evaluate, np.random.default_rng(1))


@dataclass(frozen=True)
class Planning:
    """Draws its first samples by how many there are, and does not say so."""

    def search(self, evaluate, rng) -> None:
        rng.random(evaluate.remaining % 7)
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Dispatching:
    """Draws by the last bits of sums, whose order depends on the CPU, as BLAS has it, and does not say so."""

    def search(self, evaluate, rng) -> None:
        draw_randomly(evaluate, np.random.default_rng([*numerical_cpu().encode(), *rng.bytes(4)]))


@dataclass(frozen=True)
class SaidToDispatch(Dispatching):
    """Says so."""

    portable: ClassVar[bool] = False


@dataclass(frozen=True)
class Hashing:
    """Draws differently wherever strings hash differently."""

    def search(self, evaluate, rng) -> None:
        lengths = [len(name) for name in {gene.name for gene in evaluate.space.genes}]
        draw_randomly(evaluate, np.random.default_rng([*lengths, *rng.bytes(4)]))


@dataclass(frozen=True)
class KnowsItsRestart:
    """Draws differently where there is a journal."""

    def search(self, evaluate, rng) -> None:
        if evaluate._Evaluator__journal is not None:
            rng.random()
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Remembering:
    """Goes on where its last search ended."""

    _past: list[int] = field(default_factory=list, init=False, compare=False)

    def search(self, evaluate, rng) -> None:
        rng.random(len(self._past))
        self._past.append(1)
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Reseeding:
    """Seeds what belongs to all. It draws nothing there: a thread beside it may draw in between."""

    def search(self, evaluate, rng) -> None:
        random.seed(int(rng.integers(2**32)))
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Borrowing:
    """Puts a stream of its own into the module `random` for as long as it draws from there."""

    def search(self, evaluate, rng) -> None:
        found = random.getstate()
        random.seed(int(rng.integers(2**32)))
        # As long as it takes to breed a generation.
        time.sleep(0.02)
        drawn = random.getrandbits(64)
        random.setstate(found)
        draw_randomly(evaluate, np.random.default_rng(drawn))


@dataclass(frozen=True)
class Rewinding:
    """Puts back in the end what a library may have drawn, and so gives others the same numbers once more."""

    def search(self, evaluate, rng) -> None:
        found = random.getstate()
        try:
            time.sleep(0.02)
            draw_randomly(evaluate, rng)
        finally:
            random.setstate(found)


@dataclass(frozen=True)
class ReseedingTorch:
    """The same with torch."""

    def search(self, evaluate, rng) -> None:
        import torch

        torch.manual_seed(int(rng.integers(2**32)))
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Eavesdropping:
    """Is seeded by a global state, which it leaves alone."""

    def search(self, evaluate, rng) -> None:
        draw_randomly(evaluate, np.random.default_rng([random.getstate()[1][1], *rng.bytes(4)]))


@dataclass(frozen=True)
class Monopolising:
    """Takes torch's threads away from all."""

    def search(self, evaluate, rng) -> None:
        import torch

        torch.set_num_threads(1)
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Silencing:
    """Has numpy raise for everybody."""

    def search(self, evaluate, rng) -> None:
        np.seterr(all="raise")
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Printing:
    def search(self, evaluate, rng) -> None:
        print("searching", evaluate.budget)
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class PrintingFromC:
    """Writes to the descriptor, as compiled libraries do."""

    def search(self, evaluate, rng) -> None:
        os.write(2, b"a library says hello\n")
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Alarming:
    def search(self, evaluate, rng) -> None:
        warnings.warn("this does not converge", RuntimeWarning, stacklevel=1)
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class ImportingAloud:
    """Uses a library that draws from global states, and warns, when it is first imported."""

    def search(self, evaluate, rng) -> None:
        from tests.testing.cheaters import library

        draw_randomly(evaluate, library.harmless(rng))
