"""The cost model of N-level memory hierarchies whose figures are those that Timeloop has published.

Any number of storage levels, tensors that bypass any of them, a fan-out below any of them. Every level is a
roofline over the whole run, the slowest one counts. `docs/timeloop.md` states the rules; `reference` computes
them in plain Python, `kernel` over batches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.workload import Workload
from dse.models.timeloop.tables import Priced, axes_of, known_of
from dse.support.arrays import BoolArray
from dse.support.jit import load_kernels, share_out

KERNEL, RAGGED_KERNEL = "dse.models.timeloop.kernel", "dse.models.timeloop.ragged_kernel"


def layout_of(workload: Workload, machine: Machine, *, any_tiles: bool = False) -> Layout:
    """How mappings of `workload` onto `machine` are written as rows, of `any_tiles` with their lengths."""
    sizes = tuple(workload.sizes.values()) if any_tiles else ()
    return Layout(workload.names, workload.tensor_names, len(machine.levels), sizes)


def prepared_prices(workload: Workload, machine: Machine) -> Callable[..., Priced]:
    """A function of the rows (n, columns) of mappings, which prices them.

    It takes `threads`, on which the figures do not depend, and `counts`, whether to return the counts too.
    Rows may have lengths of tiles. Raises InputError where the workload does not suit the machine.
    """
    known, kernel = known_of(workload, machine), load_kernels(KERNEL)
    levels, tensors = len(machine.levels), len(workload.tensors)
    layout = layout_of(workload, machine, any_tiles=True)
    columns = layout.even.columns

    def price(rows: RowArray, threads: int = 1, counts: bool = False) -> Priced:
        n = len(rows)
        if rows.shape == (n, layout.columns):
            ragged = layout.are_ragged(rows)
            if ragged.any():
                return price_any(rows, ragged, threads, counts)
            rows = np.ascontiguousarray(rows[:, :columns])
        if rows.shape != (n, columns) or rows.dtype != np.int32:
            raise ValueError(f"rows must be int32 of shape (n, {columns}), got {rows.dtype} {rows.shape}")
        priced = empty(n, counts)
        share_out(lambda start, stop: kernel.price_rows(rows, (start, stop), known, priced), n, threads)
        return priced

    def price_any(rows: RowArray, ragged: BoolArray, threads: int, counts: bool) -> Priced:
        """Prices rows some of which are `ragged`, the others by their factors."""
        axes, those, kernel = axes_of(workload), rows[ragged], load_kernels(RAGGED_KERNEL)
        priced, found = empty(len(those), counts), empty(len(rows), counts)
        share_out(
            lambda start, stop: kernel.price_ragged(those, (start, stop), known, axes, priced),
            len(those),
            threads,
        )
        even = price(np.ascontiguousarray(rows[~ragged, :columns]), threads, counts)
        for column, of_ragged, of_even in zip(found, priced, even, strict=True):
            column[ragged[: len(column)]], column[~ragged[: len(column)]] = of_ragged, of_even
        return found

    def empty(n: int, counts: bool) -> Priced:
        cycles, fault, where, need = np.empty((4, n), dtype=np.int64)
        counted = np.zeros((n if counts else 0, levels, tensors, 3), dtype=np.int64)
        return Priced(cycles, np.empty(n), fault, where, need, counted)

    return price
