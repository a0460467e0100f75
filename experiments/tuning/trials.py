"""Trials of settings in a CSV table: a line each, gone on with where they were stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from experiments import read_rows, write_rows
from experiments.tuning.ranges import Settings

TRIALS, FINALISTS = 20, 2


def drawn(
    name: str, first: Sequence[Settings], ranges: Mapping[str, Sequence[Any]], count: int = TRIALS
) -> list[Settings]:
    """The settings of so many trials: the `first`, then random ones, some of which may be equal."""
    rng = np.random.Generator(np.random.PCG64(sum(name.encode())))
    trials = list(first)
    while len(trials) < count:
        trials.append({field: values[rng.integers(len(values))] for field, values in ranges.items()})
    return trials


class Trials:
    """The table at a path, with a column for the mean ratio after each of so many `samples`, or steps."""

    def __init__(self, path: Path, samples: Sequence[int]) -> None:
        self._path, self._rows = path, read_rows(path)
        self._head = ("round", "settings", "score", *(f"ratio_{count}" for count in samples))

    def run(self, stage: str, settings: Settings, ratios: Callable[[], Iterable[Sequence[float]]]) -> None:
        """Write what the `ratios`, of each run after so many samples, come to: geometric means.

        Nothing where the table has these settings in this stage.
        """
        if any(json.loads(row["settings"]) == settings for row in self._of(stage)):
            return
        logs = np.log([*ratios()]).mean(axis=0)
        values = [stage, json.dumps(settings), *(f"{np.exp(log):.4f}" for log in (logs.mean(), *logs))]
        self._rows.append(dict(zip_longest(self._head, values, fillvalue="")))
        write_rows(self._path, self._head, self._rows)
        print(self._path.stem, *values, flush=True)

    def best(self, stage: str, count: int = 1) -> list[Settings]:
        """The settings that were best in a stage, the earlier ones where several are."""
        ranked = sorted(self._of(stage), key=lambda row: float(row["score"]))
        return [json.loads(row["settings"]) for row in ranked[:count]]

    def _of(self, stage: str) -> list[dict[str, str]]:
        return [row for row in self._rows if row["round"] == stage]
