"""What a judge has counted itself of a search's samples, as a file beside the record: counters.jsonl.

A line for each sample of which something was counted: `{"sample": 3, "counters": {"dram_words": 5120}}`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeGuard

from dse.search.record import Record
from dse.support import strict_json
from dse.support.errors import InputError
from dse.support.files import read_text, write_whole
from dse.support.validation import check_table

FILE = "counters.jsonl"


def write_counters(problem: Any, record: Record, folder: Path) -> None:
    """Write the file, if the problem has counters of any sample.

    Of a search that was interrupted they are those of what was asked since, if no cache file has the others.
    """
    if not hasattr(problem, "counters"):
        return
    lines = [
        json.dumps({"sample": sample, "counters": counters})
        for sample, counters in enumerate(problem.counters(record.genes()))
        if counters
    ]
    if lines:
        write_whole(folder / FILE, "\n".join(lines) + "\n")


def read_counters(folder: Path, samples: int) -> list[dict[str, float]]:
    """The counters of so many samples, each a table, empty where nothing is known. InputError if damaged."""
    found: list[dict[str, float]] = [{} for _ in range(samples)]
    path = folder / FILE
    if not path.is_file():
        return found
    for number, line in enumerate(read_text(str(path), f"file {str(path)!r}").splitlines(), 1):
        where = f"{path} line {number}"
        row = check_table(strict_json.parse_json(line, where), where)
        sample, counters = row.get("sample"), row.get("counters")
        if not (isinstance(sample, int) and 0 <= sample < samples and _is_counted(counters)):
            raise InputError(
                f"{where} must have sample, from 0 to {samples - 1}, and counters, a table of numbers"
            )
        found[sample] = {name: float(value) for name, value in counters.items()}
    return found


def _is_counted(said: object) -> TypeGuard[dict[str, float]]:
    return isinstance(said, dict) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in said.values()
    )
