"""Parquet files that others may have made: how much they unpack to is seen before it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.support.errors import InputError
from dse.support.files import read_bounded

if TYPE_CHECKING:
    import pyarrow as pa


def most_unpacked() -> int:
    """The most that a file may come to: a quarter of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4


def read_table(path: Path, where: str, *, value_bytes: int = 8) -> pa.Table:
    """The table in the Parquet file at `path`, with its columns of text as dictionaries.

    `where` names the file in messages, `value_bytes` is what a number of it takes in memory. An InputError
    says that the file is damaged or too large, an OSError that it cannot be opened.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = read_bounded(path, where, most_unpacked())
    try:
        metadata = pq.ParquetFile(pa.BufferReader(content)).metadata
        _refuse_too_large(_unpacked(metadata, value_bytes), where)
        # A text of a megabyte in a million rows is one text, until it is written out.
        table = pq.read_table(
            pa.BufferReader(content), page_checksum_verification=True, read_dictionary=_texts(metadata)
        )
        _refuse_too_large(sum(map(_written_out, table.columns)), where)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        # An InputError is a ValueError too, and says all already.
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where} cannot be read: {' '.join(str(error).split())}") from None
    return table


def release_memory() -> None:
    """Give back what tables took that are gone: Arrow keeps it for the next one."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _unpacked(metadata: Any, value_bytes: int) -> int:
    """Bytes of all columns by what the file says of itself: as they are encoded, or as they are in memory."""
    columns = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    sizes = [max(column.total_uncompressed_size, value_bytes * column.num_values) for column in columns]
    return int(max(sum(sizes), value_bytes * metadata.num_rows))


def _texts(metadata: Any) -> list[str]:
    columns = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _written_out(column: pa.ChunkedArray) -> int:
    """Bytes of a column of text with every row written out; 0 for any other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return 0
    parts = [pc.binary_length(chunk.dictionary).cast("int64").take(chunk.indices) for chunk in column.chunks]
    return sum(pc.sum(part).as_py() or 0 for part in parts)


def _refuse_too_large(size: int, where: str) -> None:
    most = most_unpacked()
    if size > most:
        raise InputError(
            f"{where} would unpack to {size >> 20:,} MiB; at most {most >> 20:,}, a quarter of this memory"
        )
