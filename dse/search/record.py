"""The samples of a search, all of them in order: in memory while it runs and as Parquet when it is done."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from dse.core.evaluations import Evaluations
from dse.support.arrays import IntArray
from dse.support.errors import InputError, StorageError
from dse.support.files import whole_file
from dse.support.parquet import read_table

if TYPE_CHECKING:
    import pyarrow as pa


RECORD = "record.parquet"
"""The file of a search's record, in its folder."""
COLUMNS = Evaluations.types()
"""The columns of Evaluations and their types, in order: a record's, beside the genes."""

_CELL_KEY = b"dse.cell"

_SPLIT = ("genes.list.element", *(name for name in COLUMNS if name != "reason"))
# Splitting numbers bytewise takes a random search's samples from 57 to 42 bytes.
_PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 6,
    "write_page_checksum": True,
    "use_dictionary": ["reason"],
    "column_encoding": {"index": "DELTA_BINARY_PACKED", **dict.fromkeys(_SPLIT, "BYTE_STREAM_SPLIT")},
}


class Record:
    """The samples of one search: their genes, figures, losses and reasons, in the order they were drawn."""

    def __init__(self, genes: int, capacity: int = 1024) -> None:
        """An empty record of points with `genes` genes; it grows as needed."""
        self._length = 0
        self._genes = np.empty((capacity, genes), np.int64)
        self._figures = {name: np.empty(capacity, dtype) for name, dtype in COLUMNS.items()}

    def __len__(self) -> int:
        return self._length

    def append(self, genes: IntArray, evaluations: Evaluations) -> None:
        """Add n points, copied."""
        start, stop = self._length, self._length + len(genes)
        if stop > len(self._genes):
            self._grow(max(stop, 2 * len(self._genes)))
        self._genes[start:stop] = genes
        given = evaluations.columns()
        for name, column in self._figures.items():
            column[start:stop] = given[name]
        self._length = stop

    def _grow(self, capacity: int) -> None:
        for owner, name in [(self.__dict__, "_genes"), *((self._figures, name) for name in COLUMNS)]:
            old = owner[name]
            new = np.empty((capacity, *old.shape[1:]), old.dtype)
            new[: self._length] = old[: self._length]
            owner[name] = new

    def genes(self, start: int = 0, stop: int | None = None) -> IntArray:
        """A copy of the gene vectors from sample `start` up to `stop`: (n, genes)."""
        return self._genes[start : self._end(stop)].copy()

    def evaluations(self, start: int = 0, stop: int | None = None) -> Evaluations:
        """A copy of the figures from sample `start` up to `stop`; the record does not know the criteria."""
        end = self._end(stop)
        return Evaluations.of({name: column[start:end].copy() for name, column in self._figures.items()})

    @property
    def best(self) -> int | None:
        """The index of the first sample with the lowest loss, None if none is feasible."""
        losses = self._figures["loss"][: self._length]
        if not len(losses):
            return None
        index = int(np.argmin(losses))
        return index if losses[index] < np.inf else None

    def _end(self, stop: int | None) -> int:
        return self._length if stop is None else min(stop, self._length)


def write_parquet(record: Record, path: Path, cell: Mapping[str, Any]) -> None:
    """Write the record, and `cell` (plain data on where it is from) beside it, whole or not at all.

    Columns: index, genes (a list of small integers), and those of Evaluations.
    """
    with whole_file(path, "record") as file:
        _write(record, file, cell, 0)


def to_parquet(record: Record, cell: Mapping[str, Any], start: int = 0) -> bytes:
    """What `write_parquet` writes, of the samples from `start` on."""
    file = io.BytesIO()
    _write(record, file, cell, start)
    return file.getvalue()


def from_parquet(content: bytes) -> Record:
    """The samples that `to_parquet` wrote in another process of this program."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return _read(pq.read_table(pa.BufferReader(content), page_checksum_verification=True))


def read_parquet(path: Path) -> tuple[Record, dict[str, Any]]:
    """The record in a file that `write_parquet` wrote, and its cell."""
    import pyarrow as pa

    where = f"record {str(path)!r}"
    try:
        table = read_table(path, where)
        cell = json.loads(table.schema.metadata[_CELL_KEY])
        if any(column.null_count for column in table.columns):
            raise ValueError("it has empty cells")
        if not np.array_equal(table["index"].to_numpy(), np.arange(table.num_rows)):
            raise ValueError("its samples are not numbered from 0 on")
        return _read(table), cell
    except OSError as error:
        raise StorageError(f"{where} cannot be read: {error.strerror}") from None
    except InputError:
        raise
    except (pa.ArrowException, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{where} is not of a search: {reason}") from None


def _write(record: Record, file: BinaryIO, cell: Mapping[str, Any], start: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    genes, evaluations = record.genes(start), record.evaluations(start)
    columns = {
        "index": pa.array(np.arange(start, len(record), dtype=np.uint32)),
        "genes": _gene_column(genes),
        **{name: pa.array(column) for name, column in evaluations.columns().items()},
    }
    table = pa.table(columns).replace_schema_metadata({_CELL_KEY: json.dumps(cell, sort_keys=True)})
    pq.write_table(table, file, **_PARQUET)


def _read(table: pa.Table) -> Record:
    # Safe casts alone: numbers of another kind, or missing ones, would be read as others than were written.
    flat = table["genes"].combine_chunks().flatten().to_numpy().astype(np.int64, casting="safe")
    evaluations = Evaluations.of(
        {name: table[name].to_numpy().astype(dtype, casting="safe") for name, dtype in COLUMNS.items()}
    )
    width = table.schema.field("genes").type.list_size
    record = Record(width, capacity=max(table.num_rows, 1))
    record.append(flat.reshape(table.num_rows, width), evaluations)
    return record


def _gene_column(genes: IntArray) -> pa.FixedSizeListArray:
    """Gene vectors as fixed-size lists of the smallest integers that hold them."""
    import pyarrow as pa

    small = genes.astype(np.min_scalar_type(int(genes.max(initial=0))))
    return pa.FixedSizeListArray.from_arrays(pa.array(small.ravel()), genes.shape[1])


def count_distinct(rows: IntArray) -> int:
    """How many different rows there are: of decoded designs, how many different ones were drawn."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    return len(np.unique(whole))
