"""`curves.parquet`: the summaries of all finished cells, small enough to commit; reports rebuild from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dse.campaign.summary import ON_DISK, STEPS, Summary
from dse.support.errors import InputError
from dse.support.files import whole_file

CURVES = "curves.parquet"


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
    arrow = pa.table(columns).replace_schema_metadata({b"dse.campaign": json.dumps(about, sort_keys=True)})
    with whole_file(path, "curves") as file:
        pq.write_table(arrow, file, compression="zstd", compression_level=12, write_page_checksum=True)


def read_curves(path: Path) -> tuple[list[Summary], dict[str, Any]]:
    """The summaries in a file that `write_curves` wrote, and what it says about the campaign."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        arrow = pq.read_table(path, page_checksum_verification=True)
        about = json.loads(arrow.schema.metadata[b"dse.campaign"])
        return [_summary(row) for row in arrow.to_pylist()], about
    except OSError as error:
        raise InputError(f"curves {str(path)!r} cannot be read: {error.strerror or error}") from None
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{str(path)!r} does not hold a campaign's curves: {error}") from None


def _summary(row: dict[str, Any]) -> Summary:
    steps = {step: row.pop(f"step_{step}") for step in STEPS}
    row["infeasible"] = json.loads(row["infeasible"])
    return Summary.from_dict(row | {"steps": steps})
