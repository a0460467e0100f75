"""Python that makes what is in `results`: the paper's claims, tuning, comparisons.

It imports all packages and none imports it. Each script is run as a module: `python -m experiments.optima`.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

RESULTS = Path(__file__).parent.parent / "results"
"""Where campaigns are, and where what they come to is written."""


def read_rows(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV table by their columns' names, none where it is not there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(
    path: Path,
    head: Iterable[str],
    rows: Iterable[Sequence[object] | Mapping[str, object]],
    add: bool = False,
) -> None:
    """Write a CSV table, its lines in the order of its columns or by their names; or `add` lines to one."""
    names = list(head)
    lines = [[row.get(name, "") for name in names] if isinstance(row, Mapping) else row for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if add else "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines if file.tell() else [names, *lines])


def keep(path: Path, command: str, *tables: str) -> None:
    """Print tables, and write them as a page of `results` that says which command made it."""
    text = "\n\n".join(tables)
    print(text)
    path.write_text(f"Written by `python -m {command}`.\n\n{text}\n", encoding="utf-8")
