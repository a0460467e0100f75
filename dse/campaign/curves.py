"""`curves.parquet`: the summaries of all finished cells, small enough to commit; reports rebuild from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dse.campaign.stored import MOST_CELLS, check_about, check_summary, parse
from dse.campaign.summary import ON_DISK, STEPS, Summary
from dse.support.errors import InputError
from dse.support.files import whole_file
from dse.support.parquet import read_table

CURVES = "curves.parquet"
OBJECT_BYTES = 64
"""What a number takes in memory as an object in a list."""
_KEY = b"dse.campaign"


def write_curves(path: Path, summaries: Iterable[Summary], about: Mapping[str, Any]) -> None:
    """Write summaries as a Parquet file, a row a cell in the order of their keys, whole or not at all.

    `about` (plain data: the campaign, the versions) is kept in the file's metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [summary.to_dict() for summary in sorted(summaries, key=lambda summary: summary.key)]
    columns: dict[str, Any] = {}
    for name in (ON_DISK.get(name, name) for name in Summary.__dataclass_fields__):
        values = [row[name] for row in rows]
        if name == "infeasible":
            columns[name] = [json.dumps(value, sort_keys=True) for value in values]
        elif name == "steps":
            for step in STEPS:
                kind = pa.float64() if step in ("loss", "energy_nj") else pa.int64()
                columns[f"step_{step}"] = pa.array([v[step] for v in values], pa.list_(kind))
        elif name == "genes":
            columns[name] = pa.array(values, pa.list_(pa.int32()))
        elif name == "returns":
            columns[name] = pa.array(values, pa.list_(pa.float32()))
        else:
            columns[name] = values
    arrow = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about, sort_keys=True)})
    with whole_file(path, "curves") as file:
        pq.write_table(arrow, file, compression="zstd", compression_level=12, write_page_checksum=True)


def read_curves(path: Path) -> tuple[list[Summary], dict[str, Any]]:
    """The summaries in a file that `write_curves` wrote, and what it says about the campaign.

    An InputError says what is wrong with it, and what to do.
    """
    where = f"curves {str(path)!r}"
    try:
        arrow = read_table(path, where, value_bytes=OBJECT_BYTES)
        metadata = arrow.schema.metadata or {}
        if _KEY not in metadata:
            raise InputError(f"{where} does not say what its campaign was")
        if arrow.num_rows > MOST_CELLS:
            raise InputError(f"{where} has {arrow.num_rows:,} cells; at most {MOST_CELLS:,}")
        about = check_about(parse(metadata[_KEY], f"{where}: the campaign"), f"{where}: the campaign")
        return [_summary(row, f"{where}: row {place}") for place, row in enumerate(arrow.to_pylist())], about
    except OSError as error:
        raise _refused(path, f"{where} cannot be read: {error.strerror}") from None
    except InputError as error:
        raise _refused(path, str(error)) from None
    except ValueError as error:
        # Bytes that are no text.
        raise _refused(path, f"{where} cannot be read: {error}") from None


def _summary(row: dict[str, Any], where: str) -> Summary:
    missing = [f"step_{step}" for step in STEPS if f"step_{step}" not in row]
    if missing or "infeasible" not in row:
        raise InputError(f"{where} lacks {', '.join(map(repr, missing or ['infeasible']))}")
    steps = {step: row.pop(f"step_{step}") for step in STEPS}
    infeasible = parse(row["infeasible"], f"{where}: infeasible")
    return check_summary(row | {"infeasible": infeasible, "steps": steps}, where)


def _refused(path: Path, said: str) -> InputError:
    """The message with what to do: whether the file can be made again depends on what is beside it."""
    if (path.parent / "ledger.sqlite").exists() or any(path.parent.glob("cells/*.parquet")):
        return InputError(
            f"{said}; remove the file: `dse run` makes it again from the ledger and cells/ beside it"
        )
    return InputError(f"{said}; put back a good copy, for nothing else is kept of its cells here")
