"""`curves.parquet`: the summaries of all finished cells, small enough to commit; reports rebuild from it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.campaign.stored import MAX_CELLS, check_about, check_summary, parse_stored
from dse.campaign.summary import ON_DISK, STEP_TYPES, STEPS, Summary
from dse.support.errors import InputError
from dse.support.files import whole_file
from dse.support.parquet import read_table, release_memory

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import DTypeLike

CURVES = "curves.parquet"
PACKED_BYTES = 16
"""What a number takes in memory as one of a column and of a Summary."""
_KEY = b"dse.campaign"
ROWS_AT_ONCE = 1000
"""Of a file that are Python's objects at a time: of a hundred thousand, they would take gigabytes."""


@dataclass(frozen=True)
class Curves:
    """The rows of a file of curves, whole but not looked into, and what it says about the campaign.

    `fingerprints` are those of its cells, by key. `path` is where the file is, for messages.
    """

    path: Path
    table: pa.Table
    about: dict[str, Any]
    fingerprints: dict[str, str]

    @property
    def budgets(self) -> dict[str, int]:
        """The budgets of its cells, by key."""
        return dict(zip(self.fingerprints, self.table["budget"].to_pylist(), strict=True))

    def without(self, keys: Collection[str]) -> Curves:
        """The same but for some cells."""
        if not keys:
            return self
        kept = [place for place, key in enumerate(self.fingerprints) if key not in keys]
        left = {key: told for key, told in self.fingerprints.items() if key not in keys}
        chosen = np.array(kept, np.int64)
        return replace(self, table=self.table.take(chosen) if kept else self.table[:0], fingerprints=left)

    def summaries(self) -> Iterator[Summary]:
        """Its rows, one by one. InputError where one is damaged."""
        where, place = f"curves {str(self.path)!r}", 0
        try:
            for batch in self.table.to_batches(max_chunksize=ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    yield _summary(row, f"{where}: row {place}")
                    place += 1
        except InputError as error:
            raise _refused(self.path, str(error)) from None


def write_curves(
    path: Path, summaries: Iterable[Summary], about: Mapping[str, Any], kept: Curves | None = None
) -> None:
    """Write summaries as a Parquet file, a row a cell in the order of their keys, whole or not at all.

    The rows of `kept` come along as they are. `about` (plain data: the campaign, the versions) is kept in the
    file's metadata.
    """
    import pyarrow.parquet as pq

    arrow = _table(sorted(summaries, key=lambda summary: summary.key))
    if kept is not None and kept.fingerprints:
        arrow = _joined(kept.table, arrow)
    arrow = arrow.replace_schema_metadata({_KEY: json.dumps(about, sort_keys=True)})
    with whole_file(path, "curves") as file:
        pq.write_table(arrow, file, compression="zstd", compression_level=12, write_page_checksum=True)


def read_curves(path: Path) -> tuple[list[Summary], dict[str, Any]]:
    """The summaries in a file that `write_curves` wrote, and what it says about the campaign.

    An InputError says what is wrong with it, and what to do.
    """
    curves = open_curves(path)
    found = list(curves.summaries()), curves.about
    del curves
    release_memory()
    return found


def open_curves(path: Path) -> Curves:
    """The file that `write_curves` wrote at `path`; InputError says what is wrong with it, and what to do."""
    where = f"curves {str(path)!r}"
    try:
        arrow = read_table(path, where, value_bytes=PACKED_BYTES)
        metadata = arrow.schema.metadata or {}
        if _KEY not in metadata:
            raise InputError(f"{where} does not say what its campaign was")
        if arrow.num_rows > MAX_CELLS:
            raise InputError(f"{where} has {arrow.num_rows:,} cells; at most {MAX_CELLS:,}")
        about = check_about(parse_stored(metadata[_KEY], f"{where}: the campaign"), f"{where}: the campaign")
        return Curves(path, arrow, about, _fingerprints(arrow, where))
    except OSError as error:
        raise _refused(path, f"{where} cannot be read: {error.strerror}") from None
    except InputError as error:
        raise _refused(path, str(error)) from None
    except ValueError as error:
        # Bytes that are no text.
        raise _refused(path, f"{where} cannot be read: {error}") from None


def _fingerprints(arrow: pa.Table, where: str) -> dict[str, str]:
    if not arrow.num_rows:
        return {}
    names = ("key", "fingerprint", "budget")
    missing = [name for name in names if name not in arrow.column_names]
    if missing:
        raise InputError(f"{where} lacks {', '.join(map(repr, missing))}")
    keys, fingerprints = (arrow[name].to_pylist() for name in names[:2])
    if not all(isinstance(text, str) for text in (*keys, *fingerprints)) or len(set(keys)) < len(keys):
        raise InputError(f"{where} has cells without a name, or one twice")
    return dict(zip(keys, fingerprints, strict=True))


def _table(rows: Sequence[Summary]) -> pa.Table:
    """Summaries as columns."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for field, name in ((name, ON_DISK.get(name, name)) for name in Summary.__dataclass_fields__):
        values = [getattr(row, field) for row in rows]
        if name == "infeasible":
            columns[name] = [json.dumps(value, sort_keys=True) for value in values]
        elif name == "steps":
            for step, kind in STEP_TYPES.items():
                dtype = np.float64 if kind == "d" else np.int64
                columns[f"step_{step}"] = _lists([value[step] for value in values], dtype)
        elif name == "genes":
            columns[name] = _lists(values, np.int32)
        elif name == "returns":
            columns[name] = _lists(values, np.float32)
        else:
            columns[name] = values
    return pa.table(columns)


def _lists(rows: Sequence[Sequence[float]], dtype: DTypeLike) -> pa.ListArray:
    """A column of lists: by way of one array, since as Python's numbers they take gigabytes."""
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    flat = np.empty(int(ends[-1]), dtype)
    for start, end, row in zip(ends[:-1], ends[1:], rows, strict=True):
        flat[start:end] = row
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(flat))


def _joined(kept: pa.Table, new: pa.Table) -> pa.Table:
    """Both tables' rows, in the order of their keys."""
    import pyarrow as pa

    # Texts are read as dictionaries, and written as they are.
    kinds = [
        getattr(field.type, "value_type", field.type) if pa.types.is_dictionary(field.type) else field.type
        for field in kept.schema
    ]
    kept = kept.cast(pa.schema(list(zip(kept.column_names, kinds, strict=True))))
    if new.num_rows:
        kept = pa.concat_tables([kept.select(new.column_names).cast(new.schema), new])
    keys = kept["key"].to_pylist()
    return kept.take(sorted(range(len(keys)), key=keys.__getitem__)).combine_chunks()


def _summary(row: dict[str, Any], where: str) -> Summary:
    missing = [f"step_{step}" for step in STEPS if f"step_{step}" not in row]
    if missing or "infeasible" not in row:
        raise InputError(f"{where} lacks {', '.join(map(repr, missing or ['infeasible']))}")
    steps = {step: row.pop(f"step_{step}") for step in STEPS}
    infeasible = parse_stored(row["infeasible"], f"{where}: infeasible")
    return check_summary(row | {"infeasible": infeasible, "steps": steps}, where)


def _refused(path: Path, said: str) -> InputError:
    """The message with what to do: whether the file can be made again depends on what is beside it."""
    if (path.parent / "ledger.sqlite").exists() or any(path.parent.glob("cells/*.parquet")):
        return InputError(
            f"{said}; remove the file: `dse run` makes it again from the ledger and cells/ beside it"
        )
    return InputError(f"{said}; put back a good copy, for nothing else is kept of its cells here")
