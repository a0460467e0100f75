"""What `python -m experiments.perfect_factors` does: prove more, and write what was found."""

from __future__ import annotations

import argparse
from functools import partial

import experiments.perfect_factors as experiment
from experiments.perfect_factors import nests, page
from experiments.perfect_factors.costs import Costs
from experiments.perfect_factors.problems import FILE, HEAD, add_rows, problems, prove_again, row, warm


def main() -> None:
    """Prove more, and write what was found."""
    parser = argparse.ArgumentParser(description=(experiment.__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=float, default=8.0, help="seconds for a proof over any tiles")
    parser.add_argument("--more", type=int, default=0, help="problems to add")
    parser.add_argument("--again", type=int, default=0, help="proofs to begin anew that were ended sooner")
    given = parser.parse_args()
    warm()
    add_rows(FILE, HEAD, problems(), partial(row, limit=given.limit), given.more)
    prove_again(given.limit, given.again)
    costs = Costs.read()
    page.show(costs)
    nests.show(costs, given.limit)


if __name__ == "__main__":
    main()
