"""Optima beside another mapper's: `python -m experiments.uneven`.

Six tables: `optima`, `regression`, `snowcat`, `fused`, `tiles`, `default`. Rows that are in their CSV files
are not proven again. `--limit` is seconds of a proof, but for `default`.
"""

from __future__ import annotations

import argparse

from experiments.uneven import default, fused, optima, regression, snowcat, tiles


def main() -> None:
    """Prove what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=300.0)
    limit = parser.parse_args().limit
    for made in (optima, regression, snowcat, fused, tiles, default):
        made.write(limit)


if __name__ == "__main__":
    main()
