"""The best mapping of each SCALE-Sim problem, proven: `python -m experiments.judges.enumeration`.

SCALE-Sim is told the dataflow, the array's sides and L2's tiles, so that a problem asks it some ten thousands
of different questions. None takes fewer cycles than its lines of demand: in a fold of the array
(https://arxiv.org/abs/1811.02883, scalesim/compute/systolic_compute_*.py of version 3.0.0) T + R + C - 2 with
stationary outputs, and R more otherwise, of T streamed words, R rows and C columns. Questions are asked by
this bound, the least first, until it reaches the best answer. Lines go to results/judges/references.csv.
"""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np

import dse
from dse.support.arrays import IntArray
from examples.judges.scalesim.judge import CannotRun, array, tiles
from experiments import read_rows, write_rows
from experiments.judges.references import COLUMNS, ENUMERATION, JUDGES, TABLE, problem

Question = tuple[tuple[str, int, int], tuple[tuple[int, str], ...]]
"""The dataflow, the array's rows and columns; how often each kind of tile is run, a topology's line each."""
NAME, BATCH = "scalesim", 16
TOLD = ("outer.parallel", "inner.parallel", "cluster", *(f"outer.tile.{dim}" for dim in "KCYX"))
"""The genes of which the judge is told something, or which decide whether a mapping fits L2."""


def main() -> None:
    """Run what is missing."""
    campaign = tomllib.loads((JUDGES / NAME / "campaign.toml").read_text())
    for number, entry in enumerate(campaign["problems"], 1):
        key = (NAME, f"l{number}", ENUMERATION, "0")
        if key not in {tuple(row[column] for column in COLUMNS[:4]) for row in read_rows(TABLE)}:
            asked = problem(NAME, campaign, entry)
            points, bounds = questions(asked)
            found = least(asked, points, bounds)
            print(
                f"l{number}: {found[0]:,} of {len(points):,} questions asked, {found[1]:,} cycles", flush=True
            )
            write_rows(TABLE, COLUMNS, [[*key, *found]], add=True)


def questions(asked: dse.Problem) -> tuple[IntArray, IntArray]:
    """A point of each question that the judge can run, and its bound in cycles, the least first."""
    points = fitting_points(asked)
    places: dict[Question, int] = {}
    designs = asked.space.decode(points)
    for place in range(len(points)):
        question = question_of(asked.case(designs[place]))
        if question is not None:
            places.setdefault(question, place)
    pairs = np.array(sorted((bound_of(question), place) for question, place in places.items()))
    return points[pairs[:, 1]], pairs[:, 0]


def question_of(case: dict[str, Any]) -> Question | None:
    """What SCALE-Sim is told of a mapping; None of one that it cannot run."""
    try:
        spread = array(case["mapping"], case["hardware"])
        return spread, tuple(tiles(case["layer"], case["mapping"]["outer"]["tile"]))
    except CannotRun:
        return None


def bound_of(question: Question) -> int:
    """Cycles that its tiles take at least."""
    spread, kinds = question
    return sum(count * lines(line, *spread) for count, line in kinds)


def fitting_points(asked: dse.Problem) -> IntArray:
    """The points that fit the buffers by the machine's file, of all that differ in what the judge is told."""
    genes = asked.space.genes
    moved = [[gene.name for gene in genes].index(name) for name in TOLD]
    sizes = [genes[place].size for place in moved]
    points = np.zeros((int(np.prod(sizes)), len(genes)), dtype=np.int64)
    points[:, moved] = np.indices(sizes).reshape(len(sizes), -1).T
    free = asked.free(points)
    return points if free is None else points[~free]


def lines(topology: str, dataflow: str, rows: int, columns: int) -> int:
    """The fewest cycles of one tile: the lines of demand of all its folds, of which the first is cycle 0."""
    high, wide, taps_y, taps_x, channels, filters, stride = map(int, topology.split(",")[1:8])
    pixels = ((high - taps_y) // stride + 1) * ((wide - taps_x) // stride + 1)
    window = taps_y * taps_x * channels
    over_rows, over_columns, streamed = {
        "os": (pixels, filters, window),
        "ws": (window, filters, pixels),
        "is": (window, pixels, filters),
    }[dataflow]
    fold = streamed + rows + columns - 2 + (0 if dataflow == "os" else rows)
    return -(-over_rows // rows) * -(-over_columns // columns) * fold - 1


def least(asked: dse.Problem, points: IntArray, bounds: IntArray) -> tuple[int, int, str]:
    """Questions asked, and the least cycles of all questions and a mapping that takes them."""
    hertz, best, kept, done = asked.accelerator.hertz, np.inf, points[0], 0
    while done < len(points) and bounds[done] < best:
        batch = points[done : done + BATCH]
        cycles = np.round(asked.price(batch).loss * hertz)
        assert (cycles >= bounds[done : done + BATCH]).all(), "an answer is below its bound"
        if cycles.min() < best:
            best, kept = float(cycles.min()), batch[cycles.argmin()]
        done += len(batch)
    return done, int(best), asked.space.decode(kept[None])[0].to_json()


if __name__ == "__main__":
    main()
