# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled part of the critic's covariances.

k(x, y) = 1 / (1 + scale |x - y|^2) + linear <x, y>: a rational quadratic kernel with exponent 1 (Cauchy),
which is flat far away, and a linear one for what grows all over the space (Rasmussen and Williams, 2006,
4.2). |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y>, so that one matrix product serves both.
"""

from __future__ import annotations

from dse.support.compiling import kernel


@kernel
def write_covariances(products, squares, others, scale, linear, out):
    """Write the covariances of points of which the products (n, m) are given: Cauchy, and linear.

    `squares` (n,) and `others` (m,) are the squares of the points. The square of a distance is multiplied by
    `scale`, a product by `linear`. All are of one precision, and stay in it; `out` may be `products`.
    """
    number = products.dtype.type
    one, nothing = number(1), number(0)
    for row in range(products.shape[0]):
        for column in range(products.shape[1]):
            product = products[row, column]
            distance = max((squares[row] + others[column]) - (product + product), nothing)
            out[row, column] = one / (distance * scale + one) + product * linear
