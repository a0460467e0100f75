"""What perfect factors cost: `python -m experiments.perfect_factors [--limit S] [--more N] [--again N]`.

For the distinct layers of seven networks on three machines, `loopnest`, three objectives: the proven optimum
over tiles that divide what they cut, over the optimum over tiles of any size. Where the latter is not proven
in `--limit` seconds, what perfect factors cost is between the ratio to the best mapping found and that to the
bound. Problems come in an order drawn by a seed, so that any number of them, from the first on, is a sample
of all; `--more` of them are added to results/optima/perfect_factors.csv. Then results/perfect-factors.md, its
figure and the loop nests of the largest are written, whose proofs are made anew. Seconds are of computing,
and how near a bound is after them depends on the computer.
"""
